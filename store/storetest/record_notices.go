package storetest

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
)

func noticeTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"a notice gathers who did the same":                testGather,
		"an actor is in a notice once":                     testActorTwice,
		"a notice is as new as its newest actor":           testLateActor,
		"people, kinds and subjects have their own notice": testNoticesApart,
		"actors are taken out once":                        testActorRemoved,
		"a notice without actors goes":                     testLastActorRemoved,
		"notices come newest first in pages of any size":   testNoticePages,
		"an unknown notice is not found":                   testNoNotice,
		"notices are what a model says":                    testNoticesModel,
		"the newest of many actors are named":              testManyActors,
		"an actor taken out makes room for another":        testManyActorsRemoved,
		"many actors at once are all in one notice":        testActorsAtOnce,
		"an actor at once with itself is in once":          testActorRace,
		"coming and going at once loses nobody":            testActorsComeAndGo,
	}
}

// noticeTo is an edge of a notice that lacks its actor.
func noticeTo(to feed.ID, kind feed.NoticeKind, subject feed.ID) feed.NoticeEdge {
	return feed.NoticeEdge{To: to, Kind: kind, Subject: subject}
}

// act adds an actor and returns the notice.
func (s *suite) act(t *testing.T, e feed.NoticeEdge, actor feed.ID, at int64) feed.Notice {
	t.Helper()
	e.ID, e.Actor, e.At = s.seq.Next(), actor, at
	n, added, err := s.rec.AddNotice(t.Context(), e)
	if err != nil || !added {
		t.Fatalf("AddNotice(%+v) = %v, %v, want it added", e, added, err)
	}
	return n
}

// undo takes an actor out.
func (s *suite) undo(e feed.NoticeEdge, actor feed.ID) (bool, error) {
	return s.rec.RemoveNotice(s.t.Context(), e.To, e.Kind, e.Subject, actor)
}

// wantNotice checks one notice wherever it can be read.
func (s *suite) wantNotice(t *testing.T, want feed.Notice) {
	t.Helper()
	got, err := s.rec.NoticeByID(t.Context(), want.ID)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("NoticeByID(%d):\n got %+v, %v\nwant %+v", want.ID, got, err, want)
	}
	all, err := s.rec.Notices(t.Context(), want.To, feed.Newest(), 100)
	i := slices.IndexFunc(all, func(n feed.Notice) bool { return n.ID == want.ID })
	if err != nil || i < 0 || !reflect.DeepEqual(all[i], want) {
		t.Fatalf("Notices(%d):\n got %+v, %v\nwant %+v among them", want.To, all, err, want)
	}
}

func wantNotices(t *testing.T, want ...feed.Notice) func([]feed.Notice, error) {
	t.Helper()
	return func(got []feed.Notice, err error) {
		t.Helper()
		if err != nil || len(got) != len(want) || (len(want) > 0 && !reflect.DeepEqual(got, want)) {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

func testGather(s *suite) {
	t := s.t
	liked := noticeTo(1, feed.NoticeLiked, 50)
	want := feed.Notice{To: 1, Kind: feed.NoticeLiked, Subject: 50}
	for i, actor := range []feed.ID{7, 5, 9, 6} {
		at := now + int64(i)
		got := s.act(t, liked, actor, at)
		if i == 0 {
			want.ID = got.ID // and the later ones' are not taken
		}
		want.Actors = append([]feed.ID{actor}, want.Actors...)
		want.Total, want.At = want.Total+1, at
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("AddNotice returned %+v, want %+v", got, want)
		}
		s.wantNotice(t, want)
	}
}

func testActorTwice(s *suite) {
	t := s.t
	followed := noticeTo(1, feed.NoticeFollowed, 0)
	s.act(t, followed, 7, now)
	want := s.act(t, followed, 8, now+1)
	for _, actor := range []feed.ID{7, 8, 7} {
		e := followed
		e.ID, e.Actor, e.At = s.seq.Next(), actor, now+10
		got, added, err := s.rec.AddNotice(t.Context(), e)
		if err != nil || added || !reflect.DeepEqual(got, want) {
			t.Errorf("AddNotice(%+v) = %+v, %v, %v, want %+v and nothing added", e, got, added, err, want)
		}
		s.wantNotice(t, want)
	}
}

func testLateActor(s *suite) {
	t := s.t
	liked := noticeTo(1, feed.NoticeLiked, 50)
	s.act(t, liked, 7, now)
	s.act(t, liked, 9, now-5)
	got := s.act(t, liked, 8, now) // of two in one millisecond, the higher id
	if want := []feed.ID{8, 7, 9}; got.At != now || !slices.Equal(got.Actors, want) {
		t.Errorf("got actors %v at %d, want %v at %d", got.Actors, got.At, want, now)
	}
}

func testNoticesApart(s *suite) {
	t := s.t
	var all []feed.Notice
	for i, e := range []feed.NoticeEdge{
		noticeTo(1, feed.NoticeLiked, 50), noticeTo(1, feed.NoticeLiked, 51), noticeTo(1, feed.NoticeReposted, 50),
		noticeTo(1, feed.NoticeFollowed, 0), noticeTo(2, feed.NoticeLiked, 50), noticeTo(12, feed.NoticeLiked, 0),
	} {
		all = append(all, s.act(t, e, 7, now+int64(i)))
	}
	for _, n := range all {
		if n.Total != 1 {
			t.Errorf("notice %+v: want a total of 1", n)
		}
		s.wantNotice(t, n)
	}
	wantNotices(t, all[3], all[2], all[1], all[0])(s.rec.Notices(t.Context(), 1, feed.Newest(), 10))
	wantNotices(t, all[4])(s.rec.Notices(t.Context(), 2, feed.Newest(), 10))
	wantBool(t, true)(s.undo(noticeTo(1, feed.NoticeLiked, 50), 7))
	wantNotices(t, all[3], all[2], all[1])(s.rec.Notices(t.Context(), 1, feed.Newest(), 10))
	wantNotices(t, all[4])(s.rec.Notices(t.Context(), 2, feed.Newest(), 10))
}

func testActorRemoved(s *suite) {
	t := s.t
	liked := noticeTo(1, feed.NoticeLiked, 50)
	wantBool(t, false)(s.undo(liked, 7)) // there is no notice
	s.act(t, liked, 7, now)
	s.act(t, liked, 8, now+1)
	want := s.act(t, liked, 9, now+2)
	wantBool(t, false)(s.undo(liked, 10))
	wantBool(t, false)(s.undo(noticeTo(1, feed.NoticeLiked, 51), 8))
	s.wantNotice(t, want)
	for _, removed := range []bool{true, false, false} {
		wantBool(t, removed)(s.undo(liked, 8))
		want.Total, want.Actors = 2, []feed.ID{9, 7}
		s.wantNotice(t, want)
	}
	// Who comes back is the newest.
	want.Total, want.Actors, want.At = 3, []feed.ID{8, 9, 7}, now+5
	if got := s.act(t, liked, 8, now+5); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	wantBool(t, true)(s.undo(liked, 7))
	wantBool(t, true)(s.undo(liked, 8))
	got, err := s.rec.NoticeByID(t.Context(), want.ID)
	if err != nil || got.Total != 1 || !slices.Equal(got.Actors, []feed.ID{9}) {
		t.Errorf("got %+v, %v, want actor 9 alone", got, err)
	}
}

func testLastActorRemoved(s *suite) {
	t := s.t
	liked := noticeTo(1, feed.NoticeLiked, 50)
	for range 3 {
		first := s.act(t, liked, 7, now)
		second := s.act(t, liked, 8, now+1)
		if second.ID != first.ID || second.Total != 2 {
			t.Errorf("got %+v after %+v, want one notice with two actors", second, first)
		}
		wantBool(t, true)(s.undo(liked, 7))
		wantBool(t, true)(s.undo(liked, 8))
		_, err := s.rec.NoticeByID(t.Context(), first.ID)
		wantCode(t, err, feed.CodeNotFound, "")
		wantNotices(t)(s.rec.Notices(t.Context(), 1, feed.Newest(), 10))
		wantBool(t, false)(s.undo(liked, 8))
	}
}

func testNoticePages(s *suite) {
	t := s.t
	var all []feed.Notice
	for i := range int64(14) {
		// Few different times, so that most notices share theirs with others.
		all = append(all, s.act(t, noticeTo(1, feed.NoticeLiked, feed.ID(50+i)), 7, now+i*i%5))
		s.act(t, noticeTo(2, feed.NoticeLiked, feed.ID(50+i)), 7, now+i)
	}
	slices.SortFunc(all, func(a, b feed.Notice) int { return a.Position().Compare(b.Position()) })
	for _, size := range []int{1, 2, 3, 5, len(all), len(all) + 1} {
		var got []feed.Notice
		below := feed.Newest()
		for range len(all) + 1 {
			page, err := s.rec.Notices(t.Context(), 1, below, size)
			if err != nil || len(page) > size {
				t.Fatalf("got a page of %d, %v, want at most %d", len(page), err, size)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			below = page[len(page)-1].Position()
		}
		if !reflect.DeepEqual(got, all) {
			t.Errorf("pages of %d:\n got %v\nwant %v", size, got, all)
		}
	}
	for _, limit := range []int{0, -1} {
		wantNotices(t)(s.rec.Notices(t.Context(), 1, feed.Newest(), limit))
	}
	if n := s.cost(func() { _, _ = s.rec.Notices(t.Context(), 1, all[5].Position(), 3) }); n > 2 {
		t.Errorf("a page took %d commands, want at most 2", n)
	}
	if n := s.cost(func() { _, _ = s.rec.NoticeByID(t.Context(), all[5].ID) }); n != 1 {
		t.Errorf("one notice took %d commands, want 1", n)
	}
}

func testNoNotice(s *suite) {
	t := s.t
	_, err := s.rec.NoticeByID(t.Context(), s.seq.Next())
	wantCode(t, err, feed.CodeNotFound, "")
	wantNotices(t)(s.rec.Notices(t.Context(), s.seq.Next(), feed.Newest(), 10))
	wantNotices(t)(s.rec.Notices(t.Context(), s.seq.Next(), feed.Position{At: math.MaxInt64 - 1, ID: 5}, 10))
}

func testNoticesModel(s *suite) {
	t := s.t
	type part struct {
		actor feed.ID
		at    int64
	}
	sparingly(t, func(rt *rapid.T) {
		to := s.seq.Next() // keeps the rounds apart in one record
		parts := make(map[feed.ID][]part)
		notices := make(map[feed.ID]feed.Notice)
		for range rapid.IntRange(1, 16).Draw(rt, "steps") {
			subject := feed.ID(rapid.Int64Range(1, 2).Draw(rt, "subject"))
			actor := feed.ID(rapid.Int64Range(7, 9).Draw(rt, "actor"))
			at := now + rapid.Int64Range(0, 3).Draw(rt, "at")
			is := slices.IndexFunc(parts[subject], func(p part) bool { return p.actor == actor })
			e := feed.NoticeEdge{ID: s.seq.Next(), To: to, Kind: feed.NoticeLiked, Subject: subject, Actor: actor, At: at}
			n := notices[subject]
			if rapid.Bool().Draw(rt, "add") {
				_, added, err := s.rec.AddNotice(t.Context(), e)
				if err != nil || added != (is < 0) {
					rt.Fatalf("AddNotice(%+v) = %v, %v, want %v", e, added, err, is < 0)
				}
				if is < 0 && n.Total == 0 {
					n = feed.Notice{ID: e.ID, To: to, Kind: e.Kind, Subject: subject}
				}
				if is < 0 {
					parts[subject] = append(parts[subject], part{actor, at})
					n.At = max(n.At, at)
				}
			} else {
				removed, err := s.undo(e, actor)
				if err != nil || removed != (is >= 0) {
					rt.Fatalf("RemoveNotice(%+v) = %v, %v, want %v", e, removed, err, is >= 0)
				}
				if is >= 0 {
					parts[subject] = slices.Delete(parts[subject], is, is+1)
				}
			}
			n.Total = int64(len(parts[subject]))
			notices[subject] = n
		}
		var want []feed.Notice
		for subject, n := range notices {
			slices.SortFunc(parts[subject], func(a, b part) int {
				return feed.Position{At: a.at, ID: a.actor}.Compare(feed.Position{At: b.at, ID: b.actor})
			})
			for _, p := range parts[subject] {
				n.Actors = append(n.Actors, p.actor)
			}
			if n.Total > 0 {
				want = append(want, n)
			}
		}
		slices.SortFunc(want, func(a, b feed.Notice) int { return a.Position().Compare(b.Position()) })
		got, err := s.rec.Notices(t.Context(), to, feed.Newest(), 10)
		if err != nil || len(got) != len(want) || (len(want) > 0 && !reflect.DeepEqual(got, want)) {
			rt.Fatalf("got %+v, %v\nwant %+v", got, err, want)
		}
	})
}
