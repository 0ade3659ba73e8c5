package storetest

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
)

func relationTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"following is counted once for both":             testFollow,
		"one of many equal follows counts":               testFollowRace,
		"bars are added and removed once":                testBars,
		"all relations come in two commands":             testRelationsOf,
		"followers come in id order":                     testFollowers,
		"followees come newest first":                    testFollowees,
		"followers among some are found":                 testFollowersAmong,
		"random follows and bars are what a model says":  testRelationModel,
		"counters are right after many changes at once":  testFollowCounters,
		"an edge without users is kept and harms nobody": testFollowNobody,
	}
}

func (s *suite) follow(t *testing.T, follower, followee feed.ID, at int64) {
	t.Helper()
	wantBool(t, true)(s.rec.Follow(t.Context(), feed.Follow{Follower: follower, Followee: followee, At: at}))
}

func testFollow(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	s.follow(t, a, b, now)
	wantBool(t, false)(s.rec.Follow(t.Context(), feed.Follow{Follower: a, Followee: b, At: now + 9}))
	s.wantCounts(t, a, feed.UserCounts{Followees: 1})
	s.wantCounts(t, b, feed.UserCounts{Followers: 1})
	follows, err := s.rec.Followees(t.Context(), a, feed.Newest(), 5)
	if want := []feed.Follow{{Follower: a, Followee: b, At: now}}; err != nil || !slices.Equal(follows, want) {
		t.Errorf("got %v, %v, want %v", follows, err, want)
	}

	wantBool(t, false)(s.rec.Unfollow(t.Context(), b, a))
	wantBool(t, true)(s.rec.Unfollow(t.Context(), a, b))
	wantBool(t, false)(s.rec.Unfollow(t.Context(), a, b))
	s.wantCounts(t, a, feed.UserCounts{})
	s.wantCounts(t, b, feed.UserCounts{})

	s.follow(t, a, b, now+20)
	s.wantCounts(t, b, feed.UserCounts{Followers: 1})
}

func testFollowRace(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	const tries = 6
	won, errs := make([]bool, tries), make([]error, tries)
	atOnce(tries, func(i int) {
		won[i], errs[i] = s.rec.Follow(t.Context(), feed.Follow{Follower: a, Followee: b, At: now})
	})
	wantOneWinner(t, won, errs)
	s.wantCounts(t, b, feed.UserCounts{Followers: 1})
	atOnce(tries, func(i int) { won[i], errs[i] = s.rec.Unfollow(t.Context(), a, b) })
	wantOneWinner(t, won, errs)
	s.wantCounts(t, b, feed.UserCounts{})
}

func testBars(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	for _, kind := range []feed.BarKind{feed.Block, feed.Mute} {
		bar := feed.Bar{Kind: kind, By: a, Of: b, At: now}
		wantBool(t, true)(s.rec.AddBar(t.Context(), bar))
		wantBool(t, false)(s.rec.AddBar(t.Context(), bar))
	}
	wantBool(t, true)(s.rec.RemoveBar(t.Context(), feed.Mute, a, b))
	wantBool(t, false)(s.rec.RemoveBar(t.Context(), feed.Mute, a, b))
	wantBool(t, false)(s.rec.RemoveBar(t.Context(), feed.Block, b, a))
	wantRelations(t, feed.Relations{Blocks: feed.IDSet{b}})(s.rec.RelationsOf(t.Context(), a))
	wantBool(t, true)(s.rec.RemoveBar(t.Context(), feed.Block, a, b))
	wantRelations(t, feed.Relations{})(s.rec.RelationsOf(t.Context(), a))
}

// wantRelations compares relations; nil and empty sets are equal.
func wantRelations(t *testing.T, want feed.Relations) func(feed.Relations, error) {
	t.Helper()
	return func(got feed.Relations, err error) {
		t.Helper()
		if err != nil || !sameRelations(got, want) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	}
}

func sameRelations(a, b feed.Relations) bool {
	return slices.Equal(a.Following, b.Following) && slices.Equal(a.Blocks, b.Blocks) &&
		slices.Equal(a.BlockedBy, b.BlockedBy) && slices.Equal(a.Mutes, b.Mutes)
}

func testRelationsOf(s *suite) {
	t := s.t
	u := s.users(t, 6)
	s.follow(t, u[0], u[2], now)
	s.follow(t, u[0], u[1], now+1)
	s.follow(t, u[3], u[0], now)
	for _, bar := range []feed.Bar{
		{Kind: feed.Block, By: u[0], Of: u[4]},
		{Kind: feed.Block, By: u[0], Of: u[1]}, // suspends the follow, which stays
		{Kind: feed.Block, By: u[5], Of: u[0]},
		{Kind: feed.Block, By: u[3], Of: u[0]},
		{Kind: feed.Mute, By: u[0], Of: u[2]},
		{Kind: feed.Mute, By: u[0], Of: u[4]},
		{Kind: feed.Mute, By: u[1], Of: u[0]}, // nobody is told that they are muted
		{Kind: feed.Block, By: u[1], Of: u[2]},
	} {
		wantBool(t, true)(s.rec.AddBar(t.Context(), bar))
	}
	var got feed.Relations
	var err error
	if n := s.cost(func() { got, err = s.rec.RelationsOf(t.Context(), u[0]) }); n > 2 {
		t.Errorf("it took %d commands, want at most 2", n)
	}
	wantRelations(t, feed.Relations{
		Following: feed.IDSet{u[1], u[2]},
		Blocks:    feed.IDSet{u[1], u[4]},
		BlockedBy: feed.IDSet{u[3], u[5]},
		Mutes:     feed.IDSet{u[2], u[4]},
	})(got, err)
	wantRelations(t, feed.Relations{})(s.rec.RelationsOf(t.Context(), s.seq.Next()))
}

func testFollowers(s *suite) {
	t := s.t
	u := s.users(t, 7)
	for _, i := range []int{3, 1, 6, 2, 5} {
		s.follow(t, u[i], u[0], now-int64(i))
	}
	s.follow(t, u[4], u[1], now)
	wantIDs(t, u[1], u[2])(s.rec.Followers(t.Context(), u[0], 0, 2))
	wantIDs(t, u[3], u[5])(s.rec.Followers(t.Context(), u[0], u[2], 2))
	wantIDs(t, u[5], u[6])(s.rec.Followers(t.Context(), u[0], u[4], 100))
	wantIDs(t)(s.rec.Followers(t.Context(), u[0], u[6], 2))
	wantIDs(t)(s.rec.Followers(t.Context(), u[2], 0, 2))
	wantIDs(t)(s.rec.Followers(t.Context(), u[0], 0, 0))
}

func testFollowees(s *suite) {
	t := s.t
	u := s.users(t, 8)
	var want []feed.Follow
	for i, at := range []int64{now, now + 3, now, now, now + 1, now + 3, now} {
		s.follow(t, u[0], u[i+1], at)
		want = append(want, feed.Follow{Follower: u[0], Followee: u[i+1], At: at})
	}
	s.follow(t, u[1], u[0], now+2)
	position := func(f feed.Follow) feed.Position { return feed.Position{At: f.At, ID: f.Followee} }
	slices.SortFunc(want, func(a, b feed.Follow) int { return position(a).Compare(position(b)) })
	for _, size := range []int{1, 2, 3, 7, 8} {
		var got []feed.Follow
		for below := feed.Newest(); ; {
			page, err := s.rec.Followees(t.Context(), u[0], below, size)
			if err != nil || len(page) > size {
				t.Fatalf("got a page of %d, %v, want at most %d", len(page), err, size)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			below = position(page[len(page)-1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d:\n got %v\nwant %v", size, got, want)
		}
	}
	if got, err := s.rec.Followees(t.Context(), u[0], feed.Newest(), 0); err != nil || len(got) != 0 {
		t.Errorf("limit 0: got %v, %v, want none", got, err)
	}
}

func testFollowersAmong(s *suite) {
	t := s.t
	u := s.users(t, 5)
	s.follow(t, u[1], u[0], now)
	s.follow(t, u[2], u[0], now)
	s.follow(t, u[3], u[1], now)
	s.follow(t, u[0], u[4], now)
	wantSet(t, u[1], u[2])(s.rec.FollowersAmong(t.Context(), u[0], []feed.ID{u[4], u[2], u[3], u[1], u[2], s.seq.Next()}))
	wantSet(t)(s.rec.FollowersAmong(t.Context(), u[0], nil))
}

func testRelationModel(s *suite) {
	t := s.t
	type bar struct {
		kind   feed.BarKind
		by, of feed.ID
	}
	sparingly(t, func(rt *rapid.T) {
		// New ids for each round keep the rounds apart in one record.
		people := []feed.ID{s.seq.Next(), s.seq.Next(), s.seq.Next()}
		follows, bars := map[[2]feed.ID]bool{}, map[bar]bool{}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			by := rapid.SampledFrom(people).Draw(rt, "by")
			of := rapid.SampledFrom(people).Draw(rt, "of")
			kind := rapid.SampledFrom([]feed.BarKind{feed.Block, feed.Mute}).Draw(rt, "kind")
			pair, b := [2]feed.ID{by, of}, bar{kind, by, of}
			var got, want bool
			var err error
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0:
				got, err = s.rec.Follow(t.Context(), feed.Follow{Follower: by, Followee: of, At: now})
				want, follows[pair] = !follows[pair], true
			case 1:
				got, err = s.rec.Unfollow(t.Context(), by, of)
				want, follows[pair] = follows[pair], false
			case 2:
				got, err = s.rec.AddBar(t.Context(), feed.Bar{Kind: kind, By: by, Of: of, At: now})
				want, bars[b] = !bars[b], true
			default:
				got, err = s.rec.RemoveBar(t.Context(), kind, by, of)
				want, bars[b] = bars[b], false
			}
			if err != nil || got != want {
				rt.Fatalf("got %v, %v, want %v", got, err, want)
			}
		}
		for _, person := range people {
			var want feed.Relations
			for _, other := range people {
				add := func(set *feed.IDSet, is bool) {
					if is {
						*set = append(*set, other)
					}
				}
				add(&want.Following, follows[[2]feed.ID{person, other}])
				add(&want.Blocks, bars[bar{feed.Block, person, other}])
				add(&want.BlockedBy, bars[bar{feed.Block, other, person}])
				add(&want.Mutes, bars[bar{feed.Mute, person, other}])
			}
			got, err := s.rec.RelationsOf(t.Context(), person)
			if err != nil || !sameRelations(got, want) {
				rt.Fatalf("relations of %d: got %v, %v, want %v", person, got, err, want)
			}
		}
	})
}

func testFollowCounters(s *suite) {
	t := s.t
	u := s.users(t, 4)
	errs := make([]error, len(u))
	atOnce(len(u), func(i int) {
		random := rand.New(rand.NewPCG(uint64(i), 7)) //nolint:gosec // a fixed seed makes the test repeatable
		for range 12 {
			other := u[random.IntN(len(u))]
			var err error
			if random.IntN(3) > 0 {
				_, err = s.rec.Follow(t.Context(), feed.Follow{Follower: u[i], Followee: other, At: now})
			} else {
				_, err = s.rec.Unfollow(t.Context(), u[i], other)
			}
			if err != nil {
				errs[i] = err
				return
			}
		}
	})
	for _, err := range errs {
		wantNoError(t, err)
	}
	want := make(map[feed.ID]feed.UserCounts)
	for _, id := range u {
		rel, err := s.rec.RelationsOf(t.Context(), id)
		wantNoError(t, err)
		own := want[id]
		own.Followees = int64(len(rel.Following))
		want[id] = own
		for _, followee := range rel.Following {
			c := want[followee]
			c.Followers++
			want[followee] = c
		}
	}
	for _, id := range u {
		s.wantCounts(t, id, want[id])
	}
}

func testFollowNobody(s *suite) {
	t := s.t
	a, nobody := s.user(t), s.seq.Next()
	s.follow(t, a, nobody, now)
	s.wantCounts(t, a, feed.UserCounts{Followees: 1})
	rel, err := s.rec.RelationsOf(t.Context(), a)
	if want := (feed.IDSet{nobody}); err != nil || !reflect.DeepEqual(rel.Following, want) {
		t.Errorf("got %v, %v, want %v", rel.Following, err, want)
	}
}
