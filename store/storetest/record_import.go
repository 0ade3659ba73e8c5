package storetest

import (
	"encoding/json"
	"reflect"
	"slices"

	"feedgate/feed"
)

func importTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"users are judged row by row":              testImportUsers,
		"posts are judged row by row":              testImportPosts,
		"reposts need an original":                 testImportReposts,
		"follows are judged row by row":            testImportFollows,
		"likes are judged row by row":              testImportLikes,
		"a full batch counts right":                testImportBatch,
		"an empty batch and an empty record":       testImportEmpty,
		"an imported post is there and delivered":  testImportedPost,
		"imports stand beside what people did":     testImportMixed,
		"batches of many at once are written once": testImportRace,
	}
}

const (
	added   = feed.Added
	same    = feed.Same
	refused = feed.Refused
)

func testImportUsers(s *suite) {
	t := s.t
	wantNoError(t, s.rec.CreateUser(t.Context(), feed.User{ID: 5, Handle: "ada", Name: "Ada", CreatedAt: now}))
	rows := []feed.User{
		{ID: 5, Handle: "ada", Name: "Another"}, // the same id and handle: left as it is
		{ID: 5, Handle: "eve"},
		{ID: 6, Handle: "ada"},
		{ID: 7, Handle: "bob", Name: "Bob", AvatarURL: "a", Bio: "b", CreatedAt: now},
		{ID: 7, Handle: "bob"},
		{ID: 7, Handle: "rob"},
		{ID: 8, Handle: "bob"},
		{ID: 9, Handle: "cy"},
		{ID: 0, Handle: "zero"},
	}
	wantOutcomes(t, []feed.OutcomeState{same, refused, refused, added, same, refused, refused, added, refused})(
		s.rec.ImportUsers(t.Context(), rows))
	wantOutcomes(t, []feed.OutcomeState{same, refused, refused, same, same, refused, refused, same, refused})(
		s.rec.ImportUsers(t.Context(), rows))
	if got := s.readUser(t, 7).User; got != rows[3] {
		t.Errorf("got %+v, want %+v", got, rows[3])
	}
	if got := s.readUser(t, 5).Name; got != "Ada" {
		t.Errorf("the name of a user that was there is %q, want it left alone", got)
	}
	got, err := s.rec.UsersByID(t.Context(), []feed.ID{5, 6, 7, 8, 9})
	wantSet(t, 5, 7, 9)(userIDs(got), err)
}

func testImportPosts(s *suite) {
	t := s.t
	u := s.users(t, 2)
	there := s.post(t, u[0], now)
	id := s.seq.Next()
	rows := []feed.Post{
		{ID: there, Author: u[0], At: now, Kind: "original", Text: "hello"},
		{ID: there, Author: u[1], At: now, Kind: "original", Text: "hello"},
		{ID: there, Author: u[0], At: now + 1, Kind: "original", Text: "hello"},
		{ID: there, Author: u[0], At: now, Kind: "original", Text: "hullo"},
		{ID: id, Author: u[1], At: now - 5, Kind: "original", Text: "new"},
		{ID: id, Author: u[1], At: now - 5, Kind: "original", Text: "new"},
		{ID: id, Author: u[0], At: now - 5, Kind: "original", Text: "new"},
		{ID: s.seq.Next(), Author: s.seq.Next(), At: now, Kind: "original"},
		{ID: -1, Author: u[0], At: now, Kind: "original"},
	}
	wantOutcomes(t, []feed.OutcomeState{same, refused, refused, refused, added, same, refused, refused, refused})(
		s.rec.ImportPosts(t.Context(), rows))
	wantOutcomes(t, []feed.OutcomeState{same, refused, refused, refused, same, same, refused, refused, refused})(
		s.rec.ImportPosts(t.Context(), rows))
	s.recount(t)
	s.wantCounts(t, u[0], feed.UserCounts{Posts: 1})
	s.wantCounts(t, u[1], feed.UserCounts{Posts: 1})
}

func testImportReposts(s *suite) {
	t := s.t
	u := s.users(t, 2)
	original := s.post(t, u[0], now)
	first, second, third := s.seq.Next(), s.seq.Next(), s.seq.Next()
	rows := []feed.Post{
		{ID: first, Author: u[1], At: now, Kind: "repost", RepostOf: original},
		{ID: second, Author: u[1], At: now, Kind: "repost", RepostOf: first},
		{ID: s.seq.Next(), Author: u[1], At: now, Kind: "repost", RepostOf: s.seq.Next()},
		{ID: third, Author: u[0], At: now, Kind: "original"},
		{ID: s.seq.Next(), Author: u[1], At: now, Kind: "repost", RepostOf: third, OriginalAuthor: u[1]},
	}
	wantOutcomes(t, []feed.OutcomeState{added, refused, refused, added, added})(s.rec.ImportPosts(t.Context(), rows))
	wantOutcomes(t, []feed.OutcomeState{same, refused, refused, same, same})(s.rec.ImportPosts(t.Context(), rows))
	s.recount(t)
	s.wantStats(t, original, 0, 0, 1)
	s.wantStats(t, third, 0, 0, 1)
	for _, id := range []feed.ID{rows[0].ID, rows[4].ID} {
		if got := s.readPost(t, id).OriginalAuthor; got != u[0] {
			t.Errorf("original author of %d: got %d, want %d", id, got, u[0])
		}
	}
	if rows[0].OriginalAuthor != 0 {
		t.Error("the caller's rows were changed")
	}
}

func testImportFollows(s *suite) {
	t := s.t
	u := s.users(t, 3)
	s.follow(t, u[0], u[1], now)
	rows := []feed.Follow{
		{Follower: u[0], Followee: u[1], At: now + 5},
		{Follower: u[1], Followee: u[0], At: now},
		{Follower: u[1], Followee: u[0], At: now},
		{Follower: u[2], Followee: s.seq.Next(), At: now},
		{Follower: s.seq.Next(), Followee: u[2], At: now},
		{Follower: u[2], Followee: u[2], At: now},
		{Follower: u[2], Followee: u[0], At: now},
	}
	wantOutcomes(t, []feed.OutcomeState{same, added, same, refused, refused, refused, added})(s.rec.ImportFollows(t.Context(), rows))
	wantOutcomes(t, []feed.OutcomeState{same, same, same, refused, refused, refused, same})(s.rec.ImportFollows(t.Context(), rows))
	s.recount(t)
	s.wantCounts(t, u[0], feed.UserCounts{Followers: 2, Followees: 1})
	s.wantCounts(t, u[1], feed.UserCounts{Followers: 1, Followees: 1})
	s.wantCounts(t, u[2], feed.UserCounts{Followees: 1})
	wantIDs(t, u[1], u[2])(s.rec.Followers(t.Context(), u[0], 0, 10))
	follows, err := s.rec.Followees(t.Context(), u[0], feed.Newest(), 5)
	if want := []feed.Follow{{Follower: u[0], Followee: u[1], At: now}}; err != nil || !slices.Equal(follows, want) {
		t.Errorf("got %v, %v, want %v", follows, err, want)
	}
}

func testImportLikes(s *suite) {
	t := s.t
	u := s.users(t, 2)
	post := s.post(t, u[0], now)
	wantBool(t, true)(s.rec.Like(t.Context(), feed.Like{User: u[0], Post: post, At: now, Weight: 1}))
	rows := []feed.Like{
		{User: u[0], Post: post, At: now + 5, Weight: 3},
		{User: u[1], Post: post, At: now, Weight: 13_883},
		{User: u[1], Post: post, At: now, Weight: 1},
		{User: u[1], Post: s.seq.Next(), At: now, Weight: 1},
		{User: s.seq.Next(), Post: post, At: now, Weight: 1},
	}
	wantOutcomes(t, []feed.OutcomeState{same, added, same, refused, refused})(s.rec.ImportLikes(t.Context(), rows))
	wantOutcomes(t, []feed.OutcomeState{same, same, same, refused, refused})(s.rec.ImportLikes(t.Context(), rows))
	s.recount(t)
	s.wantStats(t, post, 2, 0, 0)
	wantSet(t, post)(s.rec.LikedAmong(t.Context(), u[1], []feed.ID{post}))
}

func testImportBatch(s *suite) {
	t := s.t
	n := s.batch
	users := s.users(t, n)
	posts := make([]feed.Post, n)
	follows := make([]feed.Follow, n)
	for i := range posts {
		posts[i] = feed.Post{ID: s.seq.Next(), Author: users[i%10], At: now + int64(i), Kind: "original"}
		follows[i] = feed.Follow{Follower: users[i], Followee: users[(i+1)%n], At: now}
	}
	all := slices.Repeat([]feed.OutcomeState{added}, n)
	wantOutcomes(t, all)(s.rec.ImportPosts(t.Context(), posts))
	wantOutcomes(t, all)(s.rec.ImportFollows(t.Context(), follows))
	var last, lastOf int64
	wantNoError(t, s.rec.RecountAll(t.Context(), func(done, total int64) {
		if done < last || done > total {
			t.Errorf("progress went from %d to %d of %d", last, done, total)
		}
		last, lastOf = done, total
	}))
	if last != int64(n) || lastOf != int64(n) {
		t.Errorf("progress ended at %d of %d, want %d", last, lastOf, n)
	}
	s.wantCounts(t, users[3], feed.UserCounts{Followers: 1, Followees: 1, Posts: int64(n / 10)})
	s.wantCounts(t, users[n-1], feed.UserCounts{Followers: 1, Followees: 1})
	all = slices.Repeat([]feed.OutcomeState{same}, n)
	wantOutcomes(t, all)(s.rec.ImportPosts(t.Context(), posts))
}

func testImportEmpty(s *suite) {
	t := s.t
	wantBool(t, true)(s.rec.Empty(t.Context()))
	wantOutcomes(t, nil)(s.rec.ImportUsers(t.Context(), nil))
	wantOutcomes(t, nil)(s.rec.ImportPosts(t.Context(), nil))
	wantOutcomes(t, nil)(s.rec.ImportFollows(t.Context(), nil))
	wantOutcomes(t, nil)(s.rec.ImportLikes(t.Context(), nil))
	s.recount(t)
	wantBool(t, true)(s.rec.Empty(t.Context()))
	s.user(t)
	wantBool(t, false)(s.rec.Empty(t.Context()))
}

func testImportedPost(s *suite) {
	t := s.t
	author := s.user(t)
	p := fullPost(1_000_000, author)
	p.Attributes = json.RawMessage(`{"venue": 12.0}`)
	wantOutcomes(t, []feed.OutcomeState{added})(s.rec.ImportPosts(t.Context(), []feed.Post{p}))
	got := s.readPost(t, p.ID)
	if !reflect.DeepEqual(got.Post, p) {
		t.Errorf("got %+v\nwant %+v", got.Post, p)
	}
	if want := (feed.Delivery{State: feed.DeliveryDone}); got.Delivery != want {
		t.Errorf("delivery: got %+v, want %+v", got.Delivery, want)
	}
	wantSet(t)(s.rec.AuthorsInFlight(t.Context()))
	_, err := s.rec.BeginDuty(t.Context(), p.ID, now, now)
	wantCode(t, err, feed.CodeNotFound, "")
	wantBool(t, false)(s.rec.InsertPost(t.Context(), p, feed.Duty{Post: p.ID, Author: author, At: p.At}))
	wantBool(t, true)(s.rec.DeletePost(t.Context(), p.ID, now))
}

func testImportMixed(s *suite) {
	t := s.t
	u := s.users(t, 3)
	mine := s.post(t, u[0], now)
	imported := s.imported(t, u[0], now-10, now+10)
	s.follow(t, u[1], u[0], now)
	wantOutcomes(t, []feed.OutcomeState{added})(s.rec.ImportFollows(t.Context(), []feed.Follow{{Follower: u[2], Followee: u[0], At: now}}))
	s.comment(t, imported[0].ID, u[1], now)
	s.recount(t)
	s.wantCounts(t, u[0], feed.UserCounts{Followers: 2, Posts: 3})
	s.wantStats(t, imported[0].ID, 0, 1, 0)
	wantBool(t, true)(s.rec.DeletePost(t.Context(), imported[1].ID, now))
	wantBool(t, true)(s.rec.Unfollow(t.Context(), u[2], u[0]))
	s.wantCounts(t, u[0], feed.UserCounts{Followers: 1, Posts: 2})
	s.recount(t)
	s.wantCounts(t, u[0], feed.UserCounts{Followers: 1, Posts: 2})
	entries, err := s.rec.Entries(t.Context(), u[:1], feed.Newest(), 5)
	if err != nil || len(entries) != 2 || entries[0].ID != mine || entries[1] != imported[0] {
		t.Errorf("got %v, %v, want the post and what was imported before it", entries, err)
	}
}

func testImportRace(s *suite) {
	t := s.t
	const importers = 4
	users := make([]feed.User, 20)
	for i := range users {
		users[i] = feed.User{ID: s.seq.Next(), Handle: "h" + feed.ID(i).String(), CreatedAt: now}
	}
	outcomes, errs := make([][]feed.Outcome, importers), make([]error, importers)
	atOnce(importers, func(i int) { outcomes[i], errs[i] = s.rec.ImportUsers(t.Context(), users) })
	times := make([]int, len(users))
	for i, err := range errs {
		wantNoError(t, err)
		for j, o := range outcomes[i] {
			switch o.State {
			case added:
				times[j]++
			case refused:
				t.Errorf("user %d was refused: %s", j, o.Reason)
			case same:
			}
		}
	}
	if want := slices.Repeat([]int{1}, len(users)); !slices.Equal(times, want) {
		t.Errorf("users were added %v times, want once each", times)
	}
}
