package storetest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"feedgate/feed"
)

func hotPagingTests() map[string]func(s *hotSuite) {
	return map[string]func(s *hotSuite){
		"thousands of entries of one millisecond": pageOneMillisecond,
		"ids of all sizes":                        pageIDs,
		"while others push":                       pageWhilePushed,
		"random operations against a model":       listModel,
	}
}

// walk follows a list from the top to the end, page by page.
func (s *hotSuite) walk(l feed.List, limit int, between func(page int)) []feed.Entry {
	s.t.Helper()
	var all []feed.Entry
	below := feed.Newest()
	for page := 0; ; page++ {
		got := s.readBelow(l, below, limit)
		if !got.Valid(0) {
			s.t.Fatalf("page %d: got invalid (version %q, floor %+v)", page, got.Version, got.Floor)
		}
		all = append(all, got.Entries...)
		if len(got.Entries) < limit {
			return all
		}
		below = all[len(all)-1].Position()
		between(page)
	}
}

func nothing(int) {}

func pageOneMillisecond(s *hotSuite) {
	const n = 2000
	l := s.outbox()
	want := make([]feed.Entry, 0, n+2)
	want = append(want, at(1001, 1))
	for i := range n {
		want = append(want, at(1000, feed.ID(1<<53+n-i)))
	}
	want = append(want, at(999, 5))
	s.makeList(l, 999, want...)
	for _, limit := range []int{97, 1000, n} {
		equalSlice(s, fmt.Sprintf("in pages of %d", limit), s.walk(l, limit, nothing), want)
	}
}

func pageIDs(s *hotSuite) {
	l := s.outbox()
	var want []feed.Entry
	for i, ms := range []int64{1<<53 - 1, 1_760_000_000_000, 0} {
		for _, id := range []feed.ID{1<<63 - 1, 1<<62 + 7, 1<<53 + 7, 1 << 53, 1000, 996, 100, 96, 10, 6} {
			want = append(want, at(ms, id-feed.ID(i))) // an id is in a list once
		}
	}
	s.makeList(l, 0, want...)
	for limit := 1; limit <= 3; limit++ {
		equalSlice(s, fmt.Sprintf("in pages of %d", limit), s.walk(l, limit, nothing), want)
	}
}

func pageWhilePushed(s *hotSuite) {
	l := s.inbox()
	var want []feed.Entry
	for i := range 60 {
		want = append(want, at(int64(500-i/3), feed.ID(1000-i)))
	}
	s.makeList(l, 0, want...)
	got := s.walk(l, 7, func(page int) {
		s.must(s.other.Push(s.ctx(), at(600, feed.ID(2000+page)), []feed.ID{l.Owner}, 1000, 1))
		s.must(s.other.Do(s.ctx(), &feed.RemoveEntries{List: l, IDs: []feed.ID{feed.ID(2000 + page - 1)}}))
	})
	equalSlice(s, "entries that were there from the start", got, want)
}

// modelList is a list as it should be: entries, and the floor if it is valid.
type modelList struct {
	entries map[feed.ID]int64
	valid   bool
	floor   int64
}

func (m *modelList) sorted() []feed.Entry {
	var all []feed.Entry
	for id, ms := range m.entries {
		all = append(all, at(ms, id))
	}
	slices.SortFunc(all, func(a, b feed.Entry) int { return a.Position().Compare(b.Position()) })
	return all
}

// page is what reading below a position should give.
func (m *modelList) page(below feed.Position, limit int) []feed.Entry {
	var page []feed.Entry
	for _, e := range m.sorted() {
		if e.At >= m.floor && e.Position().Below(below) && len(page) < limit {
			page = append(page, e)
		}
	}
	return page
}

func (m *modelList) trim(keep, slack int) {
	all := m.sorted()
	if len(all) <= keep+slack {
		return
	}
	for _, e := range all[keep:] {
		delete(m.entries, e.ID)
	}
	m.floor = max(m.floor, all[keep].At+1)
}

// listModel does random operations on a list and on a model of it, and compares
// a random page of both after each.
func listModel(s *hotSuite) {
	rapid.Check(s.t, func(rt *rapid.T) {
		l := s.inbox()
		m := &modelList{entries: map[feed.ID]int64{}}
		entry := rapid.Custom(func(rt *rapid.T) feed.Entry {
			id := rapid.Int64Range(1, 30).Draw(rt, "id")
			return at(100+id/4, feed.ID(id)) // four ids a millisecond, the same time for an id always
		})
		var open *feed.OpenList
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) { s.compare(rt, l, m) },
			"open": func(*rapid.T) {
				open = s.openList(l)
			},
			"merge": func(rt *rapid.T) {
				if open == nil {
					rt.Skip("nothing opened")
				}
				fresh := s.openList(l)
				want := fresh.Version == open.Version && fresh.Raw == open.Raw
				entries := rapid.SliceOfN(entry, 0, 12).Draw(rt, "entries")
				floor := rapid.Int64Range(95, 110).Draw(rt, "floor")
				if got := s.mergeList(open, floor, entries...); got != want {
					rt.Fatalf("merged: got %v, want %v", got, want)
				}
				if want {
					m.valid, m.floor = true, floor
					m.add(entries)
				}
				open = nil
			},
			"push": func(rt *rapid.T) {
				e := entry.Draw(rt, "entry")
				s.must(s.hot.Push(s.ctx(), e, []feed.ID{l.Owner}, 1000, 1))
				m.add([]feed.Entry{e})
			},
			"commit": func(rt *rapid.T) {
				hold := s.hold(l, "m")
				entries := rapid.SliceOfN(entry, 0, 3).Draw(rt, "entries")
				raise := rapid.Int64Range(0, 110).Draw(rt, "raise")
				s.do(&feed.CommitList{List: l, Token: "m", Was: hold.Was, Entries: entries, Raise: raise})
				if m.valid {
					m.floor = max(m.floor, raise)
					m.add(entries)
				}
			},
			"trim": func(rt *rapid.T) {
				keep, slack := rapid.IntRange(0, 12).Draw(rt, "keep"), rapid.IntRange(0, 4).Draw(rt, "slack")
				s.do(&feed.TrimList{List: l, Keep: keep, Slack: slack})
				m.trim(keep, slack)
			},
			"remove": func(rt *rapid.T) {
				id := entry.Draw(rt, "entry").ID
				s.do(&feed.RemoveEntries{List: l, IDs: []feed.ID{id}})
				delete(m.entries, id)
			},
			"flush": func(rt *rapid.T) {
				if rapid.IntRange(0, 3).Draw(rt, "rarely") > 0 {
					rt.Skip("not this time")
				}
				s.back.Flush(s.t)
				*m = modelList{entries: map[feed.ID]int64{}}
			},
		})
	})
}

func (m *modelList) add(entries []feed.Entry) {
	for _, e := range entries {
		m.entries[e.ID] = e.At
	}
}

func (s *hotSuite) compare(rt *rapid.T, l feed.List, m *modelList) {
	below := feed.Newest()
	if rapid.Bool().Draw(rt, "within") {
		below = feed.Position{At: rapid.Int64Range(98, 112).Draw(rt, "at"), ID: feed.ID(rapid.Int64Range(1, 31).Draw(rt, "id"))}
	}
	limit := rapid.IntRange(1, 10).Draw(rt, "limit")
	got := s.readBelow(l, below, limit)
	if got.Valid(0) != m.valid {
		rt.Fatalf("valid: got %v, want %v", got.Valid(0), m.valid)
	}
	if !m.valid {
		return
	}
	if got.Floor.At != m.floor {
		rt.Fatalf("floor: got %d, want %d", got.Floor.At, m.floor)
	}
	if want := m.page(below, limit); !slices.Equal(got.Entries, want) {
		rt.Fatalf("page below %v of %d: got %v, want %v", below, limit, got.Entries, want)
	}
}
