package feed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"feedgate/feed"
)

// importPosts puts posts on the record as an import does, and raises the generation.
func (w *world) importPosts(posts ...feed.Post) {
	w.tb.Helper()
	ctx := context.Background()
	for batch := range slices.Chunk(posts, 2_000) {
		outcomes, err := w.record.ImportPosts(ctx, batch)
		if err != nil {
			w.tb.Fatalf("ImportPosts: %v", err)
		}
		for i, o := range outcomes {
			if o.State != feed.Added {
				w.tb.Fatalf("import of post %d: got %v (%s), want it added", batch[i].ID, o.State, o.Reason)
			}
		}
	}
	gen, err := w.record.Generation(ctx)
	if err != nil {
		w.tb.Fatal(err)
	}
	if gen, err = w.record.RaiseGeneration(ctx, gen); err != nil {
		w.tb.Fatal(err)
	}
	w.hot.SetGeneration(gen)
}

func (w *world) follow(a, b feed.ID) {
	w.tb.Helper()
	w.must(w.svc.Follow(context.Background(), w.reader(a), b))
}

func wantFeed(tb testing.TB, w *world, reader feed.ID, size int, want []feed.ID) {
	tb.Helper()
	if got := pageAll(tb, w, reader, size); !slices.Equal(got, want) {
		tb.Fatalf("feed of %d by pages of %d:\n got  %v\n want %v", reader, size, got, want)
	}
}

// newestFirst gives ids of posts in feed order.
func newestFirst(posts []feed.Post) []feed.ID {
	posts = slices.Clone(posts)
	slices.SortFunc(posts, func(a, b feed.Post) int { return a.Position().Compare(b.Position()) })
	ids := make([]feed.ID, len(posts))
	for i := range posts {
		ids[i] = posts[i].ID
	}
	return ids
}

// Case 1: adjacent 63-bit ids must not be rounded together.
func TestAdjacentLargeIDsComeOnceAndInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	author, reader := w.person("author"), w.person("reader")
	w.follow(reader, author)
	posts := make([]feed.Post, 200)
	for i := range posts {
		posts[i] = feed.Post{ID: feed.ID(math.MaxInt64 - 500 + i), Author: author, At: 1_700_000_000_000, Kind: feed.KindOriginal, Text: "x"}
	}
	w.importPosts(posts...)
	for range 2 { // from the record, then from the inbox
		wantFeed(t, w, reader, 7, newestFirst(posts))
	}
}

// Case 2: any number of posts may share a millisecond, across the floor too.
func TestPostsOfOneMillisecondComeOnce(t *testing.T) {
	t.Parallel()
	for _, length := range []int{5, 30, 1_000} {
		t.Run(strconv.Itoa(length), func(t *testing.T) {
			t.Parallel()
			set := usualLists()
			set.InboxLength = length
			w := newWorld(t, set, onEmbedded)
			reader := w.person("reader")
			var posts []feed.Post
			for i := range 5 {
				author := w.person(fmt.Sprintf("author%d", i))
				w.follow(reader, author)
				for j := range 12 {
					at := int64(1_700_000_000_000)
					if j >= 10 {
						at += int64(j)
					}
					posts = append(posts, feed.Post{ID: feed.ID(1_000 + 100*j + i), Author: author, At: at, Kind: feed.KindOriginal, Text: "x"})
				}
			}
			w.importPosts(posts...)
			for range 2 {
				wantFeed(t, w, reader, 10, newestFirst(posts))
				wantFeed(t, w, reader, 1, newestFirst(posts))
			}
		})
	}
}

// Cases 3, 4 and 16: however many candidates are hidden, there is a cursor as
// long as older rows exist, and the rows below are reached.
func TestHiddenRowsNeverEndAFeed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	reader, shown, hidden := w.person("reader"), w.person("shown"), w.person("hidden")
	w.follow(reader, shown)
	w.follow(reader, hidden)
	var all, visible []feed.Post
	for i := range 40 {
		p := feed.Post{ID: feed.ID(1_000 + i), Author: shown, At: 1_600_000_000_000 + int64(i), Kind: feed.KindOriginal, Text: "x"}
		all, visible = append(all, p), append(visible, p)
	}
	for i := range 2_500 {
		all = append(all, feed.Post{ID: feed.ID(5_000 + i), Author: hidden, At: 1_700_000_000_000 + int64(i), Kind: feed.KindOriginal, Text: "x"})
	}
	w.importPosts(all...)
	_ = pageAll(t, w, reader, 100) // the inbox holds hidden posts only
	w.must(w.svc.Mute(ctx, w.reader(reader), hidden))

	first, err := w.svc.FollowFeed(ctx, w.reader(reader), 30, feed.Newest(), feed.Want{})
	if err != nil {
		t.Fatal(err)
	}
	if !first.HasNext || !first.HasEnd {
		t.Fatalf("first page: HasNext %v, HasEnd %v, want both although all candidates may be hidden", first.HasNext, first.HasEnd)
	}
	wantFeed(t, w, reader, 30, newestFirst(visible))

	// Case 14: to undo it brings back exactly what was there.
	w.must(w.svc.Unmute(ctx, w.reader(reader), hidden))
	wantFeed(t, w, reader, 100, newestFirst(all))
}

// Case 7: with an inbox at its cap and three times as many posts on the record.
func TestScrollingReachesEverythingBelowAFullInbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, smallLists(), onEmbedded)
	w.startWorkers()
	author, reader := w.person("author"), w.person("reader")
	w.follow(reader, author)
	_ = pageAll(t, w, reader, 5)
	var posts []feed.Post
	for range 3 * w.set.InboxLength {
		posts = append(posts, *w.post(author, "x"))
	}
	for _, quiet := range []bool{false, true} {
		if quiet {
			w.quiet()
		}
		for _, size := range []int{1, 4, 100} {
			wantFeed(t, w, reader, size, newestFirst(posts))
		}
	}
}

// Case 9: the same through Redis and through the record alone.
func TestRecordAloneGivesTheSameFeed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, smallLists(), onEmbedded)
	w.startWorkers()
	reader, friend, muted, other := w.person("reader"), w.person("friend"), w.person("muted"), w.person("other")
	for _, id := range []feed.ID{friend, muted} {
		w.follow(reader, id)
	}
	theirs := w.post(other, "by somebody else")
	for i := range 15 {
		w.post(friend, fmt.Sprint("f", i))
		w.post(muted, fmt.Sprint("m", i))
		w.post(reader, fmt.Sprint("r", i))
	}
	if _, err := w.svc.PublishPost(ctx, w.reader(friend), feed.NewPost{RepostOf: theirs.ID}); err != nil {
		t.Fatal(err)
	}
	w.must(w.svc.Mute(ctx, w.reader(reader), muted))
	_ = pageAll(t, w, reader, 7)
	w.quiet()
	through := pageAll(t, w, reader, 7)
	if want := 15 + 15 + 1; len(through) != want {
		t.Fatalf("got %d posts, want %d", len(through), want)
	}

	alone := feed.New(feed.Config{
		Record: w.record, Hot: brokenHot{}, Pulse: w.hot, Beats: w.record, Seen: w.record, Notices: w.record, Clock: wallClock{}, IDs: &countingIDs{}, Settings: w.set,
	})
	w.svc = alone
	if got := pageAll(t, w, reader, 7); !slices.Equal(got, through) {
		t.Fatalf("without Redis:\n got  %v\n want %v", got, through)
	}
	// What cannot be kept right is refused, with nothing on the record.
	if _, err := alone.PublishPost(ctx, alone.Reader(friend), feed.NewPost{Text: "x"}); feed.CodeOf(err) != feed.CodeUnavailable {
		t.Fatalf("publish without Redis: got %v, want UNAVAILABLE", err)
	}
	if got := pageAll(t, w, reader, 7); !slices.Equal(got, through) {
		t.Fatalf("after a refused publish:\n got  %v\n want %v", got, through)
	}
}

// brokenHot is a hot store that cannot be reached.
type brokenHot struct{}

func (brokenHot) Do(context.Context, ...feed.Op) error {
	return feed.Unavailable("no Redis", errors.New("connection refused"))
}

// hookedHot calls a hook before and after each round trip.
type hookedHot struct {
	feed.Hot
	before, after func(ops []feed.Op)
}

func (h hookedHot) Do(ctx context.Context, ops ...feed.Op) error {
	if h.before != nil {
		h.before(ops)
	}
	err := h.Hot.Do(ctx, ops...)
	if h.after != nil {
		h.after(ops)
	}
	return err
}

// Case 10: an id in the inbox whose document is gone.
func TestGhostsInAnInboxAreSkippedAndRemoved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	author, reader := w.person("author"), w.person("reader")
	w.follow(reader, author)
	want := newestFirst([]feed.Post{*w.post(author, "1"), *w.post(author, "2"), *w.post(author, "3")})
	wantFeed(t, w, reader, 2, want)
	ghost := feed.Entry{At: time.Now().UnixMilli() + 1_000, ID: 4_711}
	if err := w.hot.Push(ctx, ghost, []feed.ID{reader}, 1_000, 100); err != nil {
		t.Fatal(err)
	}
	wantFeed(t, w, reader, 2, want)
	list := &feed.ReadList{List: feed.List{Kind: feed.Inbox, Owner: reader}, Below: feed.Newest(), Limit: 10}
	if err := w.hot.Do(ctx, list); err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Entries {
		if e.ID == ghost.ID {
			t.Fatal("the ghost is still in the inbox after it was read")
		}
	}
}

// Case 11: a reader is filling a cache while the post is deleted.
func TestDeleteHidesAlsoFromAReaderWhoIsFillingACache(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded) // no workers: the delivery stands still
	author, reader := w.person("author"), w.person("reader")
	w.follow(reader, author)
	_ = pageAll(t, w, reader, 5)
	kept := w.post(author, "kept")
	for _, point := range []string{"before the lease", "before the fill"} {
		doomed := w.post(author, "doomed")
		w.flush()
		once := sync.OnceFunc(func() {
			if err := w.svc.DeletePost(ctx, w.reader(author), doomed.ID); err != nil {
				t.Errorf("DeletePost %s: %v", point, err)
			}
		})
		slow := feed.New(feed.Config{
			Record: w.record, Pulse: w.hot, Beats: w.record, Seen: w.record, Notices: w.record, Clock: wallClock{}, IDs: &countingIDs{}, Settings: w.set,
			Hot: hookedHot{Hot: w.hot, before: func(ops []feed.Op) {
				for _, op := range ops {
					switch op.(type) {
					case *feed.LeaseDetails[feed.Post]:
						if point == "before the lease" {
							once()
						}
					case *feed.FillDetails[feed.Post]:
						if point == "before the fill" {
							once()
						}
					}
				}
			}},
		})
		if _, err := slow.Posts(ctx, slow.Reader(reader), []feed.ID{doomed.ID, kept.ID}); err != nil {
			t.Fatal(err)
		}
		once()
		items, err := w.svc.Posts(ctx, w.reader(reader), []feed.ID{doomed.ID, kept.ID})
		if err != nil {
			t.Fatal(err)
		}
		if items[0].Post != nil || items[1].Post == nil {
			t.Fatalf("delete %s: doomed visible %v, kept visible %v; want false, true", point, items[0].Post != nil, items[1].Post != nil)
		}
		wantFeed(t, w, reader, 5, []feed.ID{kept.ID})
	}
}

// Case 12: A follows B, B reposts C, A blocks C.
func TestBlockHidesRepostsAtOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	a, b, c := w.person("a"), w.person("b"), w.person("c")
	w.follow(a, b)
	original := w.post(c, "original")
	repost, err := w.svc.PublishPost(ctx, w.reader(b), feed.NewPost{RepostOf: original.ID})
	if err != nil {
		t.Fatal(err)
	}
	wantFeed(t, w, a, 5, []feed.ID{repost.ID})
	w.must(w.svc.Block(ctx, w.reader(a), c))
	wantFeed(t, w, a, 5, nil)
	w.must(w.svc.Unblock(ctx, w.reader(a), c))
	wantFeed(t, w, a, 5, []feed.ID{repost.ID})
}

// Case 13: a fan-out under way must not bring back whom the reader unfollowed,
// and following again leaves no gap.
func TestUnfollowHoldsAgainstAFanOutUnderWay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	author, reader := w.person("author"), w.person("reader")
	w.follow(reader, author)
	first := w.post(author, "before")
	wantFeed(t, w, reader, 5, []feed.ID{first.ID})
	second := w.post(author, "under way")
	w.must(w.svc.Unfollow(ctx, w.reader(reader), author))
	wantFeed(t, w, reader, 5, nil)
	w.startWorkers()
	w.quiet()
	wantFeed(t, w, reader, 5, nil)
	third := w.post(author, "while not followed")
	w.quiet()
	w.follow(reader, author)
	wantFeed(t, w, reader, 5, []feed.ID{third.ID, second.ID, first.ID})
}

// Case 17: whoever fills an inbox dies.
func TestAnotherTakesOverFromADeadFiller(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	author, reader := w.person("author"), w.person("reader")
	w.follow(reader, author)
	p := w.post(author, "x")
	w.flush()
	dead := &feed.TakeLease{Name: string(feed.Inbox), User: reader, Token: "dead", TTL: 1_500}
	if err := w.hot.Do(ctx, dead); err != nil || !dead.Taken {
		t.Fatalf("lease: taken %v, err %v", dead.Taken, err)
	}
	wantFeed(t, w, reader, 5, []feed.ID{p.ID}) // straight from the record meanwhile
	if got := w.counter(feed.EventInboxRebuilt).Load(); got != 0 {
		t.Fatalf("rebuilt %d times while another holds the lease, want 0", got)
	}
	eventually(t, "another one to rebuild", func() bool {
		wantFeed(t, w, reader, 5, []feed.ID{p.ID})
		return w.counter(feed.EventInboxRebuilt).Load() == 1
	})
}

// Case 18: everything lost, and everybody reads at once.
func TestOneRebuildAReaderAfterALoss(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onRedis)
	const readers, reads = 50, 20
	var authors []feed.ID
	var posts []feed.Post
	for i := range 10 {
		authors = append(authors, w.person(fmt.Sprintf("author%d", i)))
	}
	people := make([]feed.ID, readers)
	for i := range people {
		people[i] = w.person(fmt.Sprintf("reader%d", i))
		for _, a := range authors {
			w.follow(people[i], a)
		}
	}
	for i := range 30 {
		posts = append(posts, *w.post(authors[i%len(authors)], strconv.Itoa(i)))
	}
	want := newestFirst(posts)
	raised := w.counter(feed.EventGenerationRaised)
	before := raised.Load()
	w.flush()
	// What is rebuilt before the loss is noticed is rebuilt once more: count from then on.
	eventually(t, "the loss to be noticed", func() bool { return raised.Load() > before })
	var wg sync.WaitGroup
	for range reads {
		for _, id := range people {
			wg.Go(func() {
				p, err := w.svc.FollowFeed(ctx, w.reader(id), 100, feed.Newest(), feed.Want{})
				if err != nil {
					t.Errorf("FollowFeed: %v", err)
					return
				}
				got := make([]feed.ID, len(p.Items))
				for i := range p.Items {
					got[i] = p.Items[i].Post.ID
				}
				if !slices.Equal(got, want) {
					t.Errorf("feed of %d: got %v, want %v", id, got, want)
				}
			})
		}
	}
	wg.Wait()
	if got := w.counter(feed.EventInboxRebuilt).Load(); got != readers {
		t.Errorf("inboxes rebuilt %d times, want once for each of %d readers", got, readers)
	}
}

// Red-dot-free half of case 21: a publish that was acknowledged is in the feed
// with all workers down, and after a loss of all hot data.
func TestPublishedIsReadWithWorkersDownAndHotDataLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, smallLists(), onEmbedded)
	author, reader := w.person("author"), w.person("reader")
	w.follow(reader, author)
	_ = pageAll(t, w, reader, 5)
	var posts []feed.Post
	for i := range 20 {
		posts = append(posts, *w.post(author, strconv.Itoa(i)))
		wantFeed(t, w, reader, 4, newestFirst(posts))
		if i%6 == 5 {
			w.flush()
			wantFeed(t, w, reader, 4, newestFirst(posts))
		}
	}
}

// Two who block each other at the same moment can both take it back.
func TestBlocksOfBothSidesCanBeLifted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	a, b := w.person("a"), w.person("b")
	w.follow(a, b)
	p := w.post(b, "x")
	for _, pair := range [][2]feed.ID{{a, b}, {b, a}} {
		w.must(w.svc.Block(ctx, w.reader(pair[0]), pair[1]))
	}
	wantFeed(t, w, a, 5, nil)
	for _, pair := range [][2]feed.ID{{a, b}, {b, a}} {
		if _, err := w.svc.Follow(ctx, w.reader(pair[0]), pair[1]); feed.CodeOf(err) != feed.CodeForbidden {
			t.Errorf("follow across a block: got %v, want FORBIDDEN", err)
		}
		w.must(w.svc.Unblock(ctx, w.reader(pair[0]), pair[1]))
	}
	wantFeed(t, w, a, 5, []feed.ID{p.ID})
}
