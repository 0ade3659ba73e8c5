// Package storetest holds the conformance suites for stores, and what tests
// need to have a store: one suite for every back end, given a constructor,
// with a fresh store for each test.
package storetest

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"feedgate/feed"
	"feedgate/store/sqlite"
)

// Clock is a clock that stands still until it is moved. It is safe for
// concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock gives a clock at a fixed moment of 2026.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)}
}

// Now implements [feed.Clock].
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

// firstID is the lowest id that a Sequence gives: above 2^53, as real ones are,
// so that rounding to a float would show.
const firstID = 1<<53 + 1

// Sequence gives ids one after the other. The zero value is ready.
type Sequence struct{ last atomic.Int64 }

// NextID implements [feed.IDs].
func (s *Sequence) NextID() (feed.ID, error) { return s.Next(), nil }

// Next gives the next id.
func (s *Sequence) Next() feed.ID { return feed.ID(firstID - 1 + s.last.Add(1)) }

// SQLite opens a fresh record in a folder of the test's, and closes it at the
// test's end.
func SQLite(tb testing.TB, opts ...sqlite.Option) *sqlite.Record {
	tb.Helper()
	r, err := sqlite.Open(tb.Context(), filepath.Join(tb.TempDir(), "feedgate.db"), slog.New(slog.DiscardHandler), opts...)
	if err != nil {
		tb.Fatalf("open a record: %v", err)
	}
	tb.Cleanup(func() {
		if err := r.Close(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("close the record: %v", err)
		}
	})
	return r
}
