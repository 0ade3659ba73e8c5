package storetest

import (
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"feedgate/feed"
	"feedgate/feed/geo"
)

// modelCell is a cell as it should be.
type modelCell struct {
	exists  bool
	found   bool // there is a floor of the generation in force
	floor   int64
	entries map[feed.ID]feed.CellEntry
	marks   map[feed.Token]bool
}

func newModelCell() *modelCell {
	return &modelCell{entries: map[feed.ID]feed.CellEntry{}, marks: map[feed.Token]bool{}}
}

// sorted gives the entries, newest first.
func (m *modelCell) sorted() []feed.CellEntry {
	var all []feed.CellEntry
	for _, e := range m.entries {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b feed.CellEntry) int { return a.Position().Compare(b.Position()) })
	return all
}

func (m *modelCell) page(below feed.Position, limit int) []feed.CellEntry {
	var page []feed.CellEntry
	for _, e := range m.sorted() {
		if e.At >= m.floor && e.Position().Below(below) && len(page) < limit {
			page = append(page, e)
		}
	}
	return page
}

func (m *modelCell) addCut(e feed.CellEntry, keep, slack int, oldest int64) {
	if !m.exists {
		return
	}
	m.entries[e.ID] = e
	all := m.sorted()
	stay := len(all)
	if stay > keep+slack {
		stay = keep
	}
	if low := all[len(all)-1].At; low < oldest && (oldest-low)*16 >= all[0].At-oldest {
		young := slices.IndexFunc(all, func(e feed.CellEntry) bool { return e.At < oldest })
		stay = min(stay, young)
	}
	if stay == len(all) {
		return
	}
	m.floor = max(m.floor, all[stay].At+1)
	clear(m.marks)
	for _, e := range all[stay:] {
		delete(m.entries, e.ID)
	}
	m.exists = m.found || stay > 0
}

func (m *modelCell) merge(token feed.Token, floor int64, entries []feed.CellEntry) bool {
	if !m.marks[token] {
		return false
	}
	delete(m.marks, token)
	if !m.found || floor < m.floor {
		m.floor = floor
	}
	m.found = true
	for _, e := range entries {
		m.entries[e.ID] = e
	}
	return true
}

// cellModel does random operations on a cell and on a model of it, and compares
// a random page of both after each.
func cellModel(s *hotSuite) {
	rapid.Check(s.t, func(rt *rapid.T) {
		c, m := s.cell(), newModelCell()
		entry := rapid.Custom(func(rt *rapid.T) feed.CellEntry {
			id := rapid.Int64Range(1, 40).Draw(rt, "id")
			return placed(100+id/4, feed.ID(id)) // four ids a millisecond, the same time for an id always
		})
		token := rapid.Custom(func(rt *rapid.T) feed.Token {
			return feed.Token(strconv.Itoa(rapid.IntRange(1, 3).Draw(rt, "token")))
		})
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) { s.compareCell(rt, c, m) },
			"open": func(rt *rapid.T) {
				by := token.Draw(rt, "by")
				s.openCell(c, by)
				m.exists, m.marks[by] = true, true
			},
			"merge": func(rt *rapid.T) {
				by := token.Draw(rt, "by")
				floor := rapid.Int64Range(95, 112).Draw(rt, "floor")
				entries := rapid.SliceOfN(entry, 0, 12).Draw(rt, "entries")
				open := &feed.OpenCell{Cell: c, Token: by, Generation: firstGeneration}
				if got, want := s.mergeCell(open, floor, entries...), m.merge(by, floor, entries); got != want {
					rt.Fatalf("merged: got %v, want %v", got, want)
				}
			},
			"add": func(rt *rapid.T) {
				e := entry.Draw(rt, "entry")
				s.addTo(e, c)
				m.addCut(e, 1000, 100, 0)
			},
			"add and cut": func(rt *rapid.T) {
				e := entry.Draw(rt, "entry")
				keep, slack := rapid.IntRange(0, 15).Draw(rt, "keep"), rapid.IntRange(0, 4).Draw(rt, "slack")
				oldest := rapid.Int64Range(80, 106).Draw(rt, "oldest")
				s.addCut(e, keep, slack, oldest, c)
				m.addCut(e, keep, slack, oldest)
			},
			"remove": func(rt *rapid.T) {
				e := entry.Draw(rt, "entry")
				s.do(&feed.RemoveFromCell{Cell: c, Entries: []feed.CellEntry{e}})
				delete(m.entries, e.ID)
				m.exists = m.found || len(m.marks) > 0 || len(m.entries) > 0
			},
			"flush": func(rt *rapid.T) {
				if rapid.IntRange(0, 5).Draw(rt, "rarely") > 0 {
					rt.Skip("not this time")
				}
				s.back.Flush(s.t)
				*m = *newModelCell()
			},
		})
	})
}

func (s *hotSuite) compareCell(rt *rapid.T, c geo.Cell, m *modelCell) {
	below := feed.Newest()
	if rapid.Bool().Draw(rt, "within") {
		below = feed.Position{At: rapid.Int64Range(98, 112).Draw(rt, "at"), ID: feed.ID(rapid.Int64Range(1, 41).Draw(rt, "id"))}
	}
	limit := rapid.IntRange(1, 12).Draw(rt, "limit")
	got := s.readCell(c, below, limit)
	if got.Found != m.found {
		rt.Fatalf("found: got %v, want %v", got.Found, m.found)
	}
	if !m.found {
		return
	}
	if got.Floor != m.floor {
		rt.Fatalf("floor: got %d, want %d", got.Floor, m.floor)
	}
	if want := m.page(below, limit); !slices.Equal(got.Entries, want) {
		rt.Fatalf("page below %v of %d: got %v, want %v", below, limit, got.Entries, want)
	}
}
