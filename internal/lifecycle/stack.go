// Package lifecycle starts and stops the components of a process. They start
// in the order in which they are given and stop in the reverse order, each
// after the last has stopped, with one deadline over all. Stopping twice is
// stopping once; every caller waits for the same end.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// straggler is how long each component may take that is stopped after the
// deadline has passed: enough to close a file, not to wait for a peer.
const straggler = 250 * time.Millisecond

// Stack holds what was started, in order.
type Stack struct {
	log   *slog.Logger
	grace time.Duration

	mu       sync.Mutex
	parts    []part
	stopping bool

	stopped chan struct{} // closed when all has stopped; err stands by then
	err     error
}

type part struct {
	name string
	stop func(context.Context) error
}

// NewStack makes an empty stack; stopping all of it takes at most grace, and
// a little for each component that comes too late.
func NewStack(log *slog.Logger, grace time.Duration) *Stack {
	return &Stack{log: log, grace: grace, stopped: make(chan struct{})}
}

// Push adds a component that runs. Its stop gets a context with what is left
// of the deadline, and should return when the component has ended. On a stack
// that is being stopped Push returns an error, and the caller has to stop the
// component.
func (s *Stack) Push(name string, stop func(context.Context) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return fmt.Errorf("start %s: the process is stopping", name)
	}
	s.parts = append(s.parts, part{name: name, stop: stop})
	return nil
}

// Go runs a component in the background and adds it. Its context carries the
// values of ctx and ends when it is its turn to stop.
func (s *Stack) Go(ctx context.Context, name string, run func(context.Context) error) (*Task, error) {
	t := Go(ctx, run)
	if err := s.Push(name, t.Stop); err != nil {
		t.cancel()
		<-t.Done()
		return nil, err
	}
	return t, nil
}

// Stop stops everything, newest first, and returns what went wrong. ctx gives
// values alone: its end does not cut the stopping short.
func (s *Stack) Stop(ctx context.Context) error {
	s.mu.Lock()
	first := !s.stopping
	s.stopping = true
	parts := s.parts
	s.mu.Unlock()
	if first {
		s.err = s.unwind(ctx, parts)
		close(s.stopped)
	}
	<-s.stopped
	return s.err
}

func (s *Stack) unwind(ctx context.Context, parts []part) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
	defer cancel()
	var failed error
	for _, p := range slices.Backward(parts) {
		s.log.LogAttrs(ctx, slog.LevelDebug, "stopping", slog.String("component", p.name))
		if err := stopOne(ctx, p); err != nil {
			s.log.LogAttrs(ctx, slog.LevelError, "a component did not stop well",
				slog.String("component", p.name), slog.Any("error", err))
			failed = errors.Join(failed, fmt.Errorf("stop %s: %w", p.name, err))
		}
	}
	return failed
}

// stopOne calls stop and waits for it, up to the deadline of ctx; after that
// each component still gets a moment.
func stopOne(ctx context.Context, p part) error {
	ended := make(chan error, 1)
	go func() { ended <- p.stop(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	t := time.NewTimer(straggler)
	defer t.Stop()
	select {
	case err := <-ended:
		return err
	case <-t.C:
		return fmt.Errorf("it still runs: %w", ctx.Err())
	}
}
