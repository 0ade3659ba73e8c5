// Package redisserver starts real Redis servers for tests: one, or a Cluster of
// three masters and three replicas. They listen on free loopback ports, keep
// their data in the test's folder, and end with the test. Where redis-server is
// not installed the test is skipped, or fails when CI=true.
package redisserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Server is a redis-server that a test started.
type Server struct {
	port, busPort int
	dir           string
	args          []string
	cmd           *exec.Cmd
	exited        chan struct{}
	output        *bytes.Buffer
}

// Bounds on waiting for servers.
const (
	startTimeout = 10 * time.Second
	pollEvery    = 10 * time.Millisecond
	// startAttempts is how often another port is tried: a free port may be taken
	// by somebody else before the server listens on it.
	startAttempts = 5
)

// Start starts one server.
func Start(tb testing.TB) *Server {
	tb.Helper()
	find(tb)
	logging.Disable() // the driver reports each connection that is refused
	return start(tb, false)
}

// find skips or fails the test when there is no redis-server.
func find(tb testing.TB) {
	tb.Helper()
	if _, err := exec.LookPath("redis-server"); err == nil {
		return
	}
	if os.Getenv("CI") == "true" { //nolint:forbidigo // a test that may not be skipped in CI has to ask
		tb.Fatal("redis-server is not installed, and tests that need it must not be skipped in CI")
	}
	tb.Skip("SKIPPED: redis-server is not installed; install it to run the tests against a real Redis")
}

func start(tb testing.TB, cluster bool) *Server {
	tb.Helper()
	s := &Server{dir: tb.TempDir()}
	tb.Cleanup(func() { s.Kill(tb) })
	var err error
	for range startAttempts {
		s.port, s.busPort = freePort(tb), freePort(tb)
		s.args = []string{
			"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir,
			"--save", "", "--appendonly", "no", "--daemonize", "no",
		}
		if cluster {
			s.args = append(s.args,
				"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(s.busPort), "--cluster-node-timeout", "1000",
				"--cluster-replica-validity-factor", "0", "--cluster-require-full-coverage", "no",
				"--cluster-allow-replica-migration", "no",
				"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")
		}
		if err = s.run(tb); err == nil {
			return s
		}
	}
	tb.Fatalf("redis-server does not start: %v", err)
	return nil
}

// run starts the process and waits until it answers.
func (s *Server) run(tb testing.TB) error {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), startTimeout)
	defer cancel()
	s.output = new(bytes.Buffer)
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), "redis-server", s.args...) //nolint:gosec // the arguments are ours
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	s.cmd.SysProcAttr = procAttr()
	s.exited = make(chan struct{})
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	go func(cmd *exec.Cmd, exited chan struct{}) {
		defer close(exited)
		_ = cmd.Wait() // it is killed more often than not
	}(s.cmd, s.exited)
	c := s.Client()
	defer func() { _ = c.Close() }()
	return s.await(ctx, func() bool { return c.Ping(ctx).Err() == nil })
}

// await polls until ok is true, the process has ended or time is up.
func (s *Server) await(ctx context.Context, ok func() bool) error {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		if ok() {
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("redis-server ended: %s", s.output)
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}

// freePort gives a port that was free a moment ago.
func freePort(tb testing.TB) int {
	tb.Helper()
	var config net.ListenConfig
	l, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("no free port: %v", err)
	}
	defer func() { _ = l.Close() }()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		tb.Fatalf("no port in %v", l.Addr())
	}
	return addr.Port
}

// Addr is host:port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL is what a client connects to.
func (s *Server) URL() string { return "redis://" + s.Addr() }

// PID is the process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Client gives a plain client of this server; close it.
func (s *Server) Client() *goredis.Client {
	return goredis.NewClient(&goredis.Options{
		Addr: s.Addr(), Protocol: 2, MaxRetries: -1, DialerRetries: 1, PipelinePoolSize: -1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// Kill ends the process at once, as a crash does. A server that has ended stays so.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	s.end(tb, syscall.SIGKILL)
}

// Stop asks the process to end and waits until it has.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	s.end(tb, syscall.SIGTERM)
}

func (s *Server) end(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	if err := s.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		tb.Errorf("signal to redis-server: %v", err)
	}
	select {
	case <-s.exited:
	case <-time.After(startTimeout):
		tb.Errorf("redis-server %d does not end", s.PID())
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
}

// Pause stops the process without ending it, as a machine that hangs does;
// Resume lets it go on.
func (s *Server) Pause(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGSTOP)
}

// Resume undoes Pause.
func (s *Server) Resume(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGCONT)
}

func (s *Server) signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		tb.Fatalf("signal to redis-server: %v", err)
	}
}

// Restart starts the server again on its port, with what its folder holds: the
// last snapshot, or nothing. It is killed before if it runs.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.Kill(tb)
	if err := s.run(tb); err != nil {
		tb.Fatalf("redis-server does not start again: %v", err)
	}
}

// dump is the snapshot's file, in the server's folder.
const dump = "dump.rdb"

// Snapshot returns what the server holds now. It leaves no file behind, so that
// a restart still begins with nothing.
func (s *Server) Snapshot(tb testing.TB) []byte {
	tb.Helper()
	c := s.Client()
	defer func() { _ = c.Close() }()
	if err := c.Save(tb.Context()).Err(); err != nil {
		tb.Fatalf("snapshot: %v", err)
	}
	path := filepath.Join(s.dir, dump)
	data, err := os.ReadFile(path) //nolint:gosec // the test's own folder
	if err != nil {
		tb.Fatalf("snapshot: %v", err)
	}
	if err := os.Remove(path); err != nil {
		tb.Fatalf("snapshot: %v", err)
	}
	return data
}

// RestartFrom starts the server again with an older snapshot, or with nothing
// when it is nil.
func (s *Server) RestartFrom(tb testing.TB, snapshot []byte) {
	tb.Helper()
	s.Kill(tb)
	path := filepath.Join(s.dir, dump)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		tb.Fatalf("restart: %v", err)
	}
	if snapshot != nil {
		if err := os.WriteFile(path, snapshot, 0o600); err != nil {
			tb.Fatalf("restart: %v", err)
		}
	}
	s.Restart(tb)
}
