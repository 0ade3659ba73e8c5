package storetest

import (
	"math"
	"slices"
	"testing"

	"feedgate/feed"
)

func counterTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"a recount leaves right counters alone":    testRecountRight,
		"a recount puts imported counters right":   testRecountImported,
		"nothing is recounted before its time":     testRecountEarly,
		"random mutations leave what a model says": testMutationModel,
		"a limit bounds a recount":                 testRecountLimit,
	}
}

// recount recounts everything, with a bound on the number of rounds.
func (s *suite) recount(t *testing.T) {
	t.Helper()
	wantNoError(t, s.rec.RecountAll(t.Context(), nil))
}

func testRecountRight(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	post := s.post(t, a, now)
	s.repost(t, b, now, post, a)
	s.follow(t, b, a, now)
	wantBool(t, true)(s.rec.Like(t.Context(), feed.Like{User: b, Post: post, At: now, Weight: 1}))
	c := s.comment(t, post, b, now)
	changed, err := s.rec.Recount(t.Context(), math.MaxInt64, 1_000)
	if err != nil || len(changed) != 0 {
		t.Errorf("changed %v, %v, want nothing", changed, err)
	}
	s.wantCounts(t, a, feed.UserCounts{Followers: 1, Posts: 1})
	s.wantCounts(t, b, feed.UserCounts{Followees: 1, Posts: 1})
	s.wantStats(t, post, 1, 1, 1)
	s.wantFirst(t, post, 1, c)
}

func testRecountImported(s *suite) {
	t := s.t
	u := s.users(t, 3)
	posts := s.imported(t, u[0], now, now+1)
	added := []feed.OutcomeState{feed.Added}
	wantOutcomes(t, added)(s.rec.ImportFollows(t.Context(), []feed.Follow{{Follower: u[1], Followee: u[0], At: now}}))
	wantOutcomes(t, added)(s.rec.ImportLikes(t.Context(), []feed.Like{{User: u[2], Post: posts[1].ID, At: now, Weight: 4}}))
	changed, err := s.rec.Recount(t.Context(), math.MaxInt64, 1_000)
	want := []feed.NodeID{
		{Kind: feed.NodePost, ID: posts[1].ID}, {Kind: feed.NodeUser, ID: u[0]}, {Kind: feed.NodeUser, ID: u[1]},
	}
	slices.SortFunc(changed, func(a, b feed.NodeID) int {
		if a.Kind != b.Kind {
			return len(a.Kind) - len(b.Kind) + int(a.Kind[0]) - int(b.Kind[0])
		}
		return int(a.ID - b.ID)
	})
	if err != nil || !slices.Equal(changed, want) {
		t.Errorf("changed %v, %v, want %v", changed, err, want)
	}
	s.wantCounts(t, u[0], feed.UserCounts{Followers: 1, Posts: 2})
	s.wantCounts(t, u[1], feed.UserCounts{Followees: 1})
	s.wantCounts(t, u[2], feed.UserCounts{})
	s.wantStats(t, posts[1].ID, 1, 0, 0)
	changed, err = s.rec.Recount(t.Context(), math.MaxInt64, 1_000)
	if err != nil || len(changed) != 0 {
		t.Errorf("again: changed %v, %v, want nothing", changed, err)
	}
}

func testRecountEarly(s *suite) {
	t := s.t
	author := s.users(t, 1)[0]
	s.imported(t, author, now)
	for _, before := range []int64{0, -now, math.MinInt64} {
		changed, err := s.rec.Recount(t.Context(), before, 1_000)
		if err != nil || len(changed) != 0 {
			t.Errorf("before %d: changed %v, %v, want nothing", before, changed, err)
		}
	}
	s.wantCounts(t, author, feed.UserCounts{})
}

func testRecountLimit(s *suite) {
	t := s.t
	authors := s.users(t, 5)
	for i, author := range authors {
		s.imported(t, author, now+int64(i))
	}
	var all []feed.ID
	for range authors {
		changed, err := s.rec.Recount(t.Context(), math.MaxInt64, 2)
		if err != nil || len(changed) > 2 {
			t.Fatalf("changed %v, %v, want at most 2", changed, err)
		}
		for _, n := range changed {
			all = append(all, n.ID)
		}
	}
	wantSet(t, authors...)(all, nil)
	changed, err := s.rec.Recount(t.Context(), math.MaxInt64, 0)
	if err != nil || len(changed) != 0 {
		t.Errorf("limit 0: changed %v, %v, want nothing", changed, err)
	}
}
