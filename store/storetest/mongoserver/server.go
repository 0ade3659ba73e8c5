// Package mongoserver gives tests a MongoDB server: the one that
// FEEDGATE_TEST_MONGO names (a mongodb:// URL), or, when that is "1" or CI is
// "true", internal/ferret, which is built for the tests of one package and ends
// with them. Else the tests are skipped.
package mongoserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	buildTimeout = 10 * time.Minute // the first build compiles FerretDB
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second
)

// Skipped says why there is no server, and how to have one.
const Skipped = "SKIPPED: no MongoDB; set FEEDGATE_TEST_MONGO=1 to build and start internal/ferret (minutes at first), " +
	"or to a mongodb:// URL to use that server"

// ErrSkipped is the error of Start when the tests are to be skipped.
var ErrSkipped = errors.New(Skipped)

// Server is a server that tests may use.
type Server struct {
	URI    string
	stdin  io.Closer
	cmd    *exec.Cmd
	folder string
}

// Start gives a server, for TestMain. Its error is ErrSkipped when none is
// asked for.
func Start(ctx context.Context) (*Server, error) {
	switch wanted := os.Getenv("FEEDGATE_TEST_MONGO"); { //nolint:forbidigo // tests are told by the environment
	case strings.HasPrefix(wanted, "mongodb"):
		return &Server{URI: wanted}, nil
	case wanted == "1", os.Getenv("CI") == "true": //nolint:forbidigo // a test that may not be skipped in CI has to ask
	case wanted != "":
		return nil, fmt.Errorf("FEEDGATE_TEST_MONGO is %q: set it to 1 or to a mongodb:// URL", wanted)
	default:
		return nil, ErrSkipped
	}
	folder, err := os.MkdirTemp("", "feedgate-mongoserver-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	s := &Server{folder: folder}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// start builds the server, runs it and waits for its address.
func (s *Server) start(ctx context.Context) error {
	source, err := find()
	if err != nil {
		return err
	}
	binary, data := filepath.Join(s.folder, "ferret"), filepath.Join(s.folder, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	building, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	build := exec.CommandContext(building, "go", "build", "-o", binary, ".") //nolint:gosec // our own program
	build.Dir = source
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", source, err, out)
	}
	// It ends with its standard input, so even a test that is killed leaves nothing running.
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), binary, "-data", data) //nolint:gosec // our own program
	s.cmd.Stderr = os.Stderr
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return fmt.Errorf("connect the standard input: %w", err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("connect the standard output: %w", err)
	}
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	late := time.AfterFunc(startTimeout, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return fmt.Errorf("wait for the server's address: %w", err)
	}
	s.URI = strings.TrimSpace(line)
	return nil
}

// find looks for internal/ferret in this folder and those above it.
func find() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find internal/ferret: %w", err)
	}
	for {
		source := filepath.Join(folder, "internal", "ferret")
		if _, err := os.Stat(filepath.Join(source, "go.mod")); err == nil {
			return source, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", errors.New("find internal/ferret: it is in no folder above this one")
		}
		folder = parent
	}
}

// Stop ends a server that Start started, and waits for it.
func (s *Server) Stop() error {
	if s.folder == "" {
		return nil // somebody else's
	}
	var errs []error
	if s.stdin != nil {
		errs = append(errs, s.stdin.Close())
	}
	if s.cmd != nil && s.cmd.Process != nil {
		late := time.AfterFunc(stopTimeout, func() { _ = s.cmd.Process.Kill() })
		errs = append(errs, s.cmd.Wait())
		late.Stop()
	}
	return errors.Join(append(errs, os.RemoveAll(s.folder))...)
}
