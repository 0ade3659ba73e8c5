package loaders_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"feedgate/feed"
	"feedgate/loaders"
)

// page is a card that says which load brought it.
func page(n int64) *feed.Page { return &feed.Page{CompleteSince: n} }

func TestACardIsNoOlderThanTheCallAndManyShareALoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var loads, version atomic.Int64
		cards := loaders.NewCards(func(context.Context, feed.ID) (*feed.Page, error) {
			loads.Add(1)
			p := page(version.Load())
			time.Sleep(time.Millisecond)
			return p, nil
		})
		ask := func() {
			was := version.Load()
			p, err := cards.Load(t.Context(), 1)
			if err != nil || p.CompleteSince < was {
				t.Errorf("got %v, %v, which is older than %d", p, err, was)
			}
		}
		for range 1000 { // a thousand callers within a tenth of a second
			go ask()
			time.Sleep(100 * time.Microsecond)
			version.Add(1)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		if n := loads.Load(); n < 2 || n > 8 {
			t.Errorf("the card was loaded %d times", n)
		}
		began := time.Now()
		ask()
		if took := time.Since(began); took != time.Millisecond {
			t.Errorf("a single caller waits %v, want no pause", took)
		}
	})
}

func TestACallerThatLeavesTakesNothingFromOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cards := loaders.NewCards(func(ctx context.Context, _ feed.ID) (*feed.Page, error) {
			select {
			case <-time.After(time.Second):
				return page(1), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		go func() {
			_, err := cards.Load(ctx, 1)
			gone <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v", err)
		}
		if p, err := cards.Load(t.Context(), 1); err != nil || p.CompleteSince != 1 {
			t.Errorf("who stayed got %v, %v", p, err)
		}
	})
}

func TestACardThatCannotBeLoadedIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := true
		cards := loaders.NewCards(func(context.Context, feed.ID) (*feed.Page, error) {
			if broken {
				panic("broken")
			}
			return page(1), nil
		})
		if p, err := cards.Load(t.Context(), 1); err == nil {
			t.Errorf("got %v", p)
		}
		broken = false
		if p, err := cards.Load(t.Context(), 1); err != nil || p == nil {
			t.Errorf("got %v, %v", p, err)
		}
	})
}
