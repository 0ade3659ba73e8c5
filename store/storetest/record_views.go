package storetest

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
)

func viewTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"views come newest first, each post once": testViews,
		"views are trimmed by number and by age":  testViewsTrimmed,
		"views are what a model says":             testViewsModel,
		"views added at once are all there":       testViewsAtOnce,
	}
}

// view adds views that are not trimmed.
func (s *suite) view(t *testing.T, user feed.ID, at int64, posts ...feed.ID) {
	t.Helper()
	wantNoError(t, s.rec.AddViews(t.Context(), user, posts, at, feed.MaxViews, 0))
}

func testViews(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	posts := make([]feed.ID, 4)
	for i := range posts {
		posts[i] = s.seq.Next()
	}
	wantIDs(t)(s.rec.ViewsOf(t.Context(), a, 0, 10))
	s.view(t, a, now, posts[0], posts[2], posts[0], posts[1])
	s.view(t, a, now+1, posts[3])
	s.view(t, b, now+7, posts[1])
	// Within a millisecond the higher id is first.
	wantIDs(t, posts[3], posts[2], posts[1], posts[0])(s.rec.ViewsOf(t.Context(), a, 0, 10))
	s.view(t, a, now+2, posts[0])
	wantIDs(t, posts[0], posts[3], posts[2], posts[1])(s.rec.ViewsOf(t.Context(), a, 0, 10))
	// An earlier view does not move a later one.
	s.view(t, a, now-5, posts[0], posts[3])
	wantIDs(t, posts[0], posts[3], posts[2], posts[1])(s.rec.ViewsOf(t.Context(), a, 0, 10))
	s.view(t, a, now+9)
	wantIDs(t, posts[0], posts[3])(s.rec.ViewsOf(t.Context(), a, now+1, 10))
	wantIDs(t, posts[0], posts[3], posts[2])(s.rec.ViewsOf(t.Context(), a, 0, 3))
	wantIDs(t)(s.rec.ViewsOf(t.Context(), a, 0, 0))
	wantIDs(t)(s.rec.ViewsOf(t.Context(), a, now+3, 10))
	wantIDs(t, posts[1])(s.rec.ViewsOf(t.Context(), b, 0, 10))
	if n := s.cost(func() { _, _ = s.rec.ViewsOf(t.Context(), a, 0, 10) }); n != 1 {
		t.Errorf("reading took %d commands, want 1", n)
	}
}

func testViewsTrimmed(s *suite) {
	t := s.t
	a, b := s.user(t), s.user(t)
	posts := make([]feed.ID, 120) // more than a command takes along
	for i := range posts {
		posts[i] = s.seq.Next()
	}
	newest := slices.Clone(posts)
	slices.Reverse(newest)
	s.view(t, b, now-9, posts...)
	s.view(t, a, now-9, posts[:5]...)
	// All share a millisecond, so that the number cuts through it.
	wantNoError(t, s.rec.AddViews(t.Context(), a, posts, now, 100, 0))
	wantIDs(t, newest[:100]...)(s.rec.ViewsOf(t.Context(), a, 0, 1_000))
	wantNoError(t, s.rec.AddViews(t.Context(), a, posts[:2], now+1, 100, 0))
	wantIDs(t, slices.Concat([]feed.ID{posts[1], posts[0]}, newest[:98])...)(s.rec.ViewsOf(t.Context(), a, 0, 1_000))
	wantNoError(t, s.rec.AddViews(t.Context(), a, posts[60:61], now+2, 100, now+1))
	wantIDs(t, posts[60], posts[1], posts[0])(s.rec.ViewsOf(t.Context(), a, 0, 1_000))
	// What is too old already does not come, and trims all the same.
	wantNoError(t, s.rec.AddViews(t.Context(), a, posts[5:9], now, 2, now+1))
	wantIDs(t, posts[60], posts[1])(s.rec.ViewsOf(t.Context(), a, 0, 1_000))
	wantNoError(t, s.rec.AddViews(t.Context(), a, nil, now+3, 1, 0))
	wantIDs(t, posts[60])(s.rec.ViewsOf(t.Context(), a, 0, 1_000))
	wantNoError(t, s.rec.AddViews(t.Context(), a, posts[7:8], now+3, 0, 0))
	wantIDs(t)(s.rec.ViewsOf(t.Context(), a, 0, 1_000))
	wantIDs(t, newest...)(s.rec.ViewsOf(t.Context(), b, 0, 1_000))
}

func testViewsModel(s *suite) {
	t := s.t
	sparingly(t, func(rt *rapid.T) {
		people := []feed.ID{s.user(t), s.user(t)}
		views := []map[feed.ID]int64{{}, {}}
		ms, post := rapid.Int64Range(now, now+5), rapid.Int64Range(1, 8)
		for range rapid.IntRange(1, 10).Draw(rt, "steps") {
			who := rapid.IntRange(0, 1).Draw(rt, "who")
			at, since := ms.Draw(rt, "at"), ms.Draw(rt, "since")-3
			keep := rapid.IntRange(0, 8).Draw(rt, "keep")
			var posts []feed.ID
			for _, p := range rapid.SliceOfN(post, 0, 4).Draw(rt, "posts") {
				posts = append(posts, feed.ID(p))
			}
			if err := s.rec.AddViews(t.Context(), people[who], posts, at, keep, since); err != nil {
				rt.Fatal(err)
			}
			views[who] = viewed(views[who], posts, at, keep, since)
			for i, user := range people {
				from, limit := ms.Draw(rt, "from"), rapid.IntRange(0, 9).Draw(rt, "limit")
				want := newestViews(views[i], from)
				want = want[:min(limit, len(want))]
				if got, err := s.rec.ViewsOf(t.Context(), user, from, limit); err != nil || !slices.Equal(got, want) {
					rt.Fatalf("views of %d since %d, at most %d: got %v, %v, want %v", i, from, limit, got, err, want)
				}
			}
		}
	})
}

// viewed gives what is left of views after adding some.
func viewed(views map[feed.ID]int64, posts []feed.ID, at int64, keep int, since int64) map[feed.ID]int64 {
	all := maps.Clone(views)
	for _, p := range posts {
		all[p] = max(all[p], at)
	}
	left := newestViews(all, since)
	left = left[:min(keep, len(left))]
	maps.DeleteFunc(all, func(p feed.ID, _ int64) bool { return !slices.Contains(left, p) })
	return all
}

// newestViews gives the posts viewed at or after a time, newest view first.
func newestViews(views map[feed.ID]int64, since int64) []feed.ID {
	var posts []feed.ID
	for p, at := range views {
		if at >= since {
			posts = append(posts, p)
		}
	}
	slices.SortFunc(posts, func(a, b feed.ID) int {
		return cmp.Or(cmp.Compare(views[b], views[a]), cmp.Compare(b, a))
	})
	return posts
}

func testViewsAtOnce(s *suite) {
	t := s.t
	user := s.user(t)
	const writers, each, keep = 5, 8, 12
	posts := make([]feed.ID, writers*each)
	for i := range posts {
		posts[i] = s.seq.Next()
	}
	atOnce(writers, func(w int) {
		for i := range each {
			at := now + int64(i*writers+w)
			// The first post is viewed by everybody, the others once.
			if err := s.rec.AddViews(t.Context(), user, []feed.ID{posts[0], posts[i*writers+w]}, at, keep, 0); err != nil {
				t.Errorf("AddViews: %v", err)
			}
		}
	})
	want := slices.Clone(posts[len(posts)-keep+1:])
	want = append(want, posts[0]) // viewed last of all, together with the last one, whose id is higher
	last := len(want) - 2
	want[last], want[last+1] = want[last+1], want[last]
	slices.Reverse(want)
	wantIDs(t, want...)(s.rec.ViewsOf(t.Context(), user, 0, 100))
}
