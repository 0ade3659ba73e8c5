package storetest

import (
	"slices"

	"feedgate/feed"
)

func likeTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"a like is counted once":            testLike,
		"one of many equal likes counts":    testLikeRace,
		"likes of many at once are counted": testLikesAtOnce,
		"likes among some posts are found":  testLikedAmong,
	}
}

func testLike(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	post, other := s.post(t, a, now), s.post(t, a, now+1)
	for _, user := range []feed.ID{a, b} {
		wantBool(t, true)(s.rec.Like(t.Context(), feed.Like{User: user, Post: post, At: now, Weight: 1}))
		wantBool(t, false)(s.rec.Like(t.Context(), feed.Like{User: user, Post: post, At: now + 1, Weight: 5}))
	}
	s.wantStats(t, post, 2, 0, 0)
	wantBool(t, false)(s.rec.Unlike(t.Context(), a, other))
	wantBool(t, true)(s.rec.Unlike(t.Context(), a, post))
	wantBool(t, false)(s.rec.Unlike(t.Context(), a, post))
	s.wantStats(t, post, 1, 0, 0)
	s.wantStats(t, other, 0, 0, 0)
}

func testLikeRace(s *suite) {
	t := s.t
	a := s.user(t)
	post := s.post(t, a, now)
	const tries = 6
	won, errs := make([]bool, tries), make([]error, tries)
	atOnce(tries, func(i int) {
		won[i], errs[i] = s.rec.Like(t.Context(), feed.Like{User: a, Post: post, At: now, Weight: 1})
	})
	wantOneWinner(t, won, errs)
	s.wantStats(t, post, 1, 0, 0)
	atOnce(tries, func(i int) { won[i], errs[i] = s.rec.Unlike(t.Context(), a, post) })
	wantOneWinner(t, won, errs)
	s.wantStats(t, post, 0, 0, 0)
}

func testLikesAtOnce(s *suite) {
	t := s.t
	fans := s.users(t, 10)
	post := s.post(t, fans[0], now)
	errs := make([]error, len(fans))
	atOnce(len(fans), func(i int) {
		_, errs[i] = s.rec.Like(t.Context(), feed.Like{User: fans[i], Post: post, At: now, Weight: 1})
	})
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		t.Fatal(errs[i])
	}
	s.wantStats(t, post, int64(len(fans)), 0, 0)
}

func testLikedAmong(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	one, two, three := s.post(t, a, now), s.post(t, a, now+1), s.post(t, a, now+2)
	for _, l := range []feed.Like{{User: a, Post: one, Weight: 1}, {User: a, Post: three, Weight: 1}, {User: b, Post: two, Weight: 1}} {
		wantBool(t, true)(s.rec.Like(t.Context(), l))
	}
	var got []feed.ID
	var err error
	asked := []feed.ID{three, two, one, three, s.seq.Next()}
	if n := s.cost(func() { got, err = s.rec.LikedAmong(t.Context(), a, asked) }); n != 1 {
		t.Errorf("it took %d commands, want 1", n)
	}
	wantSet(t, one, three)(got, err)
	wantSet(t)(s.rec.LikedAmong(t.Context(), a, nil))
}
