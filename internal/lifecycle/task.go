package lifecycle

import (
	"context"
	"sync"
)

// Task is a function that runs in the background until it is stopped.
type Task struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu  sync.Mutex
	err error
}

// Go runs fn in the background. Its context has the values of ctx, and ends
// with Stop, not with ctx: the order of stopping is the stopper's to decide.
func Go(ctx context.Context, fn func(context.Context) error) *Task {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := &Task{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		defer cancel()
		err := fn(ctx)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.err = err
	}()
	return t
}

// Stop tells fn to end and waits until it has, or until ctx ends. It may be
// called any number of times, from anywhere but fn itself, and returns what fn
// returned, or the error of ctx when that came first.
func (t *Task) Stop(ctx context.Context) error {
	t.cancel()
	select {
	case <-t.done:
		return t.Err()
	default:
	}
	select {
	case <-t.done:
		return t.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done is closed when fn has returned.
func (t *Task) Done() <-chan struct{} { return t.done }

// Err is what fn returned, nil before that.
func (t *Task) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
