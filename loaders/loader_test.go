package loaders

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"feedgate/feed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// doubles loads for each id its double, and what was asked for.
type doubles struct {
	*Loader[feed.ID]
	mu      sync.Mutex
	batches [][]feed.ID
}

func newDoubles(ctx context.Context, before func(context.Context, []feed.ID) error) *doubles {
	d := &doubles{Loader: &Loader[feed.ID]{}}
	set := New(ctx, nil, nil, func(string, int) {})
	open(d.Loader, set, "doubles", func(ctx context.Context, _ *Set, ids []feed.ID) ([]feed.ID, error) {
		d.mu.Lock()
		d.batches = append(d.batches, append([]feed.ID(nil), ids...))
		d.mu.Unlock()
		if before != nil {
			if err := before(ctx, ids); err != nil {
				return nil, err
			}
		}
		values := make([]feed.ID, len(ids))
		for i, id := range ids {
			values[i] = 2 * id
		}
		return values, nil
	})
	return d
}

func (d *doubles) asked() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprint(d.batches)
}

func TestValuesComeInTheOrderOfTheKeys(t *testing.T) {
	t.Parallel()
	d := newDoubles(t.Context(), nil)
	keys := []feed.ID{9, 3, 7, 3, 1}
	for name, load := range map[string]func(context.Context, []feed.ID) ([]feed.ID, error){"All": d.All, "Many": d.Many} {
		got, err := load(t.Context(), keys)
		if err != nil || fmt.Sprint(got) != "[18 6 14 6 2]" {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.batches) != 1 || len(d.batches[0]) != 4 {
		t.Errorf("asked for %v, want each key once", d.batches)
	}
}

func TestKeysOfSeveralListsMakeOneBatch(t *testing.T) {
	t.Parallel()
	d := newDoubles(t.Context(), nil)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if got, err := d.Many(t.Context(), []feed.ID{feed.ID(i + 1), feed.ID(i + 2)}); err != nil || got[0] != feed.ID(2*i+2) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	wg.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	keys := 0
	for _, b := range d.batches {
		keys += len(b)
	}
	if keys != 21 {
		t.Errorf("asked for %v, want 21 keys, each once", d.batches)
	}
}

func TestPrimedValuesAreNotLoaded(t *testing.T) {
	t.Parallel()
	d := newDoubles(t.Context(), nil)
	d.Prime(t.Context(), 4, 44)
	got, err := d.All(t.Context(), []feed.ID{4, 5})
	if err != nil || fmt.Sprint(got) != "[44 10]" || d.asked() != "[[5]]" {
		t.Errorf("got %v, %v, asked for %s", got, err, d.asked())
	}
	if one, err := d.One(t.Context(), 4); err != nil || one != 44 {
		t.Errorf("got %v, %v", one, err)
	}
}

func TestACancelledCallerTakesNothingFromOthers(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	d := newDoubles(t.Context(), func(ctx context.Context, _ []feed.ID) error {
		<-gate
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("a batch has no deadline")
		}
		return ctx.Err()
	})
	first, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = d.One(first, 1) })
	wg.Go(func() {
		if got, err := d.One(t.Context(), 2); err != nil || got != 4 {
			t.Errorf("got %v, %v, want 4", got, err)
		}
	})
	cancel()
	close(gate)
	wg.Wait()
}

func TestLoadsEndWithTheResponse(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	d := newDoubles(ctx, func(ctx context.Context, _ []feed.ID) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	})
	go func() {
		<-started
		cancel()
	}()
	if _, err := d.One(t.Context(), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestErrorsAreNotKept(t *testing.T) {
	t.Parallel()
	var failures atomic.Int32
	failures.Store(2)
	d := newDoubles(t.Context(), func(context.Context, []feed.ID) error {
		if failures.Add(-1) >= 0 {
			return errors.New("the store is away")
		}
		return nil
	})
	if _, err := d.One(t.Context(), 1); err == nil {
		t.Error("got no error")
	}
	if _, err := d.All(t.Context(), []feed.ID{1, 2}); err == nil {
		t.Error("got no error")
	}
	if got, err := d.One(t.Context(), 1); err != nil || got != 2 {
		t.Errorf("got %v, %v, want 2", got, err)
	}
}

func TestAPanicIsAnErrorOfItsBatch(t *testing.T) {
	t.Parallel()
	d := newDoubles(t.Context(), func(_ context.Context, ids []feed.ID) error {
		if ids[0] == 13 {
			panic("unlucky")
		}
		return nil
	})
	for name, load := range map[string]func(context.Context, []feed.ID) ([]feed.ID, error){"All": d.All, "Many": d.Many} {
		if _, err := load(t.Context(), []feed.ID{13}); err == nil || !strings.Contains(err.Error(), "unlucky") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got, err := d.One(t.Context(), 1); err != nil || got != 2 {
		t.Errorf("got %v, %v, want 2", got, err)
	}
}

func TestTooFewValuesAreAnError(t *testing.T) {
	t.Parallel()
	l := &Loader[*feed.User]{}
	open(l, New(t.Context(), nil, nil, func(string, int) {}), "users", func(context.Context, *Set, []feed.ID) ([]*feed.User, error) {
		return []*feed.User{nil}, nil
	})
	if _, err := l.All(t.Context(), []feed.ID{1, 2}); err == nil {
		t.Error("got no error")
	}
	if u, err := l.One(t.Context(), 1); err != nil || u != nil {
		t.Errorf("a missing user: got %v, %v", u, err)
	}
}
