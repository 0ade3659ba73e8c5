package lifecycle_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"feedgate/internal/lifecycle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// order notes what happens.
type order struct {
	mu   sync.Mutex
	said []string
}

func (o *order) say(s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said = append(o.said, s)
}

func (o *order) want(t *testing.T, want ...string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.said, want) {
		t.Errorf("got %q, want %q", o.said, want)
	}
}

func TestStopUnwindsInReverseOrderAndWaits(t *testing.T) {
	t.Parallel()
	var o order
	s := lifecycle.NewStack(quiet(), time.Minute)
	for _, name := range []string{"stores", "workers", "listener"} {
		_, err := s.Go(t.Context(), name, func(ctx context.Context) error {
			<-ctx.Done()
			o.say(name)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.want(t, "listener", "workers", "stores")
}

func TestEveryCallerOfStopWaitsForTheSameEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		var o order
		s := lifecycle.NewStack(quiet(), time.Minute)
		release := make(chan struct{})
		if err := s.Push("slow", func(context.Context) error {
			o.say("stop")
			<-release
			return broken
		}); err != nil {
			t.Fatal(err)
		}
		results := make(chan error, 3)
		for range cap(results) {
			go func() { results <- s.Stop(context.Background()) }()
		}
		synctest.Wait()
		if len(results) != 0 {
			t.Fatal("Stop returned while the component ran")
		}
		close(release)
		for range cap(results) {
			if err := <-results; !errors.Is(err, broken) {
				t.Errorf("got %v, want %v", err, broken)
			}
		}
		o.want(t, "stop")
		if err := s.Push("late", nil); err == nil {
			t.Error("a stopped stack took a component")
		}
	})
}

func TestOneDeadlineOverAllAndTheOthersStillStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var o order
		s := lifecycle.NewStack(quiet(), 10*time.Second)
		hang := make(chan struct{})
		parts := []struct {
			name string
			stop func(context.Context) error
		}{
			{"store", func(context.Context) error { o.say("store"); return nil }},
			{"deaf", func(context.Context) error { <-hang; return nil }},
			{"slow", func(ctx context.Context) error {
				<-ctx.Done()
				o.say("slow")
				return ctx.Err()
			}},
		}
		for _, p := range parts {
			if err := s.Push(p.name, p.stop); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		err := s.Stop(t.Context())
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("stopping took %v", took)
		}
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "stop deaf: it still runs") {
			t.Errorf("got %v", err)
		}
		o.want(t, "slow", "store")
		close(hang)
	})
}

func TestTaskStopIsIdempotentAndGivesTheError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	task := lifecycle.Go(t.Context(), func(ctx context.Context) error {
		<-ctx.Done()
		return broken
	})
	for range 3 {
		if err := task.Stop(t.Context()); !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
	}
	<-task.Done()
}

func TestTaskStopGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	task := lifecycle.Go(t.Context(), func(context.Context) error { <-release; return nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := task.Stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	close(release)
	if err := task.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTaskOutlivesTheContextItWasMadeWith(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan error, 1)
	step := make(chan struct{})
	task := lifecycle.Go(ctx, func(ctx context.Context) error {
		<-step
		seen <- ctx.Err()
		return nil
	})
	cancel()
	close(step)
	if err := <-seen; err != nil {
		t.Errorf("the task's context ended with its maker's: %v", err)
	}
	if err := task.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFirstSignalStopsAndSecondKills(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 2)
	killed := make(chan os.Signal, 1)
	ctx, release := lifecycle.UntilSignal(t.Context(), signals, func(s os.Signal) { killed <- s })
	defer release()
	signals <- syscall.SIGINT
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, lifecycle.ErrSignal) {
		t.Errorf("cause is %v, want %v", err, lifecycle.ErrSignal)
	}
	if len(killed) != 0 {
		t.Error("the first signal killed")
	}
	signals <- syscall.SIGTERM
	if s := <-killed; s != syscall.SIGTERM {
		t.Errorf("killed by %v", s)
	}
	release()
}

func TestReleaseEndsTheWatch(t *testing.T) {
	t.Parallel()
	ctx, release := lifecycle.UntilSignal(t.Context(), make(chan os.Signal), func(os.Signal) {})
	if ctx.Err() != nil {
		t.Error("ended too early")
	}
	release()
	if ctx.Err() == nil {
		t.Error("the context goes on")
	}
}
