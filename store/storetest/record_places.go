package storetest

import (
	"cmp"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
	"feedgate/feed/geo"
)

func placeTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"posts are found by the cell of their published position": testCells,
		"deleted posts leave their cells":                         testCellsDeleted,
		"cells are what a model says":                             testCellsModel,
		"pages of many cells give each entry once":                testCellPages,
		"no cells and no limit give nothing":                      testNoCells,
	}
}

func place(latitude, longitude float64, precision feed.Precision) *feed.Place {
	return &feed.Place{Latitude: latitude, Longitude: longitude, Precision: precision}
}

// cellEntries gives the answer of EntriesInCells by brute force.
func cellEntries(posts []feed.Post, cells []geo.Cell, below feed.Position, limit int) []feed.CellEntry {
	var out []feed.CellEntry
	for i := range posts {
		p := &posts[i]
		at, ok := p.Point()
		if ok && p.DeletedAt == 0 && slices.Contains(cells, p.Cell()) && p.Position().Below(below) {
			out = append(out, feed.CellEntry{Entry: feed.Entry{At: p.At, ID: p.ID, Author: p.Author}, Point: at})
		}
	}
	slices.SortFunc(out, func(a, b feed.CellEntry) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.ID, a.ID))
	})
	return out[:min(limit, len(out))]
}

func testCells(s *suite) {
	t := s.t
	author := s.user(t)
	const lat, lon = 40.712775, -74.005973
	var posts []feed.Post
	for i, at := range []*feed.Place{
		place(lat, lon, feed.PrecisionExact),
		place(lat, lon, feed.PrecisionNeighbourhood),
		place(lat, lon, feed.PrecisionCity),
		place(lat, lon, feed.PrecisionHidden),
		place(0, 0, feed.PrecisionExact),
		place(90, 0, feed.PrecisionExact),
		place(-17, 180, feed.PrecisionExact),
		nil,
	} {
		posts = append(posts, feed.Post{ID: s.seq.Next(), Author: author, At: now + int64(i), Kind: "original", Place: at})
	}
	// Half of them are published, half imported: both must index.
	for _, p := range posts[:4] {
		s.insert(t, p)
	}
	wantOutcomes(t, slices.Repeat([]feed.OutcomeState{feed.Added}, 4))(s.rec.ImportPosts(t.Context(), posts[4:]))

	found := 0
	for i := range posts {
		cell := posts[i].Cell()
		got, err := s.rec.EntriesInCells(t.Context(), []geo.Cell{cell, cell}, feed.Newest(), 10)
		want := cellEntries(posts, []geo.Cell{cell}, feed.Newest(), 10)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("cell %q:\n got %+v, %v\nwant %+v", cell, got, err, want)
		}
		if slices.ContainsFunc(got, func(e feed.CellEntry) bool { return e.ID == posts[i].ID }) {
			found++
		}
	}
	if want := len(posts) - 2; found != want {
		t.Errorf("%d posts are in their cells, want %d", found, want)
	}
	for i := range posts { // the exact place stays on the record
		if got := s.readPost(t, posts[i].ID).Place; (got == nil) != (posts[i].Place == nil) || (got != nil && *got != *posts[i].Place) {
			t.Errorf("post %d is at %+v, want %+v", i, got, posts[i].Place)
		}
	}
}

func testCellsDeleted(s *suite) {
	t := s.t
	author := s.user(t)
	var posts []feed.Post
	for range 3 {
		p := feed.Post{ID: s.seq.Next(), Author: author, At: now, Kind: "original", Place: place(10, 10, feed.PrecisionExact)}
		s.insert(t, p)
		posts = append(posts, p)
	}
	cell := []geo.Cell{posts[0].Cell()}
	for _, i := range []int{1, 2, 0} {
		wantBool(t, true)(s.rec.DeletePost(t.Context(), posts[i].ID, now))
		posts[i].DeletedAt = now
		got, err := s.rec.EntriesInCells(t.Context(), cell, feed.Newest(), 10)
		if want := cellEntries(posts, cell, feed.Newest(), 10); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

// scattered makes posts on a line through many cells, few times apart, of all precisions.
func (s *suite) scattered(t *testing.T, count, cells int) []feed.Post {
	t.Helper()
	authors := s.users(t, 3)
	precisions := []feed.Precision{
		feed.PrecisionExact, feed.PrecisionNeighbourhood, feed.PrecisionExact, feed.PrecisionCity, feed.PrecisionHidden,
	}
	posts := make([]feed.Post, count)
	for i := range posts {
		posts[i] = feed.Post{
			ID: s.seq.Next(), Author: authors[i%3], At: now + int64(i*i%7), Kind: "original", Text: strconv.Itoa(i),
			Place: place(48.1+float64(i%5)/1000, 11.5+0.1*float64(i%cells), precisions[i%len(precisions)]),
		}
	}
	for part := range slices.Chunk(posts, s.batch) {
		wantOutcomes(t, slices.Repeat([]feed.OutcomeState{feed.Added}, len(part)))(s.rec.ImportPosts(t.Context(), part))
	}
	return posts
}

// cellsOf gives the cells of posts, each once.
func cellsOf(posts []feed.Post) []geo.Cell {
	var cells []geo.Cell
	for i := range posts {
		if c := posts[i].Cell(); c != "" && !slices.Contains(cells, c) {
			cells = append(cells, c)
		}
	}
	return cells
}

func testCellsModel(s *suite) {
	t := s.t
	posts := s.scattered(t, 60, 8)
	for i := 0; i < len(posts); i += 7 {
		wantBool(t, true)(s.rec.DeletePost(t.Context(), posts[i].ID, now))
		posts[i].DeletedAt = now
	}
	known := append(cellsOf(posts), "", "s0000", "nowhere")
	rapid.Check(t, func(rt *rapid.T) {
		cells := rapid.SliceOf(rapid.SampledFrom(known)).Draw(rt, "cells")
		below := rapid.OneOf(rapid.Just(feed.Newest()), rapid.Custom(func(rt *rapid.T) feed.Position {
			p := rapid.SampledFrom(posts).Draw(rt, "post")
			return feed.Position{At: p.At + rapid.Int64Range(-1, 1).Draw(rt, "ms"), ID: p.ID + feed.ID(rapid.Int64Range(-1, 1).Draw(rt, "id"))}
		})).Draw(rt, "below")
		limit := rapid.IntRange(1, len(posts)+3).Draw(rt, "limit")
		asked := slices.Clone(cells)
		got, err := s.rec.EntriesInCells(t.Context(), cells, below, limit)
		if want := cellEntries(posts, cells, below, limit); err != nil || !slices.Equal(got, want) {
			rt.Fatalf("EntriesInCells(%v, %v, %d):\n got %v, %v\nwant %v", cells, below, limit, got, err, want)
		}
		if !slices.Equal(cells, asked) {
			rt.Fatalf("the cells asked for are %v now, want %v", cells, asked)
		}
	})
}

func testCellPages(s *suite) {
	t := s.t
	posts := s.scattered(t, 240, 60)
	cells := cellsOf(posts)
	if len(cells) < 40 || len(cells) > feed.MaxCells {
		t.Fatalf("the posts are in %d cells, want 40 to %d", len(cells), feed.MaxCells)
	}
	for i := range feed.MaxCells - len(cells) {
		cells = append(cells, geo.CellOf(geo.Point{Latitude: -30, Longitude: float64(i)}))
	}
	want := cellEntries(posts, cells, feed.Newest(), len(posts))
	for _, size := range []int{1, 3, 17, 50, len(want), len(want) + 1} {
		if size < 10 && s.batch < 100 {
			continue // nearly as many commands as posts, and the stand-in is slow
		}
		var got []feed.CellEntry
		for below := feed.Newest(); ; below = got[len(got)-1].Position() {
			page, err := s.rec.EntriesInCells(t.Context(), cells, below, size)
			if err != nil || len(page) > size {
				t.Fatalf("got a page of %d, %v, want at most %d", len(page), err, size)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		if !slices.Equal(got, want) {
			i := 0
			for i < min(len(got), len(want)) && got[i] == want[i] {
				i++
			}
			t.Errorf("pages of %d give %d entries, want %d, and differ from entry %d on: got %v, want %v",
				size, len(got), len(want), i, got[i:min(i+1, len(got))], want[i:min(i+1, len(want))])
		}
	}
	// A cursor may take two commands, sent together.
	middle := want[len(want)/2].Position()
	for below, most := range map[feed.Position]int64{feed.Newest(): 1, middle: 2} {
		if got := s.cost(func() { _, _ = s.rec.EntriesInCells(t.Context(), cells, below, 20) }); got > most {
			t.Errorf("%d cells below %v took %d commands, want at most %d", len(cells), below, got, most)
		}
	}
}

func testNoCells(s *suite) {
	t := s.t
	p := feed.Post{ID: s.seq.Next(), Author: s.user(t), At: now, Kind: "original", Place: place(1, 1, feed.PrecisionExact)}
	s.insert(t, p)
	for _, ask := range []struct {
		cells []geo.Cell
		below feed.Position
		limit int
	}{
		{nil, feed.Newest(), 10},
		{[]geo.Cell{""}, feed.Newest(), 10},
		{[]geo.Cell{"u0000"}, feed.Newest(), 10},
		{[]geo.Cell{p.Cell()}, feed.Newest(), 0},
		{[]geo.Cell{p.Cell()}, feed.Newest(), -1},
		{[]geo.Cell{p.Cell()}, p.Position(), 10},
		{[]geo.Cell{p.Cell()}, feed.Position{}, 10},
	} {
		if got, err := s.rec.EntriesInCells(t.Context(), ask.cells, ask.below, ask.limit); err != nil || len(got) != 0 {
			t.Errorf("EntriesInCells(%+v) = %v, %v, want none", ask, got, err)
		}
	}
}
