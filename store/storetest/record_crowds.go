package storetest

import (
	"slices"
	"testing"

	"feedgate/feed"
)

// crowd has more people like a post than a notice names, one a millisecond,
// and returns them and the notice.
func (s *suite) crowd(t *testing.T, liked feed.NoticeEdge) ([]feed.ID, feed.Notice) {
	t.Helper()
	var actors []feed.ID
	var n feed.Notice
	for i := range feed.NoticeActors + 5 {
		actors = append(actors, s.seq.Next())
		n = s.act(t, liked, actors[i], now+int64(i))
	}
	return actors, n
}

// named gives the newest actors as a notice names them.
func named(actors []feed.ID) []feed.ID {
	newest := slices.Clone(actors)
	slices.Reverse(newest)
	return newest[:min(len(newest), feed.NoticeActors)]
}

func (s *suite) wantActors(t *testing.T, id feed.ID, actors []feed.ID) {
	t.Helper()
	n, err := s.rec.NoticeByID(t.Context(), id)
	if err != nil || n.Total != int64(len(actors)) || !slices.Equal(n.Actors, named(actors)) {
		t.Fatalf("got a total of %d and actors %v, %v, want %d and %v", n.Total, n.Actors, err, len(actors), named(actors))
	}
}

func testManyActors(s *suite) {
	t := s.t
	liked := noticeTo(1, feed.NoticeLiked, 50)
	actors, n := s.crowd(t, liked)
	s.wantActors(t, n.ID, actors)
	// Who is not named any more is in it all the same.
	for _, i := range []int{0, 4, 5, len(actors) - 1} {
		e := liked
		e.ID, e.Actor, e.At = s.seq.Next(), actors[i], now+1_000
		got, added, err := s.rec.AddNotice(t.Context(), e)
		if err != nil || added || got.Total != n.Total || got.At != n.At {
			t.Errorf("actor %d again: got %v, %v, total %d at %d, want nothing added", i, added, err, got.Total, got.At)
		}
	}
	s.wantActors(t, n.ID, actors)
	// One from long ago is counted and not named.
	old := s.seq.Next()
	if got := s.act(t, liked, old, now-1); got.Total != n.Total+1 || slices.Contains(got.Actors, old) || got.At != n.At {
		t.Errorf("got a total of %d at %d with actors %v, want %d at %d without %d", got.Total, got.At, got.Actors, n.Total+1, n.At, old)
	}
	e := liked
	e.ID, e.Actor, e.At = s.seq.Next(), old, now+1_000
	if _, added, err := s.rec.AddNotice(t.Context(), e); err != nil || added {
		t.Errorf("the one from long ago again: got %v, %v, want nothing added", added, err)
	}
	s.wantActors(t, n.ID, slices.Concat([]feed.ID{old}, actors))
	wantBool(t, true)(s.undo(liked, old))
	wantBool(t, false)(s.undo(liked, old))
	s.wantActors(t, n.ID, actors)
}

func testManyActorsRemoved(s *suite) {
	t := s.t
	liked := noticeTo(1, feed.NoticeLiked, 50)
	actors, n := s.crowd(t, liked)
	last := len(actors) - 1
	for _, actor := range []feed.ID{actors[0], actors[last], actors[50], actors[3], actors[4], actors[2], actors[1], actors[last-1]} {
		wantBool(t, true)(s.undo(liked, actor))
		actors = slices.DeleteFunc(actors, func(id feed.ID) bool { return id == actor })
		s.wantActors(t, n.ID, actors)
		wantBool(t, false)(s.undo(liked, actor))
	}
	// Who went comes back once.
	back := s.seq.Next()
	for _, actor := range []feed.ID{back, actors[0]} {
		if actor != back {
			wantBool(t, true)(s.undo(liked, actor))
			actors = actors[1:]
		}
		s.act(t, liked, actor, now+500)
		actors = append(actors, actor)
	}
	if actors[len(actors)-2] > actors[len(actors)-1] { // both came in one millisecond
		slices.Reverse(actors[len(actors)-2:])
	}
	s.wantActors(t, n.ID, actors)
}

func testActorsAtOnce(s *suite) {
	t := s.t
	const people = 12
	var ids [people]feed.ID
	atOnce(people, func(i int) {
		// Each twice, so that it meets those of the others.
		for range 2 {
			e := feed.NoticeEdge{ID: s.seq.Next(), To: 1, Kind: feed.NoticeLiked, Subject: 50, Actor: feed.ID(10 + i), At: now + int64(i)}
			n, _, err := s.rec.AddNotice(t.Context(), e)
			if err != nil || !slices.Contains(n.Actors, e.Actor) || n.Total != int64(len(n.Actors)) {
				t.Errorf("AddNotice(%+v) = %+v, %v, want the actor in it", e, n, err)
			}
			ids[i] = n.ID
		}
	})
	var actors []feed.ID
	for i := range ids {
		actors = append(actors, feed.ID(10+i))
		if ids[i] != ids[0] {
			t.Errorf("got notices %v, want one", ids)
		}
	}
	s.wantActors(t, ids[0], actors)
}

func testActorRace(s *suite) {
	t := s.t
	liked := noticeTo(1, feed.NoticeLiked, 50)
	const tries = 6
	for _, others := range [][]feed.ID{nil, {8, 9}} { // the first actor, and one of several
		for _, other := range others {
			s.act(t, liked, other, now)
		}
		won, errs := make([]bool, tries), make([]error, tries)
		atOnce(tries, func(i int) {
			_, won[i], errs[i] = s.rec.AddNotice(t.Context(), feed.NoticeEdge{
				ID: s.seq.Next(), To: 1, Kind: feed.NoticeLiked, Subject: 50, Actor: 7, At: now,
			})
		})
		wantOneWinner(t, won, errs)
		atOnce(tries, func(i int) { won[i], errs[i] = s.undo(liked, 7) })
		wantOneWinner(t, won, errs)
		all, err := s.rec.Notices(t.Context(), 1, feed.Newest(), 10)
		if err != nil || len(all) != min(1, len(others)) || (len(all) == 1 && all[0].Total != int64(len(others))) {
			t.Errorf("got %+v, %v, want the actors %v", all, err, others)
		}
	}
}

func testActorsComeAndGo(s *suite) {
	t := s.t
	liked := noticeTo(1, feed.NoticeLiked, 50)
	const people, rounds = 4, 6
	atOnce(people, func(i int) {
		// Each comes and goes, so that the notice itself does; who has an even
		// number stays in the end.
		actor := feed.ID(10 + i)
		for round := range rounds + 1 - i%2 {
			var got bool
			var err error
			if round%2 == 0 {
				e := liked
				e.ID, e.Actor, e.At = s.seq.Next(), actor, now+int64(i)
				_, got, err = s.rec.AddNotice(t.Context(), e)
			} else {
				got, err = s.undo(liked, actor)
			}
			if err != nil || !got {
				t.Errorf("actor %d, round %d: got %v, %v, want true", actor, round, got, err)
				return
			}
		}
	})
	all, err := s.rec.Notices(t.Context(), 1, feed.Newest(), 10)
	if err != nil || len(all) != 1 {
		t.Fatalf("got %+v, %v, want one notice", all, err)
	}
	s.wantActors(t, all[0].ID, []feed.ID{10, 12})
}
