package storetest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"feedgate/feed"
	"feedgate/feed/geo"
)

func hotCellTests() map[string]func(s *hotSuite) {
	return map[string]func(s *hotSuite){
		"a cell begins missing, and nothing is added to it":   cellIsMissing,
		"a cell without posts is found":                       cellEmpty,
		"positions come back to the bit":                      cellPoints,
		"entries below the floor don't count":                 cellFloor,
		"what is added while it is filled is kept":            cellAddedBetween,
		"a cell that is lost while it is filled is not":       cellLostBetween,
		"a cell that is cut while it is filled is not":        cellCutBetween,
		"two may fill it, and the lower floor counts":         cellTwoFillers,
		"a mark merges once, and only its own cell":           cellMarkOnce,
		"of too many that fill it the last ones do":           cellManyFillers,
		"another generation makes it missing":                 cellGeneration,
		"a late filler leaves the floor of a new generation":  cellLateFiller,
		"a cell is cut to its newest once it has slack":       cellCut,
		"cutting within one millisecond":                      cellCutTies,
		"marks are no entries":                                cellCutMarks,
		"old entries go together":                             cellOld,
		"an entry older than all is added and below no floor": cellOldAlone,
		"removed entries are gone":                            cellRemove,
		"a cell lives on when read":                           cellTTL,
		"hundreds of cells in one go":                         cellMany,
		"thousands of entries are merged":                     cellLarge,
		"random operations against a model":                   cellModel,
		"filled by two while posts come, go and are lost":     cellRaces,
	}
}

// hour is an hour in milliseconds.
const hour = int64(time.Hour / time.Millisecond)

// cell is a cell that no other test uses.
func (s *hotSuite) cell() geo.Cell { return geo.Cell("u" + s.ids.Next().String()) }

// placed is an entry at a place of its own.
func placed(ms int64, id feed.ID) feed.CellEntry {
	return feed.CellEntry{Entry: at(ms, id), Point: geo.Point{Latitude: float64(id%180) / 3, Longitude: -float64(id%360) / 7}}
}

func (s *hotSuite) openCell(c geo.Cell, token feed.Token) *feed.OpenCell {
	s.t.Helper()
	op := &feed.OpenCell{Cell: c, Token: token}
	s.do(op)
	return op
}

func (s *hotSuite) mergeCell(o *feed.OpenCell, floor int64, entries ...feed.CellEntry) bool {
	s.t.Helper()
	op := &feed.MergeCell{Cell: o.Cell, Token: o.Token, Generation: o.Generation, Floor: floor, Entries: entries}
	s.do(op)
	return op.Merged
}

func (s *hotSuite) makeCell(c geo.Cell, floor int64, entries ...feed.CellEntry) {
	s.t.Helper()
	if !s.mergeCell(s.openCell(c, "make"), floor, entries...) {
		s.t.Fatal("a cell that was just opened could not be merged")
	}
}

func (s *hotSuite) readCell(c geo.Cell, below feed.Position, limit int) *feed.ReadCell {
	s.t.Helper()
	op := &feed.ReadCell{Cell: c, Below: below, Limit: limit, Found: true, Floor: 77, Entries: []feed.CellEntry{placed(1, 1)}}
	s.do(op)
	return op
}

// addTo adds an entry to cells that are never cut.
func (s *hotSuite) addTo(e feed.CellEntry, cells ...geo.Cell) {
	s.t.Helper()
	s.addCut(e, 1000, 100, 0, cells...)
}

func (s *hotSuite) addCut(e feed.CellEntry, keep, slack int, oldest int64, cells ...geo.Cell) {
	s.t.Helper()
	s.do(&feed.AddToCells{Cells: cells, Entry: e, Keep: keep, Slack: slack, Oldest: oldest})
}

// wantCell compares the whole of a cell, from the top and from below a position.
func (s *hotSuite) wantCell(what string, c geo.Cell, floor int64, want ...feed.CellEntry) {
	s.t.Helper()
	for _, below := range []feed.Position{feed.Newest(), {At: 1 << 50, ID: 1}} {
		got := s.readCell(c, below, 10_000)
		equal(s, what+": found", got.Found, true)
		equal(s, what+": floor", got.Floor, floor)
		equalSlice(s, what+": entries", got.Entries, want)
	}
}

func (s *hotSuite) wantNoCell(what string, c geo.Cell) {
	s.t.Helper()
	for _, below := range []feed.Position{feed.Newest(), {At: 1 << 50, ID: 1}} {
		if got := s.readCell(c, below, 10); got.Found || got.Floor != 0 || got.Entries != nil {
			s.t.Errorf("%s: got found %v, floor %d, %d entries, want it missing", what, got.Found, got.Floor, len(got.Entries))
		}
	}
}

func cellIsMissing(s *hotSuite) {
	c, opened := s.cell(), s.cell()
	s.wantNoCell("new", c)
	open := s.openCell(opened, "a")
	equal(s, "generation", open.Generation, firstGeneration)
	s.wantNoCell("opened", opened)
	s.addTo(placed(5, 1), c, opened)
	s.wantNoCell("added to", c)
	s.wantNoCell("opened and added to", opened)
	s.do(&feed.AddToCells{Entry: placed(5, 1)})
	s.makeCell(c, 0)
	s.wantCell("what was added before it was opened", c, 0)
}

func cellEmpty(s *hotSuite) {
	c := s.cell()
	s.makeCell(c, 500)
	s.wantCell("empty", c, 500)
	s.addTo(placed(600, 2), c)
	s.wantCell("no longer empty", c, 500, placed(600, 2))
	for _, floor := range []int64{-1 << 62, -5, 0, 1 << 52} {
		c := s.cell()
		s.makeCell(c, floor)
		s.wantCell("floor at an end of time", c, floor)
	}
}

func cellPoints(s *hotSuite) {
	c := s.cell()
	values := []float64{0, math.Copysign(0, -1), 90, -90, 180, -180, 1.0 / 3, math.SmallestNonzeroFloat64, math.Nextafter(90, 0), -33.86, math.NaN(), math.Inf(-1)}
	var want []feed.CellEntry
	for i, lat := range values {
		lon := values[(i*5+3)%len(values)]
		want = append(want, feed.CellEntry{Entry: at(1000-int64(i/3), feed.ID(1<<62-i)), Point: geo.Point{Latitude: lat, Longitude: lon}})
	}
	s.makeCell(c, 0, want[:6]...)
	for _, e := range want[6:] {
		s.addTo(e, c)
	}
	for _, below := range []feed.Position{feed.Newest(), {At: 1001, ID: 1}} {
		got := s.readCell(c, below, 100).Entries
		equal(s, "entries", len(got), len(want))
		for i := range got {
			equal(s, "entry", got[i].Entry, want[i].Entry)
			equal(s, "latitude", math.Float64bits(got[i].Point.Latitude), math.Float64bits(want[i].Point.Latitude))
			equal(s, "longitude", math.Float64bits(got[i].Point.Longitude), math.Float64bits(want[i].Point.Longitude))
		}
	}
}

func cellFloor(s *hotSuite) {
	c := s.cell()
	s.makeCell(c, 100, placed(100, 2), placed(100, 1), placed(99, 3))
	s.addTo(placed(98, 4), c)
	s.wantCell("above the floor", c, 100, placed(100, 2), placed(100, 1))
	for _, below := range []feed.Position{{At: 100, ID: 1}, {At: 99, ID: 4}, {At: 50, ID: 1}} {
		got := s.readCell(c, below, 10)
		equal(s, "found", got.Found, true)
		equalSlice(s, "entries below the floor", got.Entries, nil)
	}
	equalSlice(s, "entries within the floor's millisecond", s.readCell(c, feed.Position{At: 100, ID: 2}, 10).Entries, []feed.CellEntry{placed(100, 1)})
	for limit := range 3 {
		equal(s, "limited", len(s.readCell(c, feed.Newest(), limit).Entries), limit)
		equal(s, "limited below a position", len(s.readCell(c, feed.Position{At: 101, ID: 1}, limit).Entries), limit)
	}
}

func cellAddedBetween(s *hotSuite) {
	c := s.cell()
	open := s.openCell(c, "a")
	s.addTo(placed(200, 2), c)
	s.addTo(placed(150, 3), c)
	s.must(s.other.Do(s.ctx(), &feed.AddToCells{Cells: []geo.Cell{c}, Entry: placed(300, 4), Keep: 100}))
	equal(s, "merged", s.mergeCell(open, 100, placed(100, 1), placed(150, 3)), true)
	s.wantCell("all", c, 100, placed(300, 4), placed(200, 2), placed(150, 3), placed(100, 1))
}

func cellLostBetween(s *hotSuite) {
	for _, lose := range s.losses() {
		c := s.cell()
		open := s.openCell(c, "a")
		lose(s.t)
		s.addTo(placed(200, 2), c) // it comes to nothing, and who has read the record before has not seen it
		equal(s, "merged", s.mergeCell(open, 0), false)
		s.wantNoCell("lost", c)
		again := s.openCell(c, "b")
		equal(s, "merged what was lost when another fills it", s.mergeCell(open, 0), false)
		equal(s, "merged anew", s.mergeCell(again, 0, placed(200, 2)), true)
		s.wantCell("filled anew", c, 0, placed(200, 2))
		lose(s.t)
		s.wantNoCell("lost once more", c)
	}
	if s.back.Advance != nil {
		c := s.cell()
		open := s.openCell(c, "a")
		s.back.Advance(s.t, 5*time.Minute)
		equal(s, "merged after minutes", s.mergeCell(open, 0), false)
	}
}

func cellCutBetween(s *hotSuite) {
	for _, filled := range []bool{false, true} {
		c := s.cell()
		if filled {
			s.makeCell(c, 50)
		}
		open := s.openCell(c, "a")
		for i := range int64(5) {
			s.addCut(placed(100+i, feed.ID(i+1)), 2, 2, 0, c) // the fifth cuts what the record had not when a read it
		}
		equal(s, "merged", s.mergeCell(open, 0), false)
		again := s.openCell(c, "b")
		if filled {
			s.wantCell("cut", c, 103, placed(104, 5), placed(103, 4))
		} else {
			s.wantNoCell("cut", c)
		}
		equal(s, "merged anew", s.mergeCell(again, 102, placed(102, 3), placed(103, 4)), true)
		s.wantCell("filled anew", c, 102, placed(104, 5), placed(103, 4), placed(102, 3))
	}
}

func cellTwoFillers(s *hotSuite) {
	for _, floors := range [][2]int64{{100, 200}, {200, 100}, {100, 100}} {
		c := s.cell()
		first, second := s.openCell(c, "a"), s.openCell(c, "b")
		s.addTo(placed(300, 3), c)
		equal(s, "first", s.mergeCell(first, floors[0], placed(250, 2)), true)
		s.wantCell("after the first", c, floors[0], placed(300, 3), placed(250, 2))
		equal(s, "second", s.mergeCell(second, floors[1], placed(250, 2), placed(220, 1)), true)
		s.wantCell("after both", c, min(floors[0], floors[1]), placed(300, 3), placed(250, 2), placed(220, 1))
	}
}

func cellMarkOnce(s *hotSuite) {
	c, other := s.cell(), s.cell()
	open := s.openCell(c, "a")
	equal(s, "another cell", s.mergeCell(&feed.OpenCell{Cell: other, Token: "a", Generation: firstGeneration}, 0), false)
	equal(s, "another token", s.mergeCell(&feed.OpenCell{Cell: c, Token: "b", Generation: firstGeneration}, 0), false)
	equal(s, "first", s.mergeCell(open, 100), true)
	equal(s, "second", s.mergeCell(open, 0), false)
	s.wantCell("merged once", c, 100)
	s.wantNoCell("the other", other)
}

func cellManyFillers(s *hotSuite) {
	const n = 60
	c := s.cell()
	var opened []*feed.OpenCell
	var want []feed.CellEntry
	for i := range n {
		opened = append(opened, s.openCell(c, feed.Token(fmt.Sprintf("t%d", i*7919%n))))
		want = append(want, placed(int64(1000-i), feed.ID(i+1)))
		s.addTo(want[i], c)
	}
	equal(s, "the last one", s.mergeCell(opened[n-1], 0), true)
	for limit := 1; limit < n; limit += 9 { // marks that stand take no entry's place
		equalSlice(s, "entries beside marks", s.readCell(c, feed.Newest(), limit).Entries, want[:limit])
	}
	merged := 0
	for _, open := range opened {
		if s.mergeCell(open, 0) {
			merged++
		}
	}
	if merged > 20 {
		s.t.Errorf("others that may still merge: got %d, want few", merged)
	}
	s.wantCell("in the end", c, 0, want...)
}

func cellGeneration(s *hotSuite) {
	c := s.cell()
	s.makeCell(c, 0, placed(5, 5), placed(7, 7))
	open := s.openCell(c, "a")
	s.setGeneration(firstGeneration + 1)
	s.wantNoCell("in another generation", c)
	equal(s, "merged what was opened in the old one", s.mergeCell(open, 0), true)
	s.wantNoCell("merged with the old generation", c)
	again := s.openCell(c, "b")
	equal(s, "generation", again.Generation, firstGeneration+1)
	equal(s, "merged anew", s.mergeCell(again, 6, placed(7, 7)), true)
	s.wantCell("merged anew", c, 6, placed(7, 7)) // the old floor was lower, but proves nothing
}

func cellLateFiller(s *hotSuite) {
	c := s.cell()
	late := s.openCell(c, "late")
	s.setGeneration(firstGeneration + 1)
	s.makeCell(c, 100, placed(100, 1))
	equal(s, "merged late", s.mergeCell(late, 0, placed(50, 9)), false)
	s.wantCell("after the late one", c, 100, placed(100, 1))
}

func cellCut(s *hotSuite) {
	c, other := s.cell(), s.cell()
	var want []feed.CellEntry
	for i := range 12 {
		want = append(want, placed(int64(1000-10*i), feed.ID(i+1)))
	}
	s.makeCell(c, 7, want[1:]...)
	s.makeCell(other, 7, want[10:]...)
	s.addCut(want[0], 8, 4, 0, c, other)
	s.wantCell("at its most", c, 7, want...)
	s.addCut(want[0], 8, 3, 0, c, other) // a repeat counts once
	s.wantCell("cut", c, want[8].At+1, want[:8]...)
	s.wantCell("a small one", other, 7, want[0], want[10], want[11])
	s.addCut(placed(5, 50), 8, 0, 0, c) // what is below the floor is cut first
	s.wantCell("cut below the floor", c, want[8].At+1, want[:8]...)
	s.addCut(placed(2000, 50), 0, 0, 0, c, other)
	s.wantNoCellOrFloor("cut to nothing", c, 2001)
}

// wantNoCellOrFloor wants nothing in a cell: it is gone or has nothing above its floor.
func (s *hotSuite) wantNoCellOrFloor(what string, c geo.Cell, floor int64) {
	s.t.Helper()
	if got := s.readCell(c, feed.Newest(), 10); len(got.Entries) > 0 || (got.Found && got.Floor < floor) {
		s.t.Errorf("%s: got found %v, floor %d, entries %v", what, got.Found, got.Floor, got.Entries)
	}
}

func cellCutTies(s *hotSuite) {
	c := s.cell()
	s.makeCell(c, 0, placed(200, 4), placed(200, 3), placed(200, 2), placed(200, 1))
	s.addCut(placed(300, 9), 3, 1, 0, c)
	s.wantCell("cut in the midst of a millisecond", c, 201, placed(300, 9))
	s.makeCell(c, 200, placed(200, 2), placed(200, 1))
	s.wantCell("filled again", c, 200, placed(300, 9), placed(200, 4), placed(200, 3), placed(200, 2), placed(200, 1))
}

func cellCutMarks(s *hotSuite) {
	c := s.cell()
	s.makeCell(c, 0, placed(1, 1))
	a, b := s.openCell(c, "a"), s.openCell(c, "b")
	s.addCut(placed(2, 2), 1, 1, 0, c)
	s.wantCell("two entries, two marks, a floor", c, 0, placed(2, 2), placed(1, 1))
	equal(s, "first", s.mergeCell(a, 0), true)
	equal(s, "second", s.mergeCell(b, 0), true)
}

func cellOld(s *hotSuite) {
	c := s.cell()
	s.makeCell(c, 0, placed(1990, 1), placed(1960, 2), placed(1960, 3), placed(1950, 4), placed(2600, 5))
	all := []feed.CellEntry{placed(2600, 5), placed(1990, 1), placed(1960, 3), placed(1960, 2), placed(1950, 4)}
	s.addCut(placed(2600, 5), 100, 10, 1950, c)
	s.wantCell("none is older", c, 0, all...)
	s.addCut(placed(2816, 6), 100, 10, 2000, c) // 51 is a sixteenth of the way from 2000
	all = append([]feed.CellEntry{placed(2816, 6)}, all...)
	s.wantCell("none is older by a sixteenth", c, 0, all...)
	s.addCut(placed(2817, 7), 100, 10, 2017, c) // 50 of 800, and the oldest is 67 older
	s.wantCell("the old ones went", c, 1991, placed(2817, 7), placed(2816, 6), placed(2600, 5))
	s.addCut(placed(2817, 7), 100, 10, 3000, c) // all are older than this
	s.wantNoCellOrFloor("all went", c, 2818)
}

func cellOldAlone(s *hotSuite) {
	c := s.cell()
	s.makeCell(c, 0, placed(2600, 5))
	s.addCut(placed(1999, 1), 100, 10, 2000, c)
	s.wantCell("a little older", c, 0, placed(2600, 5), placed(1999, 1))
	s.addCut(placed(10, 2), 100, 10, 2000, c)
	s.wantCell("very old", c, 2000, placed(2600, 5))
}

func cellRemove(s *hotSuite) {
	c := s.cell()
	s.makeCell(c, 0, placed(3, 3), placed(2, 2), placed(1, 1))
	s.do(&feed.RemoveFromCell{Cell: c, Entries: []feed.CellEntry{placed(2, 2), placed(2, 7)}}, &feed.RemoveFromCell{Cell: c})
	s.wantCell("one gone", c, 0, placed(3, 3), placed(1, 1))
	s.do(&feed.RemoveFromCell{Cell: c, Entries: s.readCell(c, feed.Newest(), 10).Entries})
	s.wantCell("all gone", c, 0)
	s.do(&feed.RemoveFromCell{Cell: s.cell(), Entries: []feed.CellEntry{placed(2, 2)}})
}

func cellTTL(s *hotSuite) {
	if s.back.Advance == nil {
		return
	}
	read, below, merged, added := s.cell(), s.cell(), s.cell(), s.cell()
	for _, c := range []geo.Cell{read, below, merged, added} {
		s.makeCell(c, 0, placed(1, 1))
	}
	s.back.Advance(s.t, time.Duration(feed.CellTTL-hour)*time.Millisecond)
	s.readCell(read, feed.Newest(), 1)
	s.readCell(below, feed.Position{At: 9, ID: 9}, 1)
	s.makeCell(merged, 0)
	s.addTo(placed(2, 2), added)
	s.back.Advance(s.t, 2*time.Hour)
	s.wantCell("read", read, 0, placed(1, 1))
	s.wantCell("read below a position", below, 0, placed(1, 1))
	s.wantCell("merged", merged, 0, placed(1, 1))
	s.wantNoCell("not read", added)

	// Being filled, it does not live long, even if it was read.
	c := s.cell()
	s.openCell(c, "a")
	s.wantNoCell("opened", c)
	open := s.openCell(c, "b")
	s.back.Advance(s.t, 5*time.Minute)
	equal(s, "merged after minutes", s.mergeCell(open, 0), false)
}

func cellMany(s *hotSuite) {
	const n = 150
	var cells []geo.Cell
	for i := range n {
		cells = append(cells, s.cell())
		if i%2 == 0 {
			s.makeCell(cells[i], 0)
		}
	}
	s.addTo(placed(1, 1), cells...)
	before := s.trips.Load()
	s.addTo(placed(2, 2), cells...)
	equal(s, "round trips", s.trips.Load()-before, 1)
	for i, c := range cells {
		if i%2 == 0 {
			s.wantCell("one of many", c, 0, placed(2, 2), placed(1, 1))
		} else {
			s.wantNoCell("one of many that are not there", c)
		}
	}
}

func cellLarge(s *hotSuite) {
	const n = 5000
	var want []feed.CellEntry
	for i := range n {
		want = append(want, placed(int64(n-i/3), feed.ID(1<<60-i)))
	}
	c := s.cell()
	s.makeCell(c, 0, want...)
	for _, limit := range []int{997, n} {
		var got []feed.CellEntry
		below := feed.Newest()
		for page := range n {
			p := s.readCell(c, below, limit)
			got = append(got, p.Entries...)
			if len(p.Entries) < limit || page > n/limit {
				break
			}
			below = got[len(got)-1].Position()
		}
		if !slices.Equal(got, want) {
			s.t.Errorf("in pages of %d: got %d entries, want %d, or their order is wrong", limit, len(got), n)
		}
	}
}
