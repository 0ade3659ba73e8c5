package storetest

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"feedgate/feed"
)

func postTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"a post is read as it was written":                 testInsertPost,
		"awkward posts come back as they were written":     testAwkwardPosts,
		"inserting again changes nothing":                  testInsertPostAgain,
		"one of many equal inserts counts":                 testInsertPostRace,
		"a post is counted with its author and original":   testPostCounts,
		"deleting hides, uncounts and ends the duty":       testDeletePost,
		"one of many equal deletes counts":                 testDeletePostRace,
		"a stamp is now or just above the last":            testStamp,
		"stamps of many at once strictly increase":         testStampRace,
		"only posts that exist are read, each once":        testPostsByID,
		"standing reposts are found":                       testRepostedAmong,
		"an original's reposts survive those of a deleted": testRepostOfDeleted,
	}
}

func fullPost(id, author feed.ID) feed.Post {
	return feed.Post{
		ID: id, Author: author, At: now, Kind: "photo", Text: "two pictures",
		Media: []feed.Media{
			{URL: "https://example.org/1.jpg", Alt: "a bridge", Width: 800, Height: 600},
			{URL: "https://example.org/2.jpg"},
		},
		Link:       &feed.Link{URL: "https://example.org/?a=1&b=<2>", Title: "Bridges"},
		Topics:     []string{"bridges", "rivers"},
		Place:      &feed.Place{Latitude: 40.712775, Longitude: -74.005973, Precision: feed.PrecisionCity},
		Attributes: json.RawMessage(`{ "b":1,  "a":[1.50, null, "x\u0000"], "$c.d":{}}`),
	}
}

func testInsertPost(s *suite) {
	t := s.t
	author := s.user(t)
	p := fullPost(s.seq.Next(), author)
	duty := feed.Duty{Post: p.ID, Author: author, At: p.At, Lane: feed.LaneBulk, Until: now + 5, Total: 7}
	wantBool(t, true)(s.rec.InsertPost(t.Context(), p, duty))

	got := s.readPost(t, p.ID)
	if !reflect.DeepEqual(got.Post, p) {
		t.Errorf("post:\n got %+v\nwant %+v", got.Post, p)
	}
	if want := (feed.Delivery{State: feed.DeliveryPending, Total: 7}); got.Delivery != want {
		t.Errorf("delivery: got %+v, want %+v", got.Delivery, want)
	}
	if !reflect.DeepEqual(got.Stats, feed.Stats{}) {
		t.Errorf("stats: got %+v, want none", got.Stats)
	}
	due, err := s.rec.DueDuties(t.Context(), now+5, 10)
	want := feed.Duty{Post: p.ID, Author: author, At: p.At, Lane: feed.LaneBulk, Until: now + 5, Total: 7, State: feed.DeliveryPending, Place: p.Place}
	if err != nil || !reflect.DeepEqual(due, []feed.Duty{want}) {
		t.Errorf("duties: got %+v, %v, want %+v at %+v", due, err, want, want.Place)
	}
}

func testAwkwardPosts(s *suite) {
	t := s.t
	author := s.user(t)
	for i, text := range awkward() {
		p := feed.Post{
			ID: s.seq.Next(), Author: author, At: now + int64(i), Kind: "x-" + text[:min(1, len(text))], Text: text,
			Media: []feed.Media{{URL: text, Alt: text}}, Link: &feed.Link{URL: text, Title: text}, Topics: []string{text, "b"},
			Place: &feed.Place{Latitude: -90, Longitude: 180, Precision: feed.PrecisionExact},
		}
		if len(p.Kind) > 2 && p.Kind[2] > 0x7f {
			p.Kind = "x"
		}
		s.insert(t, p)
		if got := s.readPost(t, p.ID).Post; !reflect.DeepEqual(got, p) {
			t.Errorf("got %#v\nwant %#v", got, p)
		}
	}
	origin := feed.Post{ID: s.seq.Next(), Author: author, At: -5, Kind: "original", Place: &feed.Place{Precision: feed.PrecisionHidden}}
	s.insert(t, origin)
	if got := s.readPost(t, origin.ID).Post; !reflect.DeepEqual(got, origin) {
		t.Errorf("a place at 0, 0: got %+v, want %+v", got, origin)
	}
}

func testInsertPostAgain(s *suite) {
	t := s.t
	author := s.user(t)
	original := s.post(t, author, now)
	p := feed.Post{ID: s.seq.Next(), Author: author, At: now + 1, Kind: "repost", RepostOf: original, OriginalAuthor: author}
	s.insert(t, p)
	duty, err := s.rec.BeginDuty(t.Context(), p.ID, now, now+1000)
	wantNoError(t, err)

	changed := p
	changed.Text = "something else"
	wantBool(t, false)(s.rec.InsertPost(t.Context(), changed, feed.Duty{Post: p.ID, Author: author, At: p.At, Lane: feed.LaneBulk}))
	if got := s.readPost(t, p.ID); !reflect.DeepEqual(got.Post, p) || got.State != feed.DeliveryRunning {
		t.Errorf("got %+v, want it as it was", got)
	}
	s.wantCounts(t, author, feed.UserCounts{Posts: 2})
	s.wantStats(t, original, 0, 0, 1)
	duty.State = feed.DeliveryDone
	wantNoError(t, s.rec.SaveDuty(t.Context(), duty))

	wantBool(t, false)(s.rec.InsertPost(t.Context(), p, feed.Duty{Post: p.ID, Author: author, At: p.At}))
	_, err = s.rec.BeginDuty(t.Context(), p.ID, now, now)
	wantCode(t, err, feed.CodeNotFound, "")
}

func testInsertPostRace(s *suite) {
	t := s.t
	author := s.user(t)
	p := feed.Post{ID: s.seq.Next(), Author: author, At: now, Kind: "original"}
	const tries = 6
	inserted := make([]bool, tries)
	errs := make([]error, tries)
	atOnce(tries, func(i int) {
		inserted[i], errs[i] = s.rec.InsertPost(t.Context(), p, feed.Duty{Post: p.ID, Author: author, At: now})
	})
	wantOneWinner(t, inserted, errs)
	s.wantCounts(t, author, feed.UserCounts{Posts: 1})
}

func wantOneWinner(t *testing.T, won []bool, errs []error) {
	t.Helper()
	winners := 0
	for i, err := range errs {
		wantNoError(t, err)
		if won[i] {
			winners++
		}
	}
	if winners != 1 {
		t.Errorf("%d of %d changed something, want 1", winners, len(won))
	}
}

func testPostCounts(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	original := s.post(t, a, now)
	other := s.post(t, a, now+1)
	s.repost(t, b, now, original, a)
	s.repost(t, a, now+2, original, a)
	s.wantCounts(t, a, feed.UserCounts{Posts: 3})
	s.wantCounts(t, b, feed.UserCounts{Posts: 1})
	s.wantStats(t, original, 0, 0, 2)
	s.wantStats(t, other, 0, 0, 0)
}

func testDeletePost(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	original := s.post(t, a, now)
	repost := s.repost(t, b, now, original, a)

	wantBool(t, true)(s.rec.DeletePost(t.Context(), repost, now+7))
	got := s.readPost(t, repost)
	if got.DeletedAt != now+7 || got.Author != b || got.RepostOf != original {
		t.Errorf("got %+v, want the post with DeletedAt %d", got.Post, now+7)
	}
	s.wantCounts(t, b, feed.UserCounts{})
	s.wantStats(t, original, 0, 0, 0)
	wantSet(t, a)(s.rec.AuthorsInFlight(t.Context()))
	entries, err := s.rec.Entries(t.Context(), []feed.ID{a, b}, feed.Newest(), 10)
	if err != nil || len(entries) != 1 || entries[0].ID != original {
		t.Errorf("entries: got %v, %v, want the original alone", entries, err)
	}

	wantBool(t, false)(s.rec.DeletePost(t.Context(), repost, now+8))
	if got := s.readPost(t, repost).DeletedAt; got != now+7 {
		t.Errorf("deleted again: DeletedAt is %d, want %d", got, now+7)
	}
	s.wantCounts(t, b, feed.UserCounts{})
	_, err = s.rec.DeletePost(t.Context(), s.seq.Next(), now)
	wantCode(t, err, feed.CodeNotFound, "")
}

func testDeletePostRace(s *suite) {
	t := s.t
	author := s.user(t)
	s.post(t, author, now)
	id := s.post(t, author, now+1)
	const tries = 6
	deleted := make([]bool, tries)
	errs := make([]error, tries)
	atOnce(tries, func(i int) { deleted[i], errs[i] = s.rec.DeletePost(t.Context(), id, now+int64(i)) })
	wantOneWinner(t, deleted, errs)
	s.wantCounts(t, author, feed.UserCounts{Posts: 1})
}

func testStamp(s *suite) {
	t := s.t
	author, fan := s.user(t), s.user(t)
	wantBool(t, true)(s.rec.Follow(t.Context(), feed.Follow{Follower: fan, Followee: author, At: now}))
	for _, step := range []struct{ now, want int64 }{
		{now, now}, {now, now + 1}, {now - 50, now + 2}, {now + 2, now + 3}, {now + 4, now + 4}, {now + 1000, now + 1000}, {0, now + 1001},
	} {
		got, err := s.rec.StampPost(t.Context(), author, step.now)
		if want := (feed.Stamp{At: step.want, Followers: 1}); err != nil || got != want {
			t.Fatalf("StampPost at now%+d: got %+v, %v, want %+v", step.now-now, got, err, want)
		}
	}
	got, err := s.rec.StampPost(t.Context(), fan, now)
	if want := (feed.Stamp{At: now}); err != nil || got != want {
		t.Errorf("another author: got %+v, %v, want %+v", got, err, want)
	}
	_, err = s.rec.StampPost(t.Context(), s.seq.Next(), now)
	wantCode(t, err, feed.CodeNotFound, "")
}

func testStampRace(s *suite) {
	t := s.t
	author := s.user(t)
	const publishers, each = 6, 5
	stamps := make([][]int64, publishers)
	errs := make([]error, publishers)
	atOnce(publishers, func(i int) {
		for range each {
			stamp, err := s.rec.StampPost(t.Context(), author, now)
			if err != nil {
				errs[i] = err
				return
			}
			stamps[i] = append(stamps[i], stamp.At)
		}
	})
	for i, err := range errs {
		wantNoError(t, err)
		if !slices.IsSorted(stamps[i]) {
			t.Errorf("publisher %d got %v, want ascending stamps", i, stamps[i])
		}
	}
	all := slices.Concat(stamps...)
	slices.Sort(all)
	if len(slices.Compact(all)) != publishers*each || all[0] < now {
		t.Errorf("got %v, want %d different stamps from %d on", all, publishers*each, now)
	}
}

func postIDs(rows []feed.PostRow) []feed.ID {
	ids := make([]feed.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids
}

func testPostsByID(s *suite) {
	t := s.t
	author := s.user(t)
	a, b := s.post(t, author, now), s.post(t, author, now+1)
	var rows []feed.PostRow
	var err error
	if n := s.cost(func() { rows, err = s.rec.PostsByID(t.Context(), []feed.ID{b, a, s.seq.Next(), b}) }); n != 1 {
		t.Errorf("it took %d commands, want 1", n)
	}
	wantSet(t, a, b)(postIDs(rows), err)
	rows, err = s.rec.PostsByID(t.Context(), nil)
	wantSet(t)(postIDs(rows), err)
}

func testRepostedAmong(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	one, two, three := s.post(t, a, now), s.post(t, a, now+1), s.post(t, a, now+2)
	s.repost(t, b, now, one, a)
	s.repost(t, b, now+1, one, a)
	gone := s.repost(t, b, now+2, two, a)
	s.repost(t, a, now+3, three, a)
	wantBool(t, true)(s.rec.DeletePost(t.Context(), gone, now))
	wantSet(t, one)(s.rec.RepostedAmong(t.Context(), b, []feed.ID{two, one, three, one, s.seq.Next()}))
	wantSet(t, three)(s.rec.RepostedAmong(t.Context(), a, []feed.ID{one, three}))
	wantSet(t)(s.rec.RepostedAmong(t.Context(), b, nil))
	wantSet(t)(s.rec.RepostedAmong(t.Context(), a, []feed.ID{0}))
}

func testRepostOfDeleted(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	original := s.post(t, a, now)
	s.repost(t, b, now, original, a)
	wantBool(t, true)(s.rec.DeletePost(t.Context(), original, now))
	if got := s.readPost(t, original); got.DeletedAt == 0 || got.Reposts != 1 {
		t.Errorf("got %+v, want it deleted with its one repost", got)
	}
	wantSet(t, original)(s.rec.RepostedAmong(t.Context(), b, []feed.ID{original}))
}
