package storetest

import (
	"time"

	"feedgate/feed"
)

func hotListTests() map[string]func(s *hotSuite) {
	return map[string]func(s *hotSuite){
		"a list begins missing":                                 listIsMissing,
		"what was merged is found":                              listIsMerged,
		"entries below the floor don't count":                   listFloor,
		"a merge after a mutation fails":                        listMergeAfterMutation,
		"a merge after the floor was raised fails":              listMergeAfterTrim,
		"a merge after a stub was trimmed fails":                listMergeAfterStubTrim,
		"of two merges the first counts":                        listTwoMerges,
		"a merge after a loss fails":                            listMergeAfterLoss,
		"a merge carries the generation of its opening":         listMergeGeneration,
		"another generation or epoch makes it invalid":          listGeneration,
		"a mutation holds it back":                              listIsHeld,
		"a mutation adds and the list stays":                    listCommit,
		"a mutation raises the floor":                           listCommitRaise,
		"a mutation on a missing list leaves it missing":        listCommitMissing,
		"of two mutations the list is invalid":                  listCommitOverlap,
		"a mutation whose hold was lost makes the list invalid": listCommitAfterLoss,
		"a mutation does not believe an old list":               listCommitOldFloor,
		"trimming raises the floor above what was cut":          listTrim,
		"trimming within one millisecond":                       listTrimTies,
		"removed entries are gone":                              listRemove,
		"a push does not disturb the floor":                     listPush,
		"a list lives on when renewed":                          listRenew,
		"floors at the ends of time":                            listFloorExtremes,
	}
}

// inbox and outbox are lists of a new owner.
func (s *hotSuite) inbox() feed.List  { return feed.List{Kind: feed.Inbox, Owner: s.ids.Next()} }
func (s *hotSuite) outbox() feed.List { return feed.List{Kind: feed.Outbox, Owner: s.ids.Next()} }

// listTTL is long enough for every test.
const listTTL = int64(time.Hour / time.Millisecond)

func (s *hotSuite) readList(l feed.List) *feed.ReadList { return s.readBelow(l, feed.Newest(), 100) }

func (s *hotSuite) readBelow(l feed.List, below feed.Position, limit int) *feed.ReadList {
	s.t.Helper()
	op := &feed.ReadList{List: l, Below: below, Limit: limit}
	s.do(op)
	return op
}

func (s *hotSuite) openList(l feed.List) *feed.OpenList {
	s.t.Helper()
	op := &feed.OpenList{List: l}
	s.do(op)
	return op
}

func (s *hotSuite) mergeList(o *feed.OpenList, floor int64, entries ...feed.Entry) bool {
	s.t.Helper()
	op := &feed.MergeList{
		List: o.List, Version: o.Version, Raw: o.Raw, Generation: o.Generation, Entries: entries,
		Floor: feed.Floor{At: floor, Version: o.Version}, TTL: listTTL,
	}
	s.do(op)
	return op.Merged
}

// makeList makes a list with a floor and entries.
func (s *hotSuite) makeList(l feed.List, floor int64, entries ...feed.Entry) {
	s.t.Helper()
	if !s.mergeList(s.openList(l), floor, entries...) {
		s.t.Fatal("a new list could not be merged")
	}
}

func (s *hotSuite) wantValid(l feed.List, floor int64, want ...feed.Entry) {
	s.t.Helper()
	got := s.readList(l)
	if !got.Valid(0) {
		s.t.Errorf("list: got version %q and floor %+v, want it valid", got.Version, got.Floor)
		return
	}
	equal(s, "floor", got.Floor.At, floor)
	equalSlice(s, "entries", got.Entries, want)
}

func (s *hotSuite) wantInvalid(what string, l feed.List) {
	s.t.Helper()
	for _, below := range []feed.Position{feed.Newest(), {At: 1 << 50, ID: 1}} {
		if got := s.readBelow(l, below, 10); got.Valid(0) {
			s.t.Errorf("%s: got valid (version %q, floor %+v), want not", what, got.Version, got.Floor)
		}
	}
}

func at(ms int64, id feed.ID) feed.Entry { return feed.Entry{At: ms, ID: id} }

func listIsMissing(s *hotSuite) {
	l := s.inbox()
	got := s.readList(l)
	if got.Floor != nil || got.Version != "" || len(got.Entries) > 0 {
		s.t.Errorf("new list: got %+v, want nothing", got)
	}
	s.must(s.hot.Push(s.ctx(), at(100, 1), []feed.ID{l.Owner}, 10, 1))
	s.wantInvalid("pushed to", l)
	open := s.openList(l)
	s.wantInvalid("opened", l)
	equal(s, "length when opened", open.Length, 1)
	if open.Version == "" {
		s.t.Error("opened: got no version, want one")
	}
}

func listIsMerged(s *hotSuite) {
	for _, l := range []feed.List{s.inbox(), s.outbox()} {
		s.must(s.hot.Push(s.ctx(), at(150, 3), []feed.ID{l.Owner}, 10, 1))
		s.makeList(l, 100, at(100, 1), at(1_760_000_000_000, 1<<62), at(200, 2))
		want := []feed.Entry{at(1_760_000_000_000, 1<<62), at(200, 2), at(100, 1)}
		if l.Kind == feed.Inbox {
			want = []feed.Entry{want[0], want[1], at(150, 3), want[2]}
		}
		s.wantValid(l, 100, want...)
		equal(s, "length", s.openList(l).Length, len(want))
		equalSlice(s, "first page", s.readBelow(l, feed.Newest(), 2).Entries, want[:2])
		equalSlice(s, "second page", s.readBelow(l, want[1].Position(), 2).Entries, want[2:])
		// Extending keeps what is there.
		equal(s, "extended", s.mergeList(s.openList(l), 50, at(50, 9), at(60, 8)), true)
		s.wantValid(l, 50, append(want, at(60, 8), at(50, 9))...)
	}
}

func listFloor(s *hotSuite) {
	l := s.outbox()
	s.makeList(l, 100, at(100, 2), at(100, 1), at(99, 3), at(98, 4))
	s.wantValid(l, 100, at(100, 2), at(100, 1))
	for _, below := range []feed.Entry{at(100, 1), at(99, 4), at(99, 1), at(50, 1)} {
		got := s.readBelow(l, below.Position(), 10)
		equal(s, "valid", got.Valid(0), true)
		equalSlice(s, "entries below the floor", got.Entries, nil)
	}
	equalSlice(s, "entries within the floor's millisecond", s.readBelow(l, at(100, 2).Position(), 10).Entries, []feed.Entry{at(100, 1)})
}

func listMergeAfterMutation(s *hotSuite) {
	l := s.outbox()
	open := s.openList(l)
	hold := &feed.HoldList{List: l, Token: "m"}
	s.do(hold)
	equal(s, "merged while held", s.mergeList(open, 0), false)
	equal(s, "version when opened while held", s.openList(l).Version, "")
	equal(s, "merged what was opened while held", s.mergeList(s.openList(l), 0), false)
	s.do(&feed.CommitList{List: l, Token: "m", Was: hold.Was})
	equal(s, "merged after the mutation", s.mergeList(open, 0), false)
	s.wantInvalid("after the mutation", l)
	equal(s, "merged anew", s.mergeList(s.openList(l), 0), true)
}

func listMergeAfterTrim(s *hotSuite) {
	l := s.outbox()
	s.makeList(l, 0, at(1, 1), at(2, 2), at(3, 3))
	open := s.openList(l)
	s.do(&feed.TrimList{List: l, Keep: 1})
	equal(s, "merged", s.mergeList(open, 0), false)
	s.wantValid(l, 3, at(3, 3))
}

func listMergeAfterStubTrim(s *hotSuite) {
	l := s.inbox()
	open := s.openList(l)
	for i := range 5 {
		s.must(s.hot.Push(s.ctx(), at(int64(i+1), feed.ID(i+1)), []feed.ID{l.Owner}, 100, 1))
	}
	s.do(&feed.TrimList{List: l, Keep: 2})
	equal(s, "merged", s.mergeList(open, 0), false)
	s.wantInvalid("trimmed stub", l)
}

func listTwoMerges(s *hotSuite) {
	l := s.outbox()
	first, second := s.openList(l), s.openList(l)
	equal(s, "first", s.mergeList(first, 5, at(5, 1)), true)
	equal(s, "second", s.mergeList(second, 1, at(1, 2)), false)
	s.wantValid(l, 5, at(5, 1))
}

func listMergeAfterLoss(s *hotSuite) {
	for _, lose := range s.losses() {
		l := s.inbox()
		open := s.openList(l)
		lose(s.t)
		// What is pushed now would be missed by whoever read the record before.
		s.must(s.hot.Push(s.ctx(), at(100, 1), []feed.ID{l.Owner}, 10, 1))
		lose(s.t)
		equal(s, "merged", s.mergeList(open, 0), false)
		s.wantInvalid("merged after a loss", l)
		again := s.openList(l)
		equal(s, "merged old opening after a new one", s.mergeList(open, 0), false)
		equal(s, "merged anew", s.mergeList(again, 0), true)
		lose(s.t)
		s.wantInvalid("lost", l)
	}
}

func listMergeGeneration(s *hotSuite) {
	l := s.inbox()
	open := s.openList(l)
	equal(s, "generation", open.Generation, firstGeneration)
	s.setGeneration(firstGeneration + 1)
	s.mergeList(open, 0)
	s.wantInvalid("merged with the old generation", l)
	equal(s, "merged anew", s.mergeList(s.openList(l), 0), true)
	s.wantValid(l, 0)
}

func listGeneration(s *hotSuite) {
	l := s.inbox()
	open := s.openList(l)
	merge := &feed.MergeList{
		List: l, Version: open.Version, Raw: open.Raw, Generation: open.Generation,
		Floor: feed.Floor{At: 1, Version: open.Version, Epoch: 77}, TTL: listTTL,
	}
	s.do(merge)
	got := s.readList(l)
	equal(s, "valid in its epoch", got.Valid(77), true)
	equal(s, "valid in another epoch", got.Valid(78), false)
	s.setGeneration(firstGeneration + 1)
	if got := s.readList(l); got.Floor != nil {
		s.t.Errorf("floor in another generation: got %+v, want none", got.Floor)
	}
}

func listIsHeld(s *hotSuite) {
	l := s.outbox()
	s.makeList(l, 0, at(1, 1))
	version := s.readList(l).Version
	hold := &feed.HoldList{List: l, Token: "m"}
	s.do(hold)
	equal(s, "version before", hold.Was, version)
	equal(s, "version while held", s.readList(l).Version, "")
	s.wantInvalid("held", l)
	if s.back.Advance == nil {
		return
	}
	s.back.Advance(s.t, holdTTL+slack)
	s.wantInvalid("after the hold ran out", l)
	equal(s, "merged anew", s.mergeList(s.openList(l), 0), true)
}

func (s *hotSuite) hold(l feed.List, token feed.Token) *feed.HoldList {
	s.t.Helper()
	op := &feed.HoldList{List: l, Token: token}
	s.do(op)
	return op
}

func listCommit(s *hotSuite) {
	l := s.outbox()
	s.makeList(l, 10, at(10, 1))
	before := s.readList(l).Version
	hold := s.hold(l, "m")
	s.do(&feed.CommitList{List: l, Token: "m", Was: hold.Was, Entries: []feed.Entry{at(20, 2), at(5, 3)}})
	s.wantValid(l, 10, at(20, 2), at(10, 1))
	if after := s.readList(l).Version; after == before {
		s.t.Errorf("version after: got %q again", after)
	}
	if s.back.Advance != nil {
		s.back.Advance(s.t, 2*time.Hour)
		s.wantInvalid("after its time", l)
	}
}

func listCommitRaise(s *hotSuite) {
	l := s.inbox()
	s.makeList(l, 10, at(10, 1), at(20, 2), at(30, 3))
	hold := s.hold(l, "m")
	s.do(&feed.CommitList{List: l, Token: "m", Was: hold.Was, Entries: []feed.Entry{at(25, 4)}, Raise: 20})
	s.wantValid(l, 20, at(30, 3), at(25, 4), at(20, 2))
	hold = s.hold(l, "m")
	s.do(&feed.CommitList{List: l, Token: "m", Was: hold.Was, Raise: 15})
	s.wantValid(l, 20, at(30, 3), at(25, 4), at(20, 2))
}

func listCommitMissing(s *hotSuite) {
	l := s.outbox()
	hold := s.hold(l, "m")
	equal(s, "version before", hold.Was, "")
	s.do(&feed.CommitList{List: l, Token: "m", Was: hold.Was, Entries: []feed.Entry{at(1, 1)}})
	s.wantInvalid("committed to nothing", l)
	equal(s, "merged", s.mergeList(s.openList(l), 0), true)
}

func listCommitOverlap(s *hotSuite) {
	l := s.outbox()
	s.makeList(l, 0)
	first := s.hold(l, "a")
	second := s.hold(l, "b")
	equal(s, "version before the second", second.Was, "")
	s.do(&feed.CommitList{List: l, Token: "a", Was: first.Was, Entries: []feed.Entry{at(1, 1)}})
	equal(s, "version while the second holds", s.readList(l).Version, "")
	s.do(&feed.CommitList{List: l, Token: "b", Was: second.Was, Entries: []feed.Entry{at(2, 2)}})
	s.wantInvalid("after both", l)

	equal(s, "merged anew", s.mergeList(s.openList(l), 0, at(1, 1), at(2, 2)), true)
	first = s.hold(l, "a")
	second = s.hold(l, "b")
	s.do(&feed.CommitList{List: l, Token: "b", Was: second.Was})
	open := s.openList(l)
	s.do(&feed.CommitList{List: l, Token: "a", Was: first.Was})
	equal(s, "merged what was opened before the first ended", s.mergeList(open, 0), false)
}

func listCommitAfterLoss(s *hotSuite) {
	for _, lose := range s.losses() {
		l := s.outbox()
		s.makeList(l, 0, at(1, 1))
		hold := s.hold(l, "m")
		lose(s.t)
		s.makeList(l, 0, at(1, 1)) // from the record as it was before the mutation
		s.do(&feed.CommitList{List: l, Token: "m", Was: hold.Was, Entries: []feed.Entry{at(2, 2)}})
		s.wantInvalid("committed after a loss", l)
	}
}

func listCommitOldFloor(s *hotSuite) {
	l := s.outbox()
	s.makeList(l, 0, at(1, 1))
	hold := s.hold(l, "m")
	s.setGeneration(firstGeneration + 1)
	s.do(&feed.CommitList{List: l, Token: "m", Was: hold.Was, Entries: []feed.Entry{at(2, 2)}})
	s.wantInvalid("committed to a list of the old generation", l)
}

func listTrim(s *hotSuite) {
	l := s.inbox()
	var entries []feed.Entry
	for i := range 30 {
		entries = append(entries, at(int64(1000-10*i), feed.ID(i+1)))
	}
	s.makeList(l, 0, entries...)
	s.do(&feed.TrimList{List: l, Keep: 20, Slack: 10})
	s.wantValid(l, 0, entries...)
	s.do(&feed.TrimList{List: l, Keep: 20, Slack: 9})
	s.wantValid(l, entries[20].At+1, entries[:20]...)
	equal(s, "length", s.openList(l).Length, 20)
	equal(s, "extended", s.mergeList(s.openList(l), 0, entries[20:]...), true)
	s.wantValid(l, 0, entries...)
}

func listTrimTies(s *hotSuite) {
	l := s.inbox()
	s.makeList(l, 0, at(300, 9), at(200, 4), at(200, 3), at(200, 2), at(200, 1))
	s.do(&feed.TrimList{List: l, Keep: 3})
	s.wantValid(l, 201, at(300, 9))
	s.do(&feed.TrimList{List: l, Keep: 0})
	s.wantValid(l, 301)
	s.do(&feed.TrimList{List: l, Keep: 0})
	s.wantValid(l, 301)
}

func listRemove(s *hotSuite) {
	l := s.outbox()
	s.makeList(l, 0, at(3, 3), at(2, 2), at(1, 1))
	s.do(&feed.RemoveEntries{List: l, IDs: []feed.ID{2, 7}}, &feed.RemoveEntries{List: l})
	s.wantValid(l, 0, at(3, 3), at(1, 1))
	s.do(&feed.RemoveEntries{List: l, IDs: []feed.ID{1, 3}})
	s.wantValid(l, 0)
}

func listPush(s *hotSuite) {
	l := s.inbox()
	s.makeList(l, 100, at(100, 1))
	for _, e := range []feed.Entry{at(150, 2), at(150, 2), at(50, 3)} {
		s.must(s.hot.Push(s.ctx(), e, []feed.ID{l.Owner}, 10, 1))
	}
	s.wantValid(l, 100, at(150, 2), at(100, 1))
}

func listRenew(s *hotSuite) {
	if s.back.Advance == nil {
		return
	}
	l, lost := s.inbox(), s.inbox()
	s.makeList(l, 0, at(1, 1))
	s.makeList(lost, 0, at(1, 1))
	s.do(&feed.RenewList{List: l, TTL: 3 * listTTL})
	s.back.Advance(s.t, 2*time.Hour)
	s.wantValid(l, 0, at(1, 1))
	s.wantInvalid("not renewed", lost)
}

func listFloorExtremes(s *hotSuite) {
	for _, floor := range []int64{-1 << 62, -5, 0, 1 << 52} {
		l := s.outbox()
		s.makeList(l, floor, at(1<<52, 1), at(1, 2))
		got := s.readList(l)
		equal(s, "floor", got.Floor.At, floor)
		hold := s.hold(l, "m")
		s.do(&feed.CommitList{List: l, Token: "m", Was: hold.Was})
		equal(s, "floor after a mutation", s.readList(l).Floor.At, max(floor, 0))
	}
}
