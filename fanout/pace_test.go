package fanout

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// standing is a clock that a test turns.
type standing struct{ at time.Time }

func (c *standing) Now() time.Time { return c.at }

func TestRepeatedErrorsAreLoggedAtALimitedRate(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	clock := &standing{at: time.Unix(1_700_000_000, 0)}
	q := newQuiet(slog.New(slog.NewTextHandler(&out, nil)), clock)
	for range 500 {
		q.warn(t.Context(), "one thing", errors.New("broken"))
	}
	q.warn(t.Context(), "another thing", errors.New("broken"))
	if got := strings.Count(out.String(), "\n"); got != 2 {
		t.Errorf("%d lines were logged, want 2:\n%s", got, out.String())
	}
	out.Reset()
	clock.at = clock.at.Add(quietFor)
	q.warn(t.Context(), "one thing", errors.New("broken"))
	if !strings.Contains(out.String(), "left_out=499") {
		t.Errorf("the number left out is not told: %s", out.String())
	}
}

func TestBackoffGrowsAndIsBounded(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{1: 50 * time.Millisecond, 3: 200 * time.Millisecond, 20: 2 * time.Second, 1 << 40: 2 * time.Second} {
		for range 100 {
			if got := backoff(n); got < want*3/4 || got > want*5/4 {
				t.Errorf("backoff(%d) is %v, want about %v", n, got, want)
			}
		}
	}
}

func TestPauseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if pause(ctx, time.Hour) {
		t.Error("the pause was not cut short")
	}
	if !pause(t.Context(), time.Nanosecond) {
		t.Error("the pause was cut short")
	}
}
