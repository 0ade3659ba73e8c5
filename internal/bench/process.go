package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	startWait = 30 * time.Second
	pollEvery = 20 * time.Millisecond
	stopWait  = 20 * time.Second
)

// child is a process that the bench started.
type child struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
	log  *tail
}

// tail keeps the end of what a process says.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

func start(name, program string, args ...string) (*child, error) {
	return startWith(name, func(*exec.Cmd) error { return nil }, program, args...)
}

// startWith prepares the command before it starts it.
func startWith(name string, prepare func(*exec.Cmd) error, program string, args ...string) (*child, error) {
	c := &child{name: name, cmd: exec.Command(program, args...), done: make(chan struct{}), log: &tail{}} //nolint:gosec,noctx // stop ends it in order
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	c.cmd.Env = plainEnv()
	if err := prepare(c.cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait() // how it ended is of no interest; what it said is kept
	}()
	return c, nil
}

// plainEnv leaves out feedgate's own variables: the bench sets everything by flags.
func plainEnv() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "FEEDGATE_") {
			env = append(env, pair)
		}
	}
	return env
}

// stop asks the process to end, and kills it when it does not.
func (c *child) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	timer := time.NewTimer(stopWait)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

// await polls until ready reports no error.
func (c *child) await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-c.done:
			return fmt.Errorf("%s ended at once; it said: %s", c.name, strings.TrimSpace(c.log.String()))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; it said: %s", c.name, err, strings.TrimSpace(c.log.String()))
		case <-ticker.C:
		}
	}
}

// serving reports whether url answers.
func serving(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		if err := resp.Body.Close(); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	}
}

// freeAddr finds a loopback port that nobody uses.
func freeAddr(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	addr := l.Addr().String()
	return addr, l.Close()
}

// startRedis starts a redis-server that keeps nothing.
func startRedis(ctx context.Context, dir string) (*child, string, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, "", errors.New("there is no redis-server on this machine: install one, or pass -redis-url")
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, "", err
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, "", err
	}
	c, err := start("redis-server", program, "--bind", host, "--port", port, "--dir", dir,
		"--save", "", "--appendonly", "no", "--maxmemory-policy", "volatile-lru")
	if err != nil {
		return nil, "", err
	}
	client := redis.NewClient(&redis.Options{Addr: addr})
	err = c.await(ctx, func(ctx context.Context) error { return client.Ping(ctx).Err() })
	if err := errors.Join(err, client.Close()); err != nil {
		c.stop()
		return nil, "", err
	}
	return c, "redis://" + addr, nil
}

// errNoCPU says that processor time cannot be read here.
var errNoCPU = errors.New("processor time is read from /proc, which this system does not have")

// ticks is how many units of /proc's times make a second, on every Linux.
const ticks = 100

// cpu is the processor time that the process has used.
func (c *child) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		return 0, errNoCPU
	}
	// The name in brackets may hold anything; utime and stime are fields 14 and 15.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, errNoCPU
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err1 != nil || err2 != nil {
		return 0, errNoCPU
	}
	return time.Duration(user+system) * time.Second / ticks, nil
}
