package fanout

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"feedgate/feed"
)

// pause waits for d and reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter spreads d by a quarter up or down, so that processes don't march in step.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + within(d/2)
}

// within is a random part of d.
func within(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d) //nolint:gosec // spreads load, guards nothing
}

// backoff is the pause after the n-th failure in a row, n from 1: from 50 ms
// doubling to 2 s, with jitter.
func backoff(n int) time.Duration {
	return jitter(min(50*time.Millisecond<<min(n-1, 10), 2*time.Second))
}

// quietFor is how long one message stays silent after it was logged.
const quietFor = 10 * time.Second

// quiet logs errors that may repeat many times a second: each message at most
// once in [quietFor], with the number of those left out. Messages are static,
// so what it remembers is bounded.
type quiet struct {
	log   *slog.Logger
	clock feed.Clock
	mu    sync.Mutex
	seen  map[string]*silence
}

type silence struct {
	until   time.Time
	skipped int
}

func newQuiet(log *slog.Logger, clock feed.Clock) *quiet {
	return &quiet{log: log, clock: clock, seen: make(map[string]*silence)}
}

// warn logs msg with err, unless it did so a moment ago.
func (q *quiet) warn(ctx context.Context, msg string, err error, attrs ...slog.Attr) {
	now := q.clock.Now()
	q.mu.Lock()
	s, ok := q.seen[msg]
	if !ok {
		s = &silence{}
		q.seen[msg] = s
	}
	if now.Before(s.until) {
		s.skipped++
		q.mu.Unlock()
		return
	}
	skipped := s.skipped
	s.until, s.skipped = now.Add(quietFor), 0
	q.mu.Unlock()

	attrs = append(attrs, slog.Any("error", err), slog.Int("left_out", skipped))
	q.log.LogAttrs(ctx, slog.LevelWarn, msg, attrs...) //nolint:sloglint // every caller passes a literal
}
