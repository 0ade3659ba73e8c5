package redis_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/store/embedded"
	"feedgate/store/redis"
	"feedgate/store/storetest"
	"feedgate/store/storetest/redisserver"
)

var _ storetest.Hot = (*redis.Hot)(nil)

func open(t *testing.T, url string, onRoundTrip func(int)) storetest.Hot {
	t.Helper()
	h, err := redis.Open(t.Context(), redis.Config{URL: url, OnRoundTrip: onRoundTrip})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return h
}

// on gives a backend on servers that run, with a plain client of each master.
func on(url string, masters func(f func(ctx context.Context, c *goredis.Client) error) error) storetest.HotBackend {
	each := func(t *testing.T, f func(ctx context.Context, c *goredis.Client) error) {
		t.Helper()
		if err := masters(f); err != nil {
			t.Fatal(err)
		}
	}
	return storetest.HotBackend{
		Open: func(t *testing.T, onRoundTrip func(int)) storetest.Hot {
			t.Helper()
			return open(t, url, onRoundTrip)
		},
		Flush: func(t *testing.T) {
			t.Helper()
			each(t, func(ctx context.Context, c *goredis.Client) error { return c.FlushAll(ctx).Err() })
		},
		Evict: func(t *testing.T) {
			t.Helper()
			each(t, evict)
		},
		ForgetScripts: func(t *testing.T) {
			t.Helper()
			each(t, func(ctx context.Context, c *goredis.Client) error { return c.ScriptFlush(ctx).Err() })
		},
	}
}

// evict deletes every key that has an expiry.
func evict(ctx context.Context, c *goredis.Client) error {
	keys, err := c.Keys(ctx, "*").Result()
	if err != nil {
		return err
	}
	for _, key := range keys {
		ttl, err := c.PTTL(ctx, key).Result()
		if err != nil {
			return err
		}
		if ttl > 0 {
			if err := c.Del(ctx, key).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestHotOnEmbedded(t *testing.T) {
	t.Parallel()
	storetest.RunHot(t, false, func(t *testing.T) storetest.HotBackend {
		t.Helper()
		clock := storetest.NewClock()
		s, err := embedded.Open(t.Context(), clock, slog.New(slog.DiscardHandler), 0)
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		t.Cleanup(s.Close)
		opt, err := goredis.ParseURL(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		opt.Protocol, opt.DisableIdentity = 2, true
		c := goredis.NewClient(opt)
		t.Cleanup(func() { _ = c.Close() })
		back := on(s.URL(), func(f func(ctx context.Context, c *goredis.Client) error) error { return f(t.Context(), c) })
		back.Advance = func(t *testing.T, by time.Duration) {
			t.Helper()
			clock.Advance(by)
			s.Tick(t.Context())
		}
		return back
	})
}

func TestHotOnServer(t *testing.T) {
	t.Parallel()
	storetest.RunHot(t, false, func(t *testing.T) storetest.HotBackend {
		t.Helper()
		s := redisserver.Start(t)
		c := s.Client()
		t.Cleanup(func() { _ = c.Close() })
		return on(s.URL(), func(f func(ctx context.Context, c *goredis.Client) error) error { return f(t.Context(), c) })
	})
}

func TestHotOnCluster(t *testing.T) {
	t.Parallel()
	cluster := redisserver.StartCluster(t)
	c := cluster.Client()
	t.Cleanup(func() { _ = c.Close() })
	storetest.RunHot(t, true, func(t *testing.T) storetest.HotBackend {
		t.Helper()
		back := on(cluster.URL(), func(f func(ctx context.Context, c *goredis.Client) error) error {
			return c.ForEachMaster(t.Context(), f)
		})
		back.Flush(t)
		return back
	})
}
