package feed_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
	"feedgate/feed/recommend"
)

// recommended reads one page; page gives the posts.
func (w *world) recommended(reader feed.ID, first int, after *feed.SessionMark, exclude ...feed.ID) *feed.RecommendPage {
	w.tb.Helper()
	p, err := w.svc.RecommendFeed(context.Background(), w.reader(reader), first, after, exclude, feed.Want{Stats: true, Users: true})
	if err != nil {
		w.tb.Fatalf("RecommendFeed: %v", err)
	}
	return p
}

func shownIDs(p *feed.RecommendPage) []feed.ID {
	ids := make([]feed.ID, len(p.Items))
	for i := range p.Items {
		ids[i] = p.Items[i].Post.ID
	}
	return ids
}

// pool makes posts by several authors.
func (w *world) pool(n int) []feed.ID {
	w.tb.Helper()
	authors := []feed.ID{w.person("pool_a"), w.person("pool_b"), w.person("pool_c")}
	ids := make([]feed.ID, n)
	for i := range ids {
		ids[i] = w.post(authors[i%len(authors)], fmt.Sprintf("post %d", i)).ID
	}
	return ids
}

func TestCase30TenPagesOfAStillPoolAreAHundredPosts(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"reader", "nobody"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, usualLists(), onEmbedded)
			pool := w.pool(200)
			reader := feed.ID(0)
			if who == "reader" {
				reader = w.person("ann")
			}
			var seen []feed.ID
			var after *feed.SessionMark
			for range 10 {
				p := w.recommended(reader, 10, after)
				if len(p.Items) != 10 || !p.HasNext || len(p.Reasons) != 10 || len(p.Marks) != 10 {
					t.Fatalf("got %d posts, next %v, after %d posts", len(p.Items), p.HasNext, len(seen))
				}
				seen = append(seen, shownIDs(p)...)
				after = &p.EndMark
			}
			if set := feed.NewIDSet(slices.Clone(seen)); len(set) != 100 {
				t.Fatalf("100 posts, %d different", len(set))
			}
			for after != nil { // on to the end: the whole pool, and then it ends
				p := w.recommended(reader, 33, after)
				seen = append(seen, shownIDs(p)...)
				if after = &p.EndMark; !p.HasNext {
					after = nil
				}
				if len(seen) > len(pool) {
					t.Fatalf("%d posts of a pool of %d", len(seen), len(pool))
				}
			}
			if got, want := feed.NewIDSet(slices.Clone(seen)), feed.NewIDSet(slices.Clone(pool)); !slices.Equal(got, want) {
				t.Errorf("%d of %d posts came", len(got), len(want))
			}
		})
	}
}

func TestCase31AViewedPostIsAbsentAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	w.pool(60)
	ann := w.person("ann")
	first := w.recommended(ann, 10, nil)
	viewed := shownIDs(first)[:5]
	n, err := w.svc.RecordViews(context.Background(), w.reader(ann), append(viewed, viewed[0], 1<<60))
	if err != nil || n != 5 {
		t.Fatalf("recorded %d, %v; want 5", n, err)
	}
	absent := func(p *feed.RecommendPage, where string) {
		t.Helper()
		for _, id := range shownIDs(p) {
			if slices.Contains(viewed, id) {
				t.Errorf("%s shows the viewed post %d", where, id)
			}
		}
	}
	absent(w.recommended(ann, 60, nil), "a new session")
	again := w.recommended(ann, 10, &feed.SessionMark{Session: first.EndMark.Session})
	absent(again, "the old session")
	w.flush()
	lost := w.recommended(ann, 60, &first.EndMark)
	absent(lost, "a session begun after the loss of the old one")
	if len(lost.Items) != 55 {
		t.Errorf("after the loss of the session %d posts came, want the 55 that were not viewed", len(lost.Items))
	}
	if w.counter(feed.EventSessionLost).Load() == 0 {
		t.Error("the loss of the session was not counted")
	}
}

func TestCase32OwnAndHiddenPostsAreNeverRecommended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	ctx := context.Background()
	ann, bob, cyd, dan, eve := w.person("ann"), w.person("bob"), w.person("cyd"), w.person("dan"), w.person("eve")
	own := w.post(ann, "my own")
	shown := w.post(bob, "to be seen")
	blocked := w.post(cyd, "by somebody blocked")
	muted := w.post(dan, "by somebody muted")
	deleted := w.post(bob, "deleted")
	blocking := w.post(eve, "by somebody who blocks")
	for _, p := range []*feed.Post{own, shown, blocked, muted, deleted, blocking} {
		if _, err := w.svc.Like(ctx, w.reader(bob), p.ID); err != nil {
			t.Fatal(err)
		}
	}
	w.learn()
	before := w.recommended(ann, 20, nil)
	if got := shownIDs(before); len(got) != 5 || slices.Contains(got, own.ID) {
		t.Fatalf("before anything is hidden: %v", got)
	}
	w.must(w.svc.Block(ctx, w.reader(ann), cyd))
	w.must(w.svc.Mute(ctx, w.reader(ann), dan))
	w.must(w.svc.Block(ctx, w.reader(eve), ann))
	if n, err := w.svc.RecordViews(ctx, w.reader(ann), []feed.ID{blocking.ID}); n != 0 || err != nil {
		t.Errorf("a view of a post of somebody who blocks: %d, %v", n, err)
	}
	if err := w.svc.DeletePost(ctx, w.reader(bob), deleted.ID); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*feed.RecommendPage{
		"a new session": w.recommended(ann, 20, nil),
		"the old one":   w.recommended(ann, 20, &feed.SessionMark{Session: before.EndMark.Session}),
	} {
		if got := shownIDs(p); !slices.Equal(got, []feed.ID{shown.ID}) {
			t.Errorf("%s shows %v, want %d alone", name, got, shown.ID)
		}
	}
	if p := w.recommended(ann, 20, nil, shown.ID); len(p.Items) != 0 || p.HasNext {
		t.Errorf("what was excluded came: %v", shownIDs(p))
	}
}

func TestQuotesOfMutedPeopleAreNotRecommended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	ann, bob, dan := w.person("ann"), w.person("bob"), w.person("dan")
	original := w.post(dan, "by somebody who will be muted")
	quote, err := w.svc.PublishPost(t.Context(), w.reader(bob), feed.NewPost{Text: "look at this", RepostOf: original.ID})
	if err != nil {
		t.Fatal(err)
	}
	shown := w.post(bob, "to be seen")
	before := w.recommended(ann, 20, nil)
	if got := shownIDs(before); len(got) != 3 || !slices.Contains(got, quote.ID) {
		t.Fatalf("before anybody is muted: %v", got)
	}
	w.must(w.svc.Mute(t.Context(), w.reader(ann), dan))
	for name, p := range map[string]*feed.RecommendPage{
		"a new session": w.recommended(ann, 20, nil),
		"the old one":   w.recommended(ann, 20, &feed.SessionMark{Session: before.EndMark.Session}),
	} {
		if got := shownIDs(p); !slices.Equal(got, []feed.ID{shown.ID}) {
			t.Errorf("%s shows %v, want %d alone", name, got, shown.ID)
		}
	}
	w.must(w.svc.Unmute(t.Context(), w.reader(ann), dan))
	if got := shownIDs(w.recommended(ann, 20, nil)); len(got) != 3 {
		t.Errorf("after unmuting: %v", got)
	}
}

// More posts than are looked through at once, none of which may be shown.
func TestAFloodOfHiddenPostsDoesNotEndTheFeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	ann, bob, dan := w.person("ann"), w.person("bob"), w.person("dan")
	rows := make([]feed.Post, 3_330)
	var old []feed.ID
	for i := range rows {
		rows[i] = feed.Post{ID: feed.ID(i + 1), Author: dan, At: 1_700_000_000_000 + int64(i), Kind: "original", Text: "flood"}
		switch {
		case i < 30:
			rows[i].Author = bob
			old = append(old, rows[i].ID)
		case i%2 == 0:
			rows[i].Author = ann
		}
	}
	for part := range slices.Chunk(rows, 500) {
		if _, err := w.record.ImportPosts(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	w.must(w.svc.Mute(t.Context(), w.reader(ann), dan))
	var seen []feed.ID
	var after *feed.SessionMark
	pages := 0
	for more := true; more; pages++ {
		p := w.recommended(ann, 7, after)
		seen = append(seen, shownIDs(p)...)
		after, more = &p.EndMark, p.HasNext
		if pages > 50 {
			t.Fatal("the feed does not end")
		}
	}
	if got := feed.NewIDSet(slices.Clone(seen)); len(got) != len(seen) || !slices.Equal(got, feed.NewIDSet(slices.Clone(old))) {
		t.Errorf("%d pages showed %v, want each of the %d visible posts once", pages, seen, len(old))
	}
}

// learn counts all engagements on new boards.
func (w *world) learn() {
	w.tb.Helper()
	l := recommend.NewLearner(recommend.LearnerConfig{
		Hot: w.hot, Record: w.record, Generation: w.svc.Generation, Clock: wallClock{},
		Log: slog.New(slog.DiscardHandler), Settings: recommend.DefaultSettings(),
	})
	if err := l.LearnAll(context.Background()); err != nil {
		w.tb.Fatalf("LearnAll: %v", err)
	}
}

func TestTheCursorsOfASessionAreRepeatable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onRedis)
	w.pool(90)
	ann, bob := w.person("ann"), w.person("bob")
	first := w.recommended(ann, 20, nil)
	second := w.recommended(ann, 20, &first.EndMark)
	for range 3 {
		w.post(bob, "something new")
		if again := w.recommended(ann, 20, &first.EndMark); !slices.Equal(shownIDs(again), shownIDs(second)) {
			t.Fatalf("the second page was %v, and now is %v", shownIDs(second), shownIDs(again))
		}
		if middle := w.recommended(ann, 10, &first.Marks[9]); !slices.Equal(shownIDs(middle), shownIDs(first)[10:]) {
			t.Fatalf("below the tenth edge: %v, want %v", shownIDs(middle), shownIDs(first)[10:])
		}
	}
	others := w.recommended(bob, 20, &first.EndMark)
	if others.EndMark.Session == first.EndMark.Session {
		t.Error("somebody else read on in ann's session")
	}
}

func TestReadingsAtTheEndOfASessionDoNotRankTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	pool := w.pool(620) // more than is ranked at a time
	ann := w.person("ann")
	after := feed.SessionMark{}
	var seen []feed.ID
	for len(seen) < 500 {
		var mark *feed.SessionMark
		if after.Session != "" {
			mark = &after
		}
		p := w.recommended(ann, 100, mark)
		seen, after = append(seen, shownIDs(p)...), p.EndMark
	}
	pages := make([]*feed.RecommendPage, 8)
	var wg sync.WaitGroup
	for i := range pages {
		wg.Go(func() { pages[i] = w.recommended(ann, 100, &after) })
	}
	wg.Wait()
	last := w.recommended(ann, 100, &after)
	for i, p := range pages {
		got := shownIDs(p)
		if len(got) > 0 && !slices.Equal(got, shownIDs(last)) {
			t.Errorf("reading %d showed %v, the session has %v", i, got, shownIDs(last))
		}
		if len(got) == 0 && !p.HasNext {
			t.Errorf("reading %d says that the session has ended", i)
		}
	}
	for mark := &after; mark != nil; {
		p := w.recommended(ann, 100, mark)
		seen = append(seen, shownIDs(p)...)
		if mark = &p.EndMark; !p.HasNext {
			mark = nil
		}
	}
	if set := feed.NewIDSet(slices.Clone(seen)); len(set) != len(seen) || len(seen) != len(pool) {
		t.Errorf("%d posts came, %d different, of %d", len(seen), len(set), len(pool))
	}
}

func TestWithoutHotDataRecentPostsAreRecommended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onRedis)
	pool := w.pool(30)
	ann := w.person("ann")
	slices.Reverse(pool)
	withRedis(t, w.url, func(ctx context.Context, r *goredis.Client) error {
		_ = r.ShutdownNoSave(ctx).Err() // the connection ends instead of an answer
		return nil
	})
	p := w.recommended(ann, 10, nil)
	if got := shownIDs(p); !slices.Equal(got, pool[:10]) || !p.HasNext {
		t.Errorf("got %v, want the newest: %v", got, pool[:10])
	}
	next := w.recommended(ann, 10, &p.EndMark)
	if len(next.Items) == 0 {
		t.Error("the cursor of a session that could not be kept gives nothing")
	}
}

func TestASessionMarkIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	mark := feed.SessionMark{Session: "ABCDEFGHIJKLMNOPQRSTUVWXY2", Offset: 4_321}
	text := feed.EncodeSessionMark(mark)
	if got, err := feed.DecodeSessionMark(text); err != nil || got != mark {
		t.Fatalf("got %+v, %v", got, err)
	}
	for i := range len(text) {
		damaged := []byte(text)
		damaged[i] ^= 1
		if got, err := feed.DecodeSessionMark(string(damaged)); err == nil && got != mark {
			t.Errorf("byte %d damaged: read as %+v", i, got)
		}
		if _, err := feed.DecodeSessionMark(text[:i]); err == nil {
			t.Errorf("cut at %d: read", i)
		}
	}
	for _, other := range []string{
		feed.EncodeCursor(feed.CursorFollowFeed, feed.Position{At: 1, ID: 2}, 3), "", "é", text + text,
	} {
		if _, err := feed.DecodeSessionMark(other); feed.CodeOf(err) != feed.CodeBadInput {
			t.Errorf("%q: %v, want BAD_USER_INPUT", other, err)
		}
	}
}

func TestAReasonNamesNobodyWhoIsNotFollowedAnyMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	ctx := context.Background()
	ann, bob, cyd := w.person("ann"), w.person("bob"), w.person("cyd")
	liked := w.post(cyd, "liked by bob")
	w.must(w.svc.Follow(ctx, w.reader(ann), bob))
	if _, err := w.svc.Like(ctx, w.reader(bob), liked.ID); err != nil {
		t.Fatal(err)
	}
	w.learn()
	first := w.recommended(ann, 5, nil)
	if len(first.Reasons) != 1 || first.Reasons[0] != (feed.Reason{Kind: feed.ReasonFolloweeLiked, User: bob}) {
		t.Fatalf("got %+v, want what bob liked", first.Reasons)
	}
	w.must(w.svc.Unfollow(ctx, w.reader(ann), bob))
	again := w.recommended(ann, 5, &feed.SessionMark{Session: first.EndMark.Session})
	if len(again.Reasons) != 1 || again.Reasons[0] != (feed.Reason{Kind: feed.ReasonTrending}) {
		t.Errorf("after the unfollow the session says %+v", again.Reasons)
	}
}
