package feed_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"feedgate/feed"
)

// Cases 23 and 24: a mark on one device clears the other, an older one never
// raises the count, and a reconnect starts with the right count.
func TestMarksOnlyMoveForwardOnAllDevices(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	g := w.gateway()
	defer g.stop()
	reader, author := w.person("reader"), w.person("author")
	w.follow(reader, author)
	one, two := connect(t, w, g, reader), connect(t, w, g, reader)
	older := w.post(author, "older")
	counts := func(want int) {
		t.Helper()
		for _, c := range []*client{one, two} {
			eventually(t, lastOf{c, fmt.Sprintf("count %d", want)}, func() bool { s := c.state(); return s != nil && s.Count == want })
		}
	}
	counts(1)
	w.post(author, "newer")
	counts(2)
	if err := w.svc.MarkFeedSeen(ctx, w.reader(reader), nil); err != nil {
		t.Fatal(err)
	}
	counts(0)
	if err := w.svc.MarkFeedSeen(ctx, w.reader(reader), &feed.CursorMark{Position: older.Position(), ServerTime: 1}); err != nil {
		t.Fatal(err)
	}
	counts(0)
	one.sub.Close()
	for range 3 {
		w.post(author, "while away")
	}
	one = connect(t, w, g, reader)
	counts(3)
	w.post(author, "live again")
	counts(4)
}

// Case 25: two sockets of one reader; one closes, the other still receives.
func TestClosingOneSubscriptionLeavesTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	g := w.gateway()
	defer g.stop()
	reader, author := w.person("reader"), w.person("author")
	w.follow(reader, author)
	one, two := connect(t, w, g, reader), connect(t, w, g, reader)
	eventually(t, "the first state", func() bool { return two.state() != nil })
	one.sub.Close()
	one.sub.Close() // again does nothing
	p := w.post(author, "x")
	eventually(t, "the dot", func() bool { return newestOf(two.state()) == p.ID })
	two.sub.Close()
	if got := g.hub.Connected(); got != 0 {
		t.Errorf("connected readers: got %d, want 0", got)
	}
}

// A dot that shows can be read: the post is in the feed before its fan-out has begun.
func TestNoDotShowsWhatReadingDoesNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded) // no workers
	g := w.gateway()
	defer g.stop()
	reader, author := w.person("reader"), w.person("author")
	w.follow(reader, author)
	c := connect(t, w, g, reader)
	for range 10 {
		p := w.post(author, "x")
		eventually(t, "the dot", func() bool { return newestOf(c.state()) == p.ID })
		if got := pageAll(t, w, reader, 50); !slices.Contains(got, p.ID) {
			t.Fatal("the dot shows a post that reading does not")
		}
	}
}
