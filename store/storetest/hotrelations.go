package storetest

import (
	"math"
	"reflect"

	"feedgate/feed"
)

func hotRelationTests() map[string]func(s *hotSuite) {
	return map[string]func(s *hotSuite){
		"what was filled in is found":                       relationsAreFound,
		"an empty set is not a missing one":                 relationsMayBeEmpty,
		"a mutation holds them back":                        relationsAreHeld,
		"a fill from before a mutation is not stored":       relationsFillAfterMutation,
		"of two mutations the last one ends the hold":       relationsOverlap,
		"a mutation that ends after another drops the fill": relationsOverlapAndFill,
		"a fill between a lost hold and its end is dropped": relationsHoldLost,
		"a fill after a loss is not stored":                 relationsFillAfterLoss,
		"another generation makes them missing":             relationsGeneration,
		"a fill carries the generation of its reading":      relationsFillOldGeneration,
		"a hold ends by itself":                             relationsHoldEnds,
	}
}

func sampleRelations() feed.Relations {
	return feed.Relations{
		Following: feed.IDSet{1, 2, 1 << 53, math.MaxInt64 - 1, math.MaxInt64},
		Blocks:    feed.IDSet{7},
		BlockedBy: feed.IDSet{8, 9},
		Mutes:     feed.IDSet{10},
	}
}

func (s *hotSuite) readRelations(user feed.ID) *feed.ReadRelations {
	s.t.Helper()
	op := &feed.ReadRelations{User: user}
	s.do(op)
	return op
}

func (s *hotSuite) fillRelations(read *feed.ReadRelations, rel feed.Relations) {
	s.t.Helper()
	s.do(&feed.FillRelations{User: read.User, Version: read.Version, Generation: read.Generation, Relations: rel})
}

func relationsAreFound(s *hotSuite) {
	user := s.ids.Next()
	read := s.readRelations(user)
	equal(s, "found at first", read.Found, false)
	if read.Version == "" {
		s.t.Fatal("no version at first, want one")
	}
	equal(s, "generation", read.Generation, firstGeneration)
	again := s.readRelations(user)
	equal(s, "version of a second reading", again.Version, read.Version)
	s.fillRelations(read, sampleRelations())
	got := s.readRelations(user)
	equal(s, "found", got.Found, true)
	equal(s, "version", got.Version, read.Version)
	if want := sampleRelations(); !reflect.DeepEqual(got.Relations, want) {
		s.t.Errorf("relations: got %v, want %v", got.Relations, want)
	}
	equal(s, "found for another", s.readRelations(s.ids.Next()).Found, false)
}

func relationsMayBeEmpty(s *hotSuite) {
	user := s.ids.Next()
	s.fillRelations(s.readRelations(user), feed.Relations{})
	got := s.readRelations(user)
	equal(s, "found", got.Found, true)
	equal(s, "followees", len(got.Relations.Following), 0)
}

func relationsAreHeld(s *hotSuite) {
	user, friend := s.ids.Next(), s.ids.Next()
	before := s.readRelations(user)
	s.fillRelations(before, sampleRelations())
	s.do(&feed.HoldRelations{Users: []feed.ID{user, friend}, Token: "a"})
	for _, id := range []feed.ID{user, friend} {
		held := s.readRelations(id)
		equal(s, "version while held", held.Version, "")
		equal(s, "found while held", held.Found, false)
		s.fillRelations(held, sampleRelations()) // must do nothing
	}
	s.do(&feed.ReleaseRelations{Users: []feed.ID{user, friend}, Token: "a"})
	after := s.readRelations(user)
	equal(s, "found after", after.Found, false)
	if after.Version == "" || after.Version == before.Version {
		s.t.Errorf("version after: got %q, want another than %q", after.Version, before.Version)
	}
}

func relationsFillAfterMutation(s *hotSuite) {
	user := s.ids.Next()
	before := s.readRelations(user)
	s.do(&feed.HoldRelations{Users: []feed.ID{user}, Token: "a"})
	s.fillRelations(before, sampleRelations())
	equal(s, "found while held", s.readRelations(user).Found, false)
	s.do(&feed.ReleaseRelations{Users: []feed.ID{user}, Token: "a"})
	s.fillRelations(before, sampleRelations())
	equal(s, "found after", s.readRelations(user).Found, false)
}

func relationsOverlap(s *hotSuite) {
	user := []feed.ID{s.ids.Next()}
	s.do(&feed.HoldRelations{Users: user, Token: "a"})
	s.do(&feed.HoldRelations{Users: user, Token: "b"})
	s.do(&feed.ReleaseRelations{Users: user, Token: "a"})
	equal(s, "version after the first", s.readRelations(user[0]).Version, "")
	s.do(&feed.ReleaseRelations{Users: user, Token: "b"})
	if s.readRelations(user[0]).Version == "" {
		s.t.Error("version after the second: got none")
	}
}

func relationsOverlapAndFill(s *hotSuite) {
	user := []feed.ID{s.ids.Next()}
	s.do(&feed.HoldRelations{Users: user, Token: "a"})
	s.do(&feed.HoldRelations{Users: user, Token: "b"})
	s.do(&feed.ReleaseRelations{Users: user, Token: "b"})
	// This one may have read the record before a wrote it.
	s.fillRelations(s.readRelations(user[0]), sampleRelations())
	s.do(&feed.ReleaseRelations{Users: user, Token: "a"})
	equal(s, "found", s.readRelations(user[0]).Found, false)
}

func relationsHoldLost(s *hotSuite) {
	user := []feed.ID{s.ids.Next()}
	for _, lose := range s.losses() {
		s.do(&feed.HoldRelations{Users: user, Token: "a"})
		lose(s.t)
		s.fillRelations(s.readRelations(user[0]), sampleRelations())
		s.do(&feed.ReleaseRelations{Users: user, Token: "a"})
		equal(s, "found", s.readRelations(user[0]).Found, false)
	}
}

func relationsFillAfterLoss(s *hotSuite) {
	user := s.ids.Next()
	for _, lose := range s.losses() {
		read := s.readRelations(user)
		lose(s.t)
		s.fillRelations(read, sampleRelations())
		equal(s, "found", s.readRelations(user).Found, false)
		s.fillRelations(read, sampleRelations())
		equal(s, "found with a new version", s.readRelations(user).Found, false)
	}
}

func relationsGeneration(s *hotSuite) {
	user := s.ids.Next()
	s.fillRelations(s.readRelations(user), sampleRelations())
	s.setGeneration(firstGeneration + 1)
	read := s.readRelations(user)
	equal(s, "found", read.Found, false)
	s.fillRelations(read, sampleRelations())
	equal(s, "found when filled again", s.readRelations(user).Found, true)
}

func relationsFillOldGeneration(s *hotSuite) {
	user := s.ids.Next()
	read := s.readRelations(user)
	s.setGeneration(firstGeneration + 1)
	s.fillRelations(read, sampleRelations())
	equal(s, "found", s.readRelations(user).Found, false)
}

func relationsHoldEnds(s *hotSuite) {
	if s.back.Advance == nil {
		return
	}
	user := s.ids.Next()
	before := s.readRelations(user)
	s.fillRelations(before, sampleRelations())
	s.do(&feed.HoldRelations{Users: []feed.ID{user}, Token: "a"})
	s.back.Advance(s.t, holdTTL+slack)
	after := s.readRelations(user)
	equal(s, "found", after.Found, false)
	if after.Version == "" || after.Version == before.Version {
		s.t.Errorf("version: got %q, want another than %q", after.Version, before.Version)
	}
}
