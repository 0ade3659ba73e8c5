package storetest

import (
	"maps"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
)

func seenTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"who never marked anything has seen nothing":   testNothingSeen,
		"each part of the marks moves forward alone":   testMarksMoveForward,
		"marks are the highest that a model was given": testMarksModel,
		"marks at once only move forward":              testMarksAtOnce,
		"nobody's marks are not found":                 testMarksOfNobody,
		"marks and profile leave each other alone":     testMarksAndProfile,
		"followees are told with the time":             testFollowedAt,
		"followees come in any number":                 testFollowedAtMany,
	}
}

func wantSeen(t *testing.T, want feed.Seen) func(feed.Seen, error) {
	t.Helper()
	return func(got feed.Seen, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

func testNothingSeen(s *suite) {
	t := s.t
	wantSeen(t, feed.Seen{})(s.rec.Seen(t.Context(), s.user(t)))
	wantSeen(t, feed.Seen{})(s.rec.Seen(t.Context(), s.seq.Next()))
}

func testMarksMoveForward(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	low, high := s.seq.Next(), s.seq.Next()
	at := func(at int64, id feed.ID) feed.Position { return feed.Position{At: at, ID: id} }
	for _, step := range []struct{ to, want feed.Seen }{
		{feed.Seen{}, feed.Seen{}},
		{feed.Seen{Notices: now}, feed.Seen{Notices: now}},
		{feed.Seen{Position: at(now, low)}, feed.Seen{Position: at(now, low), Notices: now}},
		{feed.Seen{At: now}, feed.Seen{Position: at(now, low), At: now, Notices: now}},
		// The id decides within a millisecond, and only there.
		{feed.Seen{Position: at(now, high)}, feed.Seen{Position: at(now, high), At: now, Notices: now}},
		{feed.Seen{Position: at(now, low)}, feed.Seen{Position: at(now, high), At: now, Notices: now}},
		{feed.Seen{Position: at(now-1, high+9)}, feed.Seen{Position: at(now, high), At: now, Notices: now}},
		{feed.Seen{Position: at(now+1, low)}, feed.Seen{Position: at(now+1, low), At: now, Notices: now}},
		// What goes back in one part goes forward in the others.
		{
			feed.Seen{Position: at(now, high), At: now + 5, Notices: now - 1},
			feed.Seen{Position: at(now+1, low), At: now + 5, Notices: now},
		},
		{
			feed.Seen{Position: at(now+2, 1), At: now + 4, Notices: now + 7},
			feed.Seen{Position: at(now+2, 1), At: now + 5, Notices: now + 7},
		},
		{feed.Seen{}, feed.Seen{Position: at(now+2, 1), At: now + 5, Notices: now + 7}},
	} {
		wantSeen(t, step.want)(s.rec.MarkSeen(t.Context(), a, step.to))
		wantSeen(t, step.want)(s.rec.Seen(t.Context(), a))
	}
	wantSeen(t, feed.Seen{})(s.rec.Seen(t.Context(), b))
	if n := s.cost(func() { _, _ = s.rec.Seen(t.Context(), a) }); n != 1 {
		t.Errorf("reading took %d commands, want 1", n)
	}
}

// later gives the higher of each part.
func later(a, b feed.Seen) feed.Seen {
	if a.Position.Below(b.Position) {
		a.Position = b.Position
	}
	return feed.Seen{Position: a.Position, At: max(a.At, b.At), Notices: max(a.Notices, b.Notices)}
}

func testMarksModel(s *suite) {
	t := s.t
	sparingly(t, func(rt *rapid.T) {
		user := s.user(t)
		var want feed.Seen
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			ms, id := rapid.Int64Range(0, 4), rapid.Int64Range(0, 4)
			to := feed.Seen{
				Position: feed.Position{At: ms.Draw(rt, "position"), ID: feed.ID(id.Draw(rt, "id"))},
				At:       ms.Draw(rt, "at"), Notices: ms.Draw(rt, "notices"),
			}
			want = later(want, to)
			if got, err := s.rec.MarkSeen(t.Context(), user, to); err != nil || got != want {
				rt.Fatalf("MarkSeen(%+v) = %+v, %v, want %+v", to, got, err, want)
			}
		}
	})
}

func testMarksAtOnce(s *suite) {
	t := s.t
	user := s.user(t)
	const readers, marks = 6, 12
	var highest [readers]feed.Seen
	atOnce(readers, func(i int) {
		random := rand.New(rand.NewPCG(uint64(i), 11)) //nolint:gosec // a fixed seed makes the test repeatable
		var last feed.Seen
		for range marks {
			to := feed.Seen{
				Position: feed.Position{At: now + random.Int64N(5), ID: feed.ID(1 + random.Int64N(50))},
				At:       now + random.Int64N(99), Notices: now + random.Int64N(99),
			}
			highest[i] = later(highest[i], to)
			got, err := s.rec.MarkSeen(t.Context(), user, to)
			if err != nil || later(got, to) != got || later(got, last) != got {
				t.Errorf("MarkSeen(%+v) = %+v, %v, want no less than that and than %+v", to, got, err, last)
				return
			}
			last = got
		}
	})
	var want feed.Seen
	for _, h := range highest {
		want = later(want, h)
	}
	wantSeen(t, want)(s.rec.Seen(t.Context(), user))
}

func testMarksOfNobody(s *suite) {
	t := s.t
	nobody := s.seq.Next()
	_, err := s.rec.MarkSeen(t.Context(), nobody, feed.Seen{At: now})
	wantCode(t, err, feed.CodeNotFound, "")
	wantSeen(t, feed.Seen{})(s.rec.Seen(t.Context(), nobody))
	// Nothing of it waits for the user to come.
	wantNoError(t, s.rec.CreateUser(t.Context(), feed.User{ID: nobody, Handle: "late", CreatedAt: now}))
	wantSeen(t, feed.Seen{})(s.rec.Seen(t.Context(), nobody))
}

func testMarksAndProfile(s *suite) {
	t := s.t
	user := s.user(t)
	before := s.readUser(t, user)
	marks := feed.Seen{Position: feed.Position{At: now, ID: 7}, At: now + 1, Notices: now + 2}
	wantSeen(t, marks)(s.rec.MarkSeen(t.Context(), user, marks))
	if got := s.readUser(t, user); got != before {
		t.Errorf("got %+v after marking, want %+v", got, before)
	}
	bio := "reads"
	_, err := s.rec.UpdateUser(t.Context(), user, feed.ProfilePatch{Bio: &bio})
	wantNoError(t, err)
	s.follow(t, user, s.user(t), now)
	wantSeen(t, marks)(s.rec.Seen(t.Context(), user))
}

func wantTimes(t *testing.T, want map[feed.ID]int64) func(map[feed.ID]int64, error) {
	t.Helper()
	return func(got map[feed.ID]int64, err error) {
		t.Helper()
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	}
}

func testFollowedAt(s *suite) {
	t := s.t
	u := s.users(t, 5)
	s.follow(t, u[0], u[1], now+1)
	s.follow(t, u[0], u[2], now+2)
	s.follow(t, u[0], u[3], now+3)
	s.follow(t, u[4], u[0], now+4)
	s.follow(t, u[1], u[2], now+5)
	asked := []feed.ID{u[4], u[2], u[1], u[2], u[0], s.seq.Next()}
	var got map[feed.ID]int64
	var err error
	if n := s.cost(func() { got, err = s.rec.FollowedAt(t.Context(), u[0], asked) }); n != 1 {
		t.Errorf("it took %d commands, want 1", n)
	}
	wantTimes(t, map[feed.ID]int64{u[1]: now + 1, u[2]: now + 2})(got, err)
	if asked[0] != u[4] || asked[3] != u[2] {
		t.Errorf("the ids that were asked for are %v now, want them left alone", asked)
	}
	wantTimes(t, nil)(s.rec.FollowedAt(t.Context(), u[0], nil))
	wantTimes(t, nil)(s.rec.FollowedAt(t.Context(), s.seq.Next(), u))

	// Following once more changes nothing; following anew does.
	wantBool(t, false)(s.rec.Follow(t.Context(), feed.Follow{Follower: u[0], Followee: u[1], At: now + 9}))
	wantTimes(t, map[feed.ID]int64{u[1]: now + 1})(s.rec.FollowedAt(t.Context(), u[0], u[1:2]))
	wantBool(t, true)(s.rec.Unfollow(t.Context(), u[0], u[1]))
	wantTimes(t, nil)(s.rec.FollowedAt(t.Context(), u[0], u[1:2]))
	s.follow(t, u[0], u[1], now+20)
	wantTimes(t, map[feed.ID]int64{u[1]: now + 20})(s.rec.FollowedAt(t.Context(), u[0], u[1:2]))
}

func testFollowedAtMany(s *suite) {
	t := s.t
	reader := s.user(t)
	followees := make([]feed.ID, 1_100) // more than a record asks for at once
	want := make(map[feed.ID]int64)
	for i := range followees {
		followees[i] = s.seq.Next()
		if i%200 == 0 || i == len(followees)-1 {
			want[followees[i]] = now + int64(i)
			s.follow(t, reader, followees[i], now+int64(i))
		}
	}
	wantTimes(t, want)(s.rec.FollowedAt(t.Context(), reader, followees))
}
