package redis_test

import (
	"log/slog"
	"strconv"
	"testing"

	"feedgate/feed"
	"feedgate/feed/geo"
	"feedgate/store/embedded"
	"feedgate/store/redis"
	"feedgate/store/storetest"
)

// onBoth runs a benchmark on the in-process server and on a real one.
func onBoth(b *testing.B, run func(b *testing.B, h *redis.Hot)) {
	b.Helper()
	b.Run("Embedded", func(b *testing.B) {
		s, err := embedded.Open(b.Context(), storetest.NewClock(), slog.New(slog.DiscardHandler), 0)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(s.Close)
		h, err := redis.Open(b.Context(), redis.Config{URL: s.URL()})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = h.Close() })
		h.SetGeneration(1)
		run(b, h)
	})
	b.Run("Server", func(b *testing.B) {
		h, _ := benchHot(b)
		run(b, h)
	})
}

func benchCell(b *testing.B, h *redis.Hot, c geo.Cell, entries int) {
	b.Helper()
	merge := &feed.MergeCell{Cell: c, Token: "a", Generation: 1}
	for i := range entries {
		merge.Entries = append(merge.Entries, feed.CellEntry{
			Entry: feed.Entry{At: int64(1_760_000_000_000 + i), ID: feed.ID(1<<60 + i)},
			Point: geo.Point{Latitude: 47.1, Longitude: 8.5},
		})
	}
	if err := h.Do(b.Context(), &feed.OpenCell{Cell: c, Token: "a"}, merge); err != nil || !merge.Merged {
		b.Fatal(err, merge.Merged)
	}
}

// BenchmarkAddToCells adds a post to the dozen cells that it touches.
func BenchmarkAddToCells(b *testing.B) {
	for _, exist := range []bool{true, false} {
		b.Run("Exist="+strconv.FormatBool(exist), func(b *testing.B) {
			onBoth(b, func(b *testing.B, h *redis.Hot) {
				b.Helper()
				var cells []geo.Cell
				for i := range 12 {
					cells = append(cells, geo.Cell("u0qh"+strconv.Itoa(i)))
					if exist {
						benchCell(b, h, cells[i], 500)
					}
				}
				e := feed.CellEntry{Entry: feed.Entry{At: 1_760_000_100_000, ID: 1 << 61}, Point: geo.Point{Latitude: 47.1, Longitude: 8.5}}
				add := &feed.AddToCells{Cells: cells, Keep: 1000, Slack: 100, Oldest: 1_757_000_000_000}
				for b.Loop() {
					e.At, e.ID = e.At+1, e.ID+1
					add.Entry = e
					if err := h.Do(b.Context(), add); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkReadCell reads a page of a hundred, from the top and from below a position.
func BenchmarkReadCell(b *testing.B) {
	for name, below := range map[string]feed.Position{"Top": feed.Newest(), "Below": {At: 1_760_000_000_700, ID: 1}} {
		b.Run(name, func(b *testing.B) {
			onBoth(b, func(b *testing.B, h *redis.Hot) {
				b.Helper()
				benchCell(b, h, "u0qh", 1000)
				b.ReportAllocs()
				for b.Loop() {
					read := &feed.ReadCell{Cell: "u0qh", Below: below, Limit: 100}
					if err := h.Do(b.Context(), read); err != nil || len(read.Entries) != 100 {
						b.Fatal(err, len(read.Entries))
					}
				}
			})
		})
	}
}

// BenchmarkChangeBoards makes 400 changes of 200 boards.
func BenchmarkChangeBoards(b *testing.B) {
	onBoth(b, func(b *testing.B, h *redis.Hot) {
		b.Helper()
		var ops []feed.Op
		for i := range 200 {
			ops = append(ops, &feed.ChangeBoard{
				Board:   feed.Board{Kind: feed.BoardSimilar, Epoch: 1, Post: feed.ID(i + 1)},
				Changes: []feed.Ranked{{Post: feed.ID(i + 2), Score: 0.5}, {Post: feed.ID(i + 3), Score: 0.25}},
				Keep:    100, Slack: 20,
			})
		}
		for b.Loop() {
			if err := h.Do(b.Context(), ops...); err != nil {
				b.Fatal(err)
			}
		}
	})
}
