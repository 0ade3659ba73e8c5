package storetest

import (
	"reflect"
	"slices"
	"testing"

	"feedgate/feed"
)

func dutyTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"a duty goes from pending to done":            testDutyLife,
		"a duty has one holder at a time":             testDutyHeld,
		"one of many takers gets a duty":              testDutyRace,
		"who lost a duty cannot save it":              testDutyLost,
		"a failed duty stays unfinished":              testDutyFailed,
		"a deleted post has no duty":                  testDutyDeleted,
		"due duties come oldest first":                testDueDuties,
		"authors in flight are those with duties":     testInFlight,
		"nothing about a duty is lost between savers": testDutyFields,
		"a duty knows where its post was written":     testDutyPlace,
	}
}

func (s *suite) begin(t *testing.T, post feed.ID, at, until int64) feed.Duty {
	t.Helper()
	d, err := s.rec.BeginDuty(t.Context(), post, at, until)
	if err != nil {
		t.Fatalf("BeginDuty(%d): %v", post, err)
	}
	return d
}

func (s *suite) wantDelivery(t *testing.T, post feed.ID, want feed.Delivery) {
	t.Helper()
	if got := s.readPost(t, post).Delivery; got != want {
		t.Errorf("delivery: got %+v, want %+v", got, want)
	}
}

func testDutyLife(s *suite) {
	t := s.t
	author := s.user(t)
	post := s.post(t, author, now)
	d := s.begin(t, post, now, now+100)
	want := feed.Duty{
		Post: post, Author: author, At: now, Lane: feed.LaneSmall, Op: 1, Until: now + 100, State: feed.DeliveryRunning,
	}
	if d != want {
		t.Errorf("got %+v, want %+v", d, want)
	}
	s.wantDelivery(t, post, feed.Delivery{State: feed.DeliveryRunning})
	d.Mark, d.Total, d.Delivered = 77, 30, 20
	wantNoError(t, s.rec.SaveDuty(t.Context(), d))
	s.wantDelivery(t, post, feed.Delivery{State: feed.DeliveryRunning, Total: 30, Delivered: 20})
	d.Delivered, d.State = 30, feed.DeliveryDone
	wantNoError(t, s.rec.SaveDuty(t.Context(), d))
	s.wantDelivery(t, post, feed.Delivery{State: feed.DeliveryDone, Total: 30, Delivered: 30})

	wantSet(t)(s.rec.AuthorsInFlight(t.Context()))
	due, err := s.rec.DueDuties(t.Context(), now+1_000_000, 5)
	if err != nil || len(due) != 0 {
		t.Errorf("got %v, %v, want no duty", due, err)
	}
	_, err = s.rec.BeginDuty(t.Context(), post, now+1_000_000, now+2_000_000)
	wantCode(t, err, feed.CodeNotFound, "")
	wantCode(t, s.rec.SaveDuty(t.Context(), d), feed.CodeNotFound, "")
	_, err = s.rec.BeginDuty(t.Context(), s.seq.Next(), now, now)
	wantCode(t, err, feed.CodeNotFound, "")
}

func testDutyHeld(s *suite) {
	t := s.t
	post := s.post(t, s.user(t), now)
	first := s.begin(t, post, now, now+100)
	_, err := s.rec.BeginDuty(t.Context(), post, now+99, now+200)
	wantCode(t, err, feed.CodeConflict, "")
	second := s.begin(t, post, now+100, now+200)
	if second.Op <= first.Op {
		t.Errorf("Op went from %d to %d, want it raised", first.Op, second.Op)
	}
	second.Until = now + 150
	wantNoError(t, s.rec.SaveDuty(t.Context(), second))
	s.begin(t, post, now+150, now+300)
}

func testDutyRace(s *suite) {
	t := s.t
	post := s.post(t, s.user(t), now)
	const tries = 6
	errs := make([]error, tries)
	atOnce(tries, func(i int) { _, errs[i] = s.rec.BeginDuty(t.Context(), post, now, now+100) })
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		wantCode(t, err, feed.CodeConflict, "")
	}
	if won != 1 {
		t.Errorf("%d took the duty, want 1", won)
	}
}

func testDutyLost(s *suite) {
	t := s.t
	post := s.post(t, s.user(t), now)
	lost := s.begin(t, post, now, now+100)
	held := s.begin(t, post, now+100, now+200)
	lost.Mark, lost.State = 99, feed.DeliveryDone
	wantCode(t, s.rec.SaveDuty(t.Context(), lost), feed.CodeConflict, "")
	due, err := s.rec.DueDuties(t.Context(), now+200, 5)
	if err != nil || !slices.Equal(due, []feed.Duty{held}) {
		t.Errorf("got %v, %v, want %v", due, err, held)
	}
}

func testDutyFailed(s *suite) {
	t := s.t
	author := s.user(t)
	post := s.post(t, author, now)
	d := s.begin(t, post, now, now+100)
	d.State, d.Mark, d.Total, d.Delivered, d.Until = feed.DeliveryFailed, 5, 9, 4, now+300
	wantNoError(t, s.rec.SaveDuty(t.Context(), d))
	s.wantDelivery(t, post, feed.Delivery{State: feed.DeliveryFailed, Total: 9, Delivered: 4})
	wantSet(t, author)(s.rec.AuthorsInFlight(t.Context()))
	again := s.begin(t, post, now+300, now+400)
	if again.Mark != 5 || again.Delivered != 4 || again.State != feed.DeliveryRunning {
		t.Errorf("got %+v, want it to go on from mark 5", again)
	}
}

func testDutyDeleted(s *suite) {
	t := s.t
	post := s.post(t, s.user(t), now)
	d := s.begin(t, post, now, now+100)
	wantBool(t, true)(s.rec.DeletePost(t.Context(), post, now))
	wantCode(t, s.rec.SaveDuty(t.Context(), d), feed.CodeNotFound, "")
	_, err := s.rec.BeginDuty(t.Context(), post, now+100, now+200)
	wantCode(t, err, feed.CodeNotFound, "")
}

func testDueDuties(s *suite) {
	t := s.t
	author := s.user(t)
	var posts []feed.ID
	for i, until := range []int64{now + 30, now + 10, now + 20, now + 10} {
		p := feed.Post{ID: s.seq.Next(), Author: author, At: now + int64(i), Kind: "original"}
		wantBool(t, true)(s.rec.InsertPost(t.Context(), p, feed.Duty{Post: p.ID, Author: author, At: p.At, Lane: feed.LaneSmall, Until: until}))
		posts = append(posts, p.ID)
	}
	for _, ask := range []struct {
		now   int64
		limit int
		want  []feed.ID
	}{
		{now + 9, 10, nil},
		{now + 10, 10, []feed.ID{posts[1], posts[3]}},
		{now + 40, 10, []feed.ID{posts[1], posts[3], posts[2], posts[0]}},
		{now + 40, 1, []feed.ID{posts[1]}},
		{now + 40, 0, nil},
	} {
		due, err := s.rec.DueDuties(t.Context(), ask.now, ask.limit)
		var got []feed.ID
		for _, d := range due {
			got = append(got, d.Post)
		}
		wantIDs(t, ask.want...)(got, err)
	}
}

func testInFlight(s *suite) {
	t := s.t
	u := s.users(t, 4)
	s.post(t, u[0], now)
	s.post(t, u[0], now+1)
	s.post(t, u[1], now)
	done := s.begin(t, s.post(t, u[2], now), now, now+1)
	done.State = feed.DeliveryDone
	wantNoError(t, s.rec.SaveDuty(t.Context(), done))
	s.imported(t, u[3], now)
	wantSet(t, u[0], u[1])(s.rec.AuthorsInFlight(t.Context()))
	wantSet(t, u[1])(s.rec.UnfinishedAmong(t.Context(), []feed.ID{u[3], u[1], u[2], s.seq.Next(), u[1]}))
	wantSet(t, u[0])(s.rec.UnfinishedAmong(t.Context(), []feed.ID{u[0]}))
	wantSet(t)(s.rec.UnfinishedAmong(t.Context(), nil))
}

func testDutyFields(s *suite) {
	t := s.t
	author := s.user(t)
	by := s.user(t)
	p := feed.Post{ID: s.seq.Next(), Author: author, At: now, Kind: "repost", RepostOf: s.post(t, by, now-1), OriginalAuthor: by}
	wantBool(t, true)(s.rec.InsertPost(t.Context(), p, feed.Duty{Post: p.ID, Author: author, At: now, Lane: feed.LaneBulk, Total: 3}))
	d := s.begin(t, p.ID, now, now+10)
	if d.Repost != p.RepostOf || d.Original != by {
		t.Errorf("the duty of a repost of %d by %d names %d by %d", p.RepostOf, by, d.Repost, d.Original)
	}
	d.Mark, d.Total, d.Delivered, d.Until = s.seq.Next(), 1<<40, 1<<39, now+20
	wantNoError(t, s.rec.SaveDuty(t.Context(), d))
	again := s.begin(t, p.ID, now+20, now+30)
	want := d
	want.Op, want.Until = d.Op+1, now+30
	if again != want {
		t.Errorf("got %+v, want %+v", again, want)
	}
}

func testDutyPlace(s *suite) {
	t := s.t
	author := s.user(t)
	for i, place := range []*feed.Place{
		nil,
		{Latitude: 0, Longitude: 0, Precision: feed.PrecisionExact},
		{Latitude: 40.712775, Longitude: -74.005973, Precision: feed.PrecisionNeighbourhood},
		{Latitude: -33.9, Longitude: 151.2, Precision: feed.PrecisionHidden},
	} {
		at := now + int64(i)
		p := feed.Post{ID: s.seq.Next(), Author: author, At: at, Kind: "original", Place: place}
		s.insert(t, p)
		due, err := s.rec.DueDuties(t.Context(), at, 1)
		if err != nil || len(due) != 1 || !reflect.DeepEqual(due[0].Place, place) {
			t.Fatalf("DueDuties gives %+v, %v, want a place of %+v", due, err, place)
		}
		// Saving neither needs the place nor loses it.
		d := s.begin(t, p.ID, at, at+10)
		if !reflect.DeepEqual(d.Place, place) {
			t.Errorf("BeginDuty gives the place %+v, want %+v", d.Place, place)
		}
		d.Place, d.Until = nil, at
		wantNoError(t, s.rec.SaveDuty(t.Context(), d))
		if d = s.begin(t, p.ID, at, at+10); !reflect.DeepEqual(d.Place, place) {
			t.Errorf("BeginDuty gives the place %+v after saving, want %+v", d.Place, place)
		}
		d.State = feed.DeliveryDone
		wantNoError(t, s.rec.SaveDuty(t.Context(), d))
		if got := s.readPost(t, p.ID); !reflect.DeepEqual(got.Place, place) {
			t.Errorf("the post is at %+v, want %+v", got.Place, place)
		}
	}
}
