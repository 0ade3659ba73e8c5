package recommend_test

import (
	"slices"
	"testing"

	"feedgate/feed"
	"feedgate/feed/recommend"
)

// backends are the in-process Redis and a real one.
func backends() map[string]backend {
	return map[string]backend{"embedded": onEmbedded, "redis": onRedis}
}

// twoGroups are two groups of readers, each of which likes the posts of its own.
type twoGroups struct {
	authors [2][]feed.ID
	fans    [2][]feed.ID
	posts   [2][]feed.ID
}

// groups makes them: each reader likes two thirds of the posts of the group.
func groups(w *world) twoGroups {
	var g twoGroups
	for k, topic := range []string{"sea", "hills"} {
		g.authors[k] = w.persons(8)
		g.fans[k] = w.persons(6)
		for range 2 {
			for _, author := range g.authors[k] {
				g.posts[k] = append(g.posts[k], w.post(author, topic))
			}
		}
		for i, fan := range g.fans[k] {
			for j, p := range g.posts[k] {
				if (i+j)%3 != 0 {
					w.like(fan, p)
				}
			}
		}
	}
	return g
}

func TestDisjointTastesHaveDisjointFeeds(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, recommend.DefaultSettings(), start)
			g := groups(w)
			w.learnAll()
			var tops [2][]feed.ID
			for k := range tops {
				reader := w.persons(1)[0]
				w.like(reader, g.posts[k][:6]...)
				tops[k], _ = w.page(reader, 10)
				if len(tops[k]) != 10 {
					t.Fatalf("got %d posts, want 10", len(tops[k]))
				}
			}
			shared := 0
			for _, id := range tops[0] {
				if slices.Contains(tops[1], id) {
					shared++
				}
			}
			if shared > 3 {
				t.Errorf("the top 10 of two groups share %d posts, want at most 3:\n%v\n%v", shared, tops[0], tops[1])
			}
		})
	}
}

func TestALikeChangesTheNextPageAndUndoingItGivesTheOldOneBack(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, recommend.DefaultSettings(), start)
			g := groups(w)
			w.learnAll()
			reader := w.persons(1)[0]
			w.like(reader, g.posts[0][:4]...)
			w.must(w.learner.Learn(t.Context(), reader))
			before, why := w.page(reader, 100)
			for _, post := range g.posts[1][:2] {
				w.like(reader, post)
			}
			w.must(w.learner.Learn(t.Context(), reader))
			during, _ := w.page(reader, 10)
			if slices.Equal(before[:10], during) {
				t.Errorf("likes changed nothing: %v", during)
			}
			if of := count(g.posts[1], during); of == 0 {
				t.Errorf("none of %v is of the kind that was liked", during)
			}
			for _, post := range g.posts[1][:2] {
				w.unlike(reader, post)
			}
			w.must(w.learner.Learn(t.Context(), reader))
			after, whyNow := w.page(reader, 100)
			if !slices.Equal(before, after) || !slices.Equal(why, whyNow) {
				t.Errorf("after undoing the likes:\ngot  %v\nwant %v", after, before)
			}
		})
	}
}

// count is how many of the posts are among some.
func count(posts, among []feed.ID) int {
	n := 0
	for _, id := range among {
		if slices.Contains(posts, id) {
			n++
		}
	}
	return n
}

// TestOwnPostsAreNeverRecommended: gorse#238, gorse#847.
func TestOwnPostsAreNeverRecommended(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, recommend.DefaultSettings(), start)
			g := groups(w)
			w.learnAll()
			for _, author := range g.authors[0] {
				w.like(author, g.posts[0]...) // their own among them
			}
			w.must(w.learner.Learn(t.Context(), g.authors[0]...))
			author := g.authors[0][0]
			got, _ := w.all(author, 30)
			if len(got) == 0 {
				t.Fatal("the feed is empty")
			}
			for _, id := range got {
				if w.onRecord(id).Author == author {
					t.Errorf("the author's own post %s is recommended to them", id)
				}
			}
		})
	}
}

func TestWhatMayNotBeShownIsNotRecommended(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, recommend.DefaultSettings(), start)
			ctx := t.Context()
			g := groups(w)
			reader := w.persons(1)[0]
			r := w.reader(reader)
			w.like(reader, g.posts[0][12:]...)
			a := g.authors[0]
			w.publish(a[5], feed.NewPost{RepostOf: g.posts[1][0]}) // without words
			w.learnAll()
			for _, hide := range []struct {
				author feed.ID
				how    func() error
			}{
				{a[0], func() error { _, err := w.svc.Block(ctx, r, a[0]); return err }},
				{a[1], func() error { _, err := w.svc.Block(ctx, w.reader(a[1]), reader); return err }},
				{a[2], func() error { _, err := w.svc.Mute(ctx, r, a[2]); return err }},
			} {
				if count(postsOf(w, hide.author, g.posts[0]), first(w.all(reader, 100))) == 0 {
					t.Errorf("the posts of %s were not recommended before", hide.author)
				}
				w.must(hide.how())
				if n := count(postsOf(w, hide.author, g.posts[0]), first(w.all(reader, 100))); n != 0 {
					t.Errorf("%d posts of %s are recommended, want none", n, hide.author)
				}
			}
			gone := postsOf(w, a[3], g.posts[0])
			for _, id := range gone {
				w.must(w.svc.DeletePost(ctx, w.reader(a[3]), id))
			}
			viewed := postsOf(w, a[4], g.posts[0])
			_, err := w.svc.RecordViews(ctx, r, viewed)
			w.must(err)
			got := first(w.all(reader, 100))
			if n := count(append(gone, viewed...), got); n != 0 {
				t.Errorf("%d deleted or viewed posts are recommended, want none", n)
			}
			for i, id := range got {
				if p := w.onRecord(id); p.RepostOf != 0 {
					t.Errorf("a repost without words is recommended: %s", id)
				}
				if slices.Contains(got[:i], id) {
					t.Errorf("post %s is recommended twice", id)
				}
			}
			if want := len(g.posts[0]) + len(g.posts[1]) - 5*2; len(got) != want {
				t.Errorf("got %d posts, want all %d that may be shown", len(got), want)
			}
		})
	}
}

func first[A, B any](a A, _ B) A { return a }

func postsOf(w *world, author feed.ID, among []feed.ID) []feed.ID {
	var own []feed.ID
	for _, id := range among {
		if w.onRecord(id).Author == author {
			own = append(own, id)
		}
	}
	return own
}

func TestNewReadersGetTrendingAndFresh(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, recommend.DefaultSettings(), start)
			g := groups(w)
			w.learnAll()
			unviewed := w.persons(3)
			young := []feed.ID{w.post(unviewed[0]), w.post(unviewed[1]), w.post(unviewed[2])}
			// All others have been viewed by somebody.
			for _, posts := range g.posts {
				_, err := w.svc.RecordViews(t.Context(), w.reader(g.fans[0][0]), posts)
				w.must(err)
			}
			for name, reader := range map[string]feed.ID{"new": w.persons(1)[0], "nobody": 0} {
				got, why := w.page(reader, 20)
				if n := count(young, got); n == 0 {
					t.Errorf("%s: no fresh post among %v", name, got)
				}
				var kinds []feed.ReasonKind
				for i, id := range got {
					kinds = append(kinds, why[i].Kind)
					if slices.Contains(young, id) && why[i].Kind != feed.ReasonFresh {
						t.Errorf("%s: the reason of the fresh post %s is %v", name, id, why[i])
					}
				}
				if kinds[0] != feed.ReasonTrending || !slices.Contains(kinds, feed.ReasonFresh) {
					t.Errorf("%s: the reasons are %v, want TRENDING first and FRESH", name, kinds)
				}
			}
		})
	}
}

func TestReasonsNameTheirSubjects(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, recommend.DefaultSettings(), start)
			g := groups(w)
			w.learnAll()
			reader, friend := w.persons(1)[0], g.fans[1][0]
			_, err := w.svc.Follow(t.Context(), w.reader(reader), friend)
			w.must(err)
			w.like(reader, g.posts[0][:3]...)
			got, why := w.page(reader, 20)
			kinds := make(map[feed.ReasonKind]int)
			for i, reason := range why {
				kinds[reason.Kind]++
				var ok bool
				switch reason.Kind {
				case feed.ReasonLikedSimilar:
					ok = slices.Contains(g.posts[0][:3], reason.Post)
				case feed.ReasonFolloweeLiked:
					ok = reason.User == friend
				case feed.ReasonTopic:
					ok = slices.Contains(w.onRecord(got[i]).Topics, reason.Topic)
				default: // has no subject
					ok = reason == feed.Reason{Kind: reason.Kind}
				}
				if !ok {
					t.Errorf("the reason of %s is %+v", got[i], reason)
				}
			}
			if kinds[feed.ReasonLikedSimilar] == 0 || kinds[feed.ReasonFolloweeLiked] == 0 {
				t.Errorf("the reasons are %v, want LIKED_SIMILAR and FOLLOWEE_LIKED among them", kinds)
			}
		})
	}
}

func TestAStillPoolIsGivenWhole(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, recommend.DefaultSettings(), start)
			authors, reader := w.persons(4), w.persons(1)[0]
			want := make([]feed.ID, 200)
			for i := range want {
				want[i] = w.post(authors[i%len(authors)])
			}
			w.like(reader, want[:5]...)
			w.learnAll()
			for _, size := range []int{7, 100} {
				got := first(w.all(reader, size))
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("by pages of %d: got %d posts, want each of the %d once", size, len(got), len(want))
				}
			}
		})
	}
}
