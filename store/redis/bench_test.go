package redis_test

import (
	"fmt"
	"log/slog"
	"strconv"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/fanout"
	"feedgate/feed"
	"feedgate/store/embedded"
	"feedgate/store/redis"
	"feedgate/store/storetest"
	"feedgate/store/storetest/redisserver"
)

func benchHot(b *testing.B) (*redis.Hot, *redisserver.Server) {
	b.Helper()
	s := redisserver.Start(b)
	h, err := redis.Open(b.Context(), redis.Config{URL: s.URL()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close() })
	h.SetGeneration(1)
	return h, s
}

// BenchmarkPush compares the pushing of a post into a task's inboxes with
// nothing but the same ZADDs in one pipeline.
func BenchmarkPush(b *testing.B) {
	h, s := benchHot(b)
	ctx := b.Context()
	readers := make([]feed.ID, fanout.TaskSize)
	for i := range readers {
		readers[i] = feed.ID(1<<53 + 977*i)
		if err := h.Do(ctx, &feed.TouchActive{Reader: readers[i], Day: 20_000, Make: 1}); err != nil {
			b.Fatal(err)
		}
	}
	post := int64(1 << 60)
	b.Run("Push", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			post++
			if err := h.Push(ctx, feed.Entry{At: post >> 20, ID: feed.ID(post)}, readers, 1000, 100); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)*float64(len(readers))/b.Elapsed().Seconds(), "zadd/s")
	})
	b.Run("BareZAdd", func(b *testing.B) {
		c := s.Client()
		defer c.Close()
		keys := make([]string, len(readers))
		for i, r := range readers {
			keys[i] = "inbox:{" + r.String() + "}"
		}
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			post++
			member := fmt.Sprintf("%020d", post)
			pipe := c.Pipeline()
			for _, key := range keys {
				pipe.ZAdd(ctx, key, goredis.Z{Score: float64(post >> 20), Member: member})
			}
			if n%100 == 99 { // Push trims too; untrimmed inboxes would be slower
				for _, key := range keys {
					pipe.ZRemRangeByRank(ctx, key, 0, -1001)
				}
			}
			if _, err := pipe.Exec(ctx); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)*float64(len(readers))/b.Elapsed().Seconds(), "zadd/s")
	})
}

// BenchmarkWarmFeed is what a page of a feed asks for when nothing is missing.
func BenchmarkWarmFeed(b *testing.B) {
	for _, n := range []int{20, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			h, _ := benchHot(b)
			ctx := b.Context()
			list := feed.List{Kind: feed.Inbox, Owner: 7}
			open := &feed.OpenList{List: list}
			if err := h.Do(ctx, open); err != nil {
				b.Fatal(err)
			}
			merge := &feed.MergeList{List: list, Version: open.Version, Raw: open.Raw, Generation: 1, TTL: 1 << 30, Floor: feed.Floor{Version: open.Version}}
			fill := &feed.FillDetails[feed.Post]{Token: "t", Generation: 1}
			stats := &feed.FillDetails[feed.Stats]{Token: "t", Generation: 1}
			for i := range 1000 {
				id := feed.ID(1<<60 + i)
				merge.Entries = append(merge.Entries, feed.Entry{At: int64(1_760_000_000_000 + i), ID: id})
				fill.IDs, fill.Values = append(fill.IDs, id), append(fill.Values, feed.Post{
					Author: id + 1, At: 1, Kind: "photo", Text: "The quick brown fox jumps over the lazy dog.",
					Media: []feed.Media{{URL: "https://images.example.org/1/2/3/picture.jpg"}},
				})
				stats.IDs, stats.Values = append(stats.IDs, id), append(stats.Values, feed.Stats{Likes: 5, First: []feed.Comment{{ID: 1, Text: "nice"}}})
			}
			ops := []feed.Op{
				merge, &feed.LeaseDetails[feed.Post]{IDs: fill.IDs, Token: "t"}, fill,
				&feed.LeaseDetails[feed.Stats]{IDs: fill.IDs, Token: "t"}, stats,
			}
			if err := h.Do(ctx, ops...); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				read := &feed.ReadList{List: list, Below: feed.Newest(), Limit: n}
				if err := h.Do(ctx, read, &feed.ReadRelations{User: 7}); err != nil || len(read.Entries) != n {
					b.Fatal(err, len(read.Entries))
				}
				ids := make([]feed.ID, n)
				for i, e := range read.Entries {
					ids[i] = e.ID
				}
				posts, counts := &feed.GetDetails[feed.Post]{IDs: ids}, &feed.GetDetails[feed.Stats]{IDs: ids}
				if err := h.Do(ctx, posts, counts); err != nil || posts.State[n-1] != feed.Found {
					b.Fatal(err, posts.State)
				}
			}
		})
	}
}

// BenchmarkColdFill leases and fills a hundred posts.
func BenchmarkColdFill(b *testing.B) {
	ids, posts := make([]feed.ID, 100), make([]feed.Post, 100)
	for i := range ids {
		ids[i], posts[i] = feed.ID(i+1), feed.Post{Author: 1, Text: "hello, world"}
	}
	run := func(b *testing.B, h *redis.Hot) {
		b.Helper()
		ops := []feed.Op{
			&feed.LeaseDetails[feed.Post]{IDs: ids, Token: "t"},
			&feed.FillDetails[feed.Post]{IDs: ids, Values: posts, Token: "t"},
		}
		for b.Loop() {
			if err := h.Do(b.Context(), ops...); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("Embedded", func(b *testing.B) {
		s, err := embedded.Open(b.Context(), storetest.NewClock(), slog.New(slog.DiscardHandler), 0)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		h, err := redis.Open(b.Context(), redis.Config{URL: s.URL()})
		if err != nil {
			b.Fatal(err)
		}
		defer h.Close()
		run(b, h)
	})
	b.Run("Server", func(b *testing.B) {
		h, _ := benchHot(b)
		run(b, h)
	})
}
