package feed_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"feedgate/feed"
	"feedgate/store/storetest/redisserver"
)

// soonFeed waits until a reader's feed is as wanted, and stays so: the first
// right answer must not be an accident of timing.
func soonFeed(t *testing.T, w *world, reader feed.ID, want []feed.ID) {
	t.Helper()
	eventually(t, fmt.Sprintf("the feed of %d to be right", reader), func() bool {
		return slices.Equal(pageAll(t, w, reader, 3), want)
	})
	for range 5 {
		wantFeed(t, w, reader, 4, want)
	}
}

// A Redis that comes back as it was an hour ago knows deleted posts, ended
// follows and inboxes without what was delivered since.
func TestReadsAreRightAfterRedisCameBackOlder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	srv := redisserver.Start(t)
	w := openWorld(t, smallLists(), srv.URL(), filepath.Join(t.TempDir(), "feedgate.db"))
	w.startWorkers()
	reader, kept, left, blocked := w.person("reader"), w.person("kept"), w.person("left"), w.person("blocked")
	for _, id := range []feed.ID{kept, left, blocked} {
		w.follow(reader, id)
	}
	var posts []feed.Post
	for i := range 4 {
		posts = append(posts, *w.post(kept, fmt.Sprint("k", i)))
		w.post(left, fmt.Sprint("l", i))
		w.post(blocked, fmt.Sprint("b", i))
	}
	w.quiet()
	_ = pageAll(t, w, reader, 3)
	old := srv.Snapshot(t)

	if err := w.svc.DeletePost(ctx, w.reader(kept), posts[0].ID); err != nil {
		t.Fatal(err)
	}
	posts = posts[1:]
	w.must(w.svc.Unfollow(ctx, w.reader(reader), left))
	w.must(w.svc.Block(ctx, w.reader(blocked), reader))
	for i := range 3 {
		posts = append(posts, *w.post(kept, fmt.Sprint("later", i)))
	}
	w.quiet()
	want := newestFirst(posts)
	wantFeed(t, w, reader, 3, want)

	srv.Kill(t)
	wantFeed(t, w, reader, 3, want) // from the record
	srv.RestartFrom(t, old)
	soonFeed(t, w, reader, want)
	if got := w.counter(feed.EventGenerationRaised).Load(); got == 0 {
		t.Error("the generation was not raised")
	}

	// A process that starts afterwards finds it out as well, from the record's beats.
	w.close()
	srv.Kill(t)
	srv.RestartFrom(t, old)
	again := openWorld(t, smallLists(), srv.URL(), w.path)
	wantFeed(t, again, reader, 3, want)
}

// In a Cluster one master dies, and its replica takes over.
func TestReadsAreRightWhenAClusterNodeIsLost(t *testing.T) {
	t.Parallel()
	cluster := redisserver.StartCluster(t)
	w := openWorld(t, smallLists(), cluster.URL(), filepath.Join(t.TempDir(), "feedgate.db"))
	w.startWorkers()
	reader, author := w.person("reader"), w.person("author")
	w.follow(reader, author)
	var posts []feed.Post
	for i := range 12 {
		posts = append(posts, *w.post(author, strconv.Itoa(i)))
	}
	w.quiet()
	wantFeed(t, w, reader, 3, newestFirst(posts))

	key := fmt.Sprintf("inbox:{%d}", reader)
	node := cluster.MasterOf(t, key)
	cluster.Nodes[node].Kill(t)
	wantFeed(t, w, reader, 3, newestFirst(posts)) // while the node is missing
	cluster.AwaitFailover(t, key, node)
	wantFeed(t, w, reader, 3, newestFirst(posts))
	eventually(t, "publishing to work again", func() bool {
		p, err := w.svc.PublishPost(context.Background(), w.reader(author), feed.NewPost{Text: "after", ClientMutationID: "after"})
		if err == nil {
			posts = append(posts, *p)
		}
		return err == nil
	})
	soonFeed(t, w, reader, newestFirst(posts))
	w.quiet()
	soonFeed(t, w, reader, newestFirst(posts))
}
