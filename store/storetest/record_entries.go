package storetest

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
)

func entryTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"entries are what a model says":               testEntriesModel,
		"pages of any size give each entry once":      testEntryPages,
		"one millisecond may hold more than a page":   testEntriesOfOneMillisecond,
		"authors are asked for in chunks":             testEntriesInChunks,
		"nobody and nothing give nothing":             testNoEntries,
		"times before 1970 are in order too":          testOldEntries,
		"an author who wrote much costs only a limit": testHeavyAuthor,
	}
}

// imported writes posts of a time each, in one batch.
func (s *suite) imported(t *testing.T, author feed.ID, times ...int64) []feed.Entry {
	t.Helper()
	posts := make([]feed.Post, len(times))
	entries := make([]feed.Entry, len(times))
	for i, at := range times {
		posts[i] = feed.Post{ID: s.seq.Next(), Author: author, At: at, Kind: "original"}
		entries[i] = feed.Entry{At: at, ID: posts[i].ID, Author: author}
	}
	wantOutcomes(t, slices.Repeat([]feed.OutcomeState{feed.Added}, len(posts)))(s.rec.ImportPosts(t.Context(), posts))
	return entries
}

// model gives the answer of Entries by brute force.
func model(all []feed.Entry, authors []feed.ID, below feed.Position, limit int) []feed.Entry {
	var out []feed.Entry
	for _, e := range all {
		if slices.Contains(authors, e.Author) && e.Position().Below(below) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b feed.Entry) int {
		return -cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
	})
	return out[:min(limit, len(out))]
}

func testEntriesModel(s *suite) {
	t := s.t
	authors := s.users(t, 6)
	var all []feed.Entry
	for i, author := range authors {
		// Few different times, so that most posts share theirs with others.
		times := make([]int64, 3+4*i)
		for j := range times {
			times[j] = now + int64(j*j%7)
		}
		all = append(all, s.imported(t, author, times...)...)
	}
	for i := 0; i < len(all); i += 5 {
		wantBool(t, true)(s.rec.DeletePost(t.Context(), all[i].ID, now))
		all[i].Author = 0
	}
	rapid.Check(t, func(rt *rapid.T) {
		asked := rapid.SliceOf(rapid.SampledFrom(append([]feed.ID{s.seq.Next()}, authors...))).Draw(rt, "authors")
		below := rapid.OneOf(
			rapid.Just(feed.Newest()),
			rapid.Custom(func(rt *rapid.T) feed.Position {
				e := rapid.SampledFrom(all).Draw(rt, "entry")
				return feed.Position{
					At: e.At + rapid.Int64Range(-1, 1).Draw(rt, "ms"),
					ID: e.ID + feed.ID(rapid.Int64Range(-1, 1).Draw(rt, "id")),
				}
			}),
		).Draw(rt, "below")
		limit := rapid.IntRange(1, len(all)+3).Draw(rt, "limit")
		got, err := s.rec.Entries(t.Context(), asked, below, limit)
		if want := model(all, asked, below, limit); err != nil || !slices.Equal(got, want) {
			rt.Fatalf("Entries(%v, %v, %d):\n got %v, %v\nwant %v", asked, below, limit, got, err, want)
		}
	})
}

// pages reads all entries of authors, page by page.
func (s *suite) pages(t *testing.T, authors []feed.ID, size int) []feed.Entry {
	t.Helper()
	var all []feed.Entry
	for below := feed.Newest(); ; {
		page, err := s.rec.Entries(t.Context(), authors, below, size)
		if err != nil || len(page) > size {
			t.Fatalf("got a page of %d, %v, want at most %d", len(page), err, size)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		below = page[len(page)-1].Position()
	}
}

func testEntryPages(s *suite) {
	t := s.t
	authors := s.users(t, 3)
	var all []feed.Entry
	for i, author := range authors {
		all = append(all, s.imported(t, author, now, now+int64(i), now+1, now+1, now+5, now)...)
	}
	want := model(all, authors, feed.Newest(), len(all))
	for _, size := range []int{1, 2, 3, 5, 7, len(all), len(all) + 1} {
		if got := s.pages(t, authors, size); !slices.Equal(got, want) {
			t.Errorf("pages of %d:\n got %v\nwant %v", size, got, want)
		}
	}
}

func testEntriesOfOneMillisecond(s *suite) {
	t := s.t
	authors := s.users(t, 2)
	all := append(s.imported(t, authors[0], slices.Repeat([]int64{now}, 40)...),
		s.imported(t, authors[1], slices.Repeat([]int64{now}, 10)...)...)
	want := model(all, authors, feed.Newest(), len(all))
	if got := s.pages(t, authors, 7); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func testEntriesInChunks(s *suite) {
	t := s.t
	authors := s.users(t, 230)
	posts := make([]feed.Post, 0, len(authors))
	var all []feed.Entry
	for i, author := range authors {
		p := feed.Post{ID: s.seq.Next(), Author: author, At: now + int64(i*7919%101), Kind: "original"}
		posts = append(posts, p)
		all = append(all, feed.Entry{At: p.At, ID: p.ID, Author: author})
	}
	wantOutcomes(t, slices.Repeat([]feed.OutcomeState{feed.Added}, len(posts)))(s.rec.ImportPosts(t.Context(), posts))

	below := feed.Position{At: now + 60, ID: all[100].ID}
	for _, limit := range []int{1, 20, 300} {
		for _, from := range []feed.Position{feed.Newest(), below} {
			got, err := s.rec.Entries(t.Context(), authors, from, limit)
			if want := model(all, authors, from, limit); err != nil || !slices.Equal(got, want) {
				t.Errorf("below %v, limit %d:\n got %v, %v\nwant %v", from, limit, got, err, want)
			}
		}
	}
	// A cursor may take two commands for each chunk, sent together.
	for _, n := range []int{1, 100} {
		if got := s.cost(func() { _, _ = s.rec.Entries(t.Context(), authors[:n], below, 20) }); got > 2 {
			t.Errorf("%d authors took %d commands, want at most 2", n, got)
		}
	}
	if got := s.cost(func() { _, _ = s.rec.Entries(t.Context(), authors, feed.Newest(), 20) }); got != 3 {
		t.Errorf("%d authors from the top took %d commands, want 3", len(authors), got)
	}
}

func testNoEntries(s *suite) {
	t := s.t
	author := s.user(t)
	s.post(t, author, now)
	for _, ask := range []struct {
		authors []feed.ID
		below   feed.Position
		limit   int
	}{
		{nil, feed.Newest(), 10},
		{[]feed.ID{s.seq.Next()}, feed.Newest(), 10},
		{[]feed.ID{author}, feed.Position{}, 10},
		{[]feed.ID{author}, feed.Newest(), 0},
	} {
		if got, err := s.rec.Entries(t.Context(), ask.authors, ask.below, ask.limit); err != nil || len(got) != 0 {
			t.Errorf("Entries(%v) = %v, %v, want none", ask, got, err)
		}
	}
}

func testOldEntries(s *suite) {
	t := s.t
	author := s.user(t)
	all := s.imported(t, author, -2, 0, -1, 3, math.MinInt32*1000, -1)
	want := model(all, []feed.ID{author}, feed.Newest(), len(all))
	if got := s.pages(t, []feed.ID{author}, 2); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func testHeavyAuthor(s *suite) {
	t := s.t
	authors := s.users(t, 2)
	times := make([]int64, 400)
	for i := range times {
		times[i] = now + int64(i)
	}
	all := append(s.imported(t, authors[0], times...), s.imported(t, authors[1], now+100, now+399, now+500)...)
	for _, below := range []feed.Position{feed.Newest(), all[200].Position(), all[0].Position()} {
		got, err := s.rec.Entries(t.Context(), authors, below, 10)
		if want := model(all, authors, below, 10); err != nil || !slices.Equal(got, want) {
			t.Errorf("below %v:\n got %v, %v\nwant %v", below, got, err, want)
		}
	}
}
