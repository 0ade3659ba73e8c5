package storetest

import (
	"context"
	"time"

	"feedgate/feed"
)

func hotRestTests() map[string]func(s *hotSuite) {
	return map[string]func(s *hotSuite){
		"a named lease is taken once":                leaseOnce,
		"a named lease ends by itself":               leaseEnds,
		"a beat is told and never goes back":         beatMonotonic,
		"a lost beat is told":                        beatLost,
		"all operations are one round trip":          oneRoundTrip,
		"forgotten scripts are learned again":        scriptsForgotten,
		"after its time an operation is unavailable": outOfTime,
	}
}

func (s *hotSuite) takeLease(token feed.Token, user feed.ID) bool {
	s.t.Helper()
	op := &feed.TakeLease{Name: "fill", User: user, Token: token, TTL: 5000}
	s.do(op)
	return op.Taken
}

func leaseOnce(s *hotSuite) {
	user := s.ids.Next()
	equal(s, "first", s.takeLease("a", user), true)
	equal(s, "second", s.takeLease("b", user), false)
	s.do(&feed.DropLease{Name: "fill", User: user, Token: "b"})
	equal(s, "second after dropping what it has not", s.takeLease("b", user), false)
	s.do(&feed.DropLease{Name: "fill", User: user, Token: "a"})
	equal(s, "second after the first has dropped it", s.takeLease("b", user), true)
	equal(s, "another's", s.takeLease("a", s.ids.Next()), true)
}

func leaseEnds(s *hotSuite) {
	user := s.ids.Next()
	equal(s, "first", s.takeLease("a", user), true)
	if s.back.Advance != nil {
		s.back.Advance(s.t, 6*time.Second)
	} else {
		s.back.Evict(s.t)
	}
	equal(s, "second", s.takeLease("b", user), true)
}

func (s *hotSuite) beat(h Hot, now int64) map[string]int64 {
	s.t.Helper()
	beats, err := h.Beat(s.ctx(), now, nil)
	s.must(err)
	if len(beats) == 0 {
		s.t.Fatal("beats: got none")
	}
	return beats
}

func (s *hotSuite) wantBeats(h Hot, now, want int64) {
	s.t.Helper()
	for name, was := range s.beat(h, now) {
		if was != want {
			s.t.Errorf("beat of %s before %d: got %d, want %d", name, now, was, want)
		}
	}
}

func beatMonotonic(s *hotSuite) {
	s.wantBeats(s.hot, day0, 0)
	s.wantBeats(s.other, day0+5, day0)
	s.wantBeats(s.hot, day0+2, day0+5)
	s.wantBeats(s.hot, day0+9, day0+5)
	s.back.Evict(s.t)
	s.wantBeats(s.hot, day0+9, day0+9)
}

func beatLost(s *hotSuite) {
	s.wantBeats(s.hot, day0, 0)
	s.back.Flush(s.t)
	// Who has seen more leaves the loss for others to see, and moves on once it is dealt with.
	for _, seen := range []int64{day0, day0, 0} {
		found := make(map[string]int64)
		for name := range s.beat(s.hot, 0) {
			found[name] = seen
		}
		beats, err := s.hot.Beat(s.ctx(), day0+7, found)
		s.must(err)
		for name, was := range beats {
			if was != 0 {
				s.t.Errorf("beat of %s after a loss, seen %d: got %d, want 0", name, seen, was)
			}
		}
	}
	s.wantBeats(s.hot, 0, day0+7)
	s.back.Flush(s.t)
	s.wantBeats(s.hot, day0, 0)
	s.back.Flush(s.t)
	s.wantBeats(s.other, day0+1, 0)
	s.wantBeats(s.other, day0+2, day0+1)
}

func oneRoundTrip(s *hotSuite) {
	var users []feed.ID
	for range 100 {
		users = append(users, s.ids.Next())
	}
	l := s.inbox()
	below := feed.Position{At: 5, ID: 5}
	for _, ops := range [][]feed.Op{
		{
			&feed.ReadRelations{User: l.Owner}, &feed.ReadMarks{Authors: users}, &feed.TouchActive{Reader: l.Owner, Day: 20_000},
			&feed.ReadList{List: l, Below: feed.Newest(), Limit: 20}, &feed.ReadList{List: l, Below: below, Limit: 20},
			&feed.GetDetails[feed.User]{IDs: users}, &feed.GetDetails[feed.Post]{IDs: users, Lease: "a"},
		},
		{&feed.HoldDetails[feed.Post]{IDs: users, Token: "a"}, &feed.HoldRelations{Users: users, Token: "a"}},
		{&feed.FillMarks{Authors: users, Now: day0, Generation: firstGeneration}},
		{&feed.MarkInFlight{Author: 1, Now: day0}},
		{
			&feed.ReadCell{Cell: "u", Below: feed.Newest(), Limit: 20}, &feed.ReadCell{Cell: "v", Below: below, Limit: 20},
			&feed.ReadBoard{Board: feed.Board{Kind: feed.BoardFresh}, Limit: 20}, &feed.ReadLearning{},
			&feed.ReadLearned{User: l.Owner, Epoch: 1}, &feed.MarkUnlearned{Users: users, Now: day0}, &feed.ReadSession{Token: "a"},
			&feed.GetDetails[feed.Views]{IDs: users}, &feed.GetDetails[feed.Tastes]{IDs: users},
		},
	} {
		before := s.trips.Load()
		s.do(ops...)
		equal(s, "round trips of "+kinds(ops), s.trips.Load()-before, 1)
	}
	before := s.trips.Load()
	s.do()
	equal(s, "round trips of nothing", s.trips.Load()-before, 0)
}

func scriptsForgotten(s *hotSuite) {
	l := s.outbox()
	users := []feed.ID{s.ids.Next(), s.ids.Next(), s.ids.Next()}
	s.back.ForgetScripts(s.t)
	hold := &feed.HoldList{List: l, Token: "a"}
	open := &feed.OpenList{List: s.outbox()}
	marks, read := &feed.ReadMarks{Authors: users}, &feed.ReadRelations{User: users[0]}
	s.do(read)
	before := s.trips.Load()
	release := &feed.ReleaseRelations{Users: users, Token: "a"}
	s.do(hold, release, &feed.HoldDetails[feed.Post]{IDs: users, Token: "a"}, open, marks, read)
	equal(s, "round trips", s.trips.Load()-before, 2)
	if open.Raw == "" {
		s.t.Error("opened: got no floor")
	}
	version := read.Version
	s.do(read)
	equal(s, "version that was read behind the script", version, read.Version)
	s.do(&feed.CommitList{List: l, Token: "a", Was: hold.Was})
	before = s.trips.Load()
	s.do(&feed.OpenList{List: open.List})
	equal(s, "round trips when learned", s.trips.Load()-before, 1)
	s.back.ForgetScripts(s.t)
	s.do(&feed.OpenList{List: open.List}) // alone, not in a pipeline
}

func outOfTime(s *hotSuite) {
	ctx, cancel := context.WithTimeout(s.ctx(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if err := s.hot.Do(ctx, &feed.ReadMarks{Authors: []feed.ID{1}}); feed.CodeOf(err) != feed.CodeUnavailable {
		s.t.Errorf("out of time: got %v, want UNAVAILABLE", err)
	}
	s.do(&feed.ReadMarks{Authors: []feed.ID{1}})
}
