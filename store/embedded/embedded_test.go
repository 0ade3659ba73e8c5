package embedded_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"feedgate/store/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

// log keeps what was logged.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func start(t *testing.T, budget int64) (*embedded.Server, *goredis.Client, *clock, *log) {
	t.Helper()
	c, l := &clock{now: time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)}, new(log)
	s, err := embedded.Open(t.Context(), c, slog.New(slog.NewTextHandler(l, nil)), budget)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(s.Close)
	opt, err := goredis.ParseURL(s.URL())
	if err != nil {
		t.Fatalf("URL: %v", err)
	}
	opt.Protocol, opt.DisableIdentity = 2, true
	client := goredis.NewClient(opt)
	t.Cleanup(func() { _ = client.Close() })
	return s, client, c, l
}

func TestKeysExpireByTheClock(t *testing.T) {
	t.Parallel()
	s, c, clock, _ := start(t, 0)
	ctx := t.Context()
	c.Set(ctx, "short", "v", time.Minute)
	c.Set(ctx, "long", "v", time.Hour)
	if got := c.PExpireAt(ctx, "long", clock.Now().Add(time.Hour)).Val(); !got {
		t.Error("PEXPIREAT: got false, want true")
	}
	clock.advance(59 * time.Second)
	s.Tick(ctx)
	if got := c.Exists(ctx, "short").Val(); got != 1 {
		t.Error("before its time: got nothing, want the key")
	}
	clock.advance(time.Second)
	s.Tick(ctx)
	if got := c.Exists(ctx, "short").Val(); got != 0 {
		t.Error("after its time: got the key, want nothing")
	}
	if got, want := c.PTTL(ctx, "long").Val(), 59*time.Minute; got != want {
		t.Errorf("time left: got %v, want %v", got, want)
	}
	if got := c.Time(ctx).Val(); !got.Equal(clock.Now()) {
		t.Errorf("server's time: got %v, want %v", got, clock.Now())
	}
	clock.advance(-time.Hour)
	s.Tick(ctx)
	clock.advance(30 * time.Minute)
	s.Tick(ctx)
	if got, want := c.PTTL(ctx, "long").Val(), 29*time.Minute; got != want {
		t.Errorf("time left after the clock was set back: got %v, want %v", got, want)
	}
}

func TestNobodyGetsInWithoutThePassword(t *testing.T) {
	t.Parallel()
	_, c, _, _ := start(t, 0)
	opt := *c.Options()
	opt.Password = ""
	stranger := goredis.NewClient(&opt)
	defer stranger.Close()
	if err := stranger.Get(t.Context(), "k").Err(); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without the password: got %v, want NOAUTH", err)
	}
}

func fill(ctx context.Context, c *goredis.Client, name string, n, size int, ttl time.Duration) {
	value := strings.Repeat("v", size)
	pipe := c.Pipeline()
	for i := range n {
		pipe.Set(ctx, fmt.Sprintf("%s:{%d}", name, i), value, ttl)
	}
	pipe.Exec(ctx)
}

func TestAboveTheBudgetWhatExpiresGoesFirst(t *testing.T) {
	t.Parallel()
	s, c, _, l := start(t, 1<<20)
	ctx := t.Context()
	c.ZAdd(ctx, "inbox:{1}", goredis.Z{Score: 1, Member: "1"})
	c.Expire(ctx, "inbox:{1}", time.Hour)
	c.ZAdd(ctx, "active:{1}", goredis.Z{Score: 1, Member: "1"})
	c.XAdd(ctx, &goredis.XAddArgs{Stream: "tasks:{small}", Values: []string{"t", "x"}})
	c.LPush(ctx, "ackbell:{1}", "1")
	fill(ctx, c, "post", 100, 1000, time.Hour)
	s.Tick(ctx)
	if keys, flushes := s.Evicted(); keys != 0 || flushes != 0 {
		t.Errorf("below the budget: got %d keys and %d flushes, want none", keys, flushes)
	}
	fill(ctx, c, "post", 2000, 1000, time.Hour)
	s.Tick(ctx)
	keys, flushes := s.Evicted()
	if keys < 1000 || flushes != 0 {
		t.Errorf("above the budget: got %d keys and %d flushes, want above 1000 and none", keys, flushes)
	}
	if got := s.Size(); got > 1<<20 {
		t.Errorf("size: got %d, want at most the budget", got)
	}
	for _, key := range []string{"inbox:{1}", "active:{1}", "tasks:{small}", "ackbell:{1}"} {
		if c.Exists(ctx, key).Val() != 1 {
			t.Errorf("%s: got nothing, want it kept", key)
		}
	}
	if !strings.Contains(l.String(), "evicted keys") {
		t.Errorf("log: got %q, want the eviction told", l)
	}
}

func TestAboveTheBudgetEverythingGoesAtLast(t *testing.T) {
	t.Parallel()
	s, c, _, l := start(t, 1<<20)
	ctx := t.Context()
	fill(ctx, c, "active", 2000, 1000, 0)
	s.Tick(ctx)
	if _, flushes := s.Evicted(); flushes != 1 {
		t.Errorf("flushes: got %d, want 1", flushes)
	}
	if got := c.DBSize(ctx).Val(); got != 0 {
		t.Errorf("keys: got %d, want none", got)
	}
	if !strings.Contains(l.String(), "flushed") {
		t.Errorf("log: got %q, want the flush told", l)
	}
}

func TestNamesOfKeysThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	s, c, clock, l := start(t, 1<<20)
	ctx := t.Context()
	c.Set(ctx, "active:{1}", "v", 0)
	for i := range 10 {
		fill(ctx, c, fmt.Sprintf("lease%d", i), 1000, 1, time.Second)
		clock.advance(2 * time.Second)
		s.Tick(ctx)
	}
	if _, flushes := s.Evicted(); flushes != 1 {
		t.Errorf("flushes: got %d, want 1", flushes)
	}
	if !strings.Contains(l.String(), "starts anew") {
		t.Errorf("log: got %q, want the new start told", l)
	}
	if err := c.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Errorf("after the new start: %v", err)
	}
	if got := c.Exists(ctx, "active:{1}").Val(); got != 0 {
		t.Error("after the new start: got an old key, want none")
	}
}

func TestCloseMayBeCalledTwice(t *testing.T) {
	t.Parallel()
	s, _, _, _ := start(t, 0)
	s.Close()
	s.Close()
}
