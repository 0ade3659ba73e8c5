package feed_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"feedgate/feed"
	"feedgate/feed/live"
)

// lossyLog is an event stream that cannot be reached for a while, and whose
// events of that time are lost.
type lossyLog struct {
	feed.EventLog
	down atomic.Bool
	lost chan struct{} // holds a token when a reading has failed
}

func (l *lossyLog) LastEvent(ctx context.Context) (string, error) {
	if err := l.err(); err != nil {
		return "", err
	}
	return l.EventLog.LastEvent(ctx)
}

func (l *lossyLog) EventsAfter(ctx context.Context, place string, wait time.Duration) ([]feed.GatewayEvent, string, bool, error) {
	events, next, gap, err := l.EventLog.EventsAfter(ctx, place, min(wait, 20*time.Millisecond))
	if e := l.err(); e != nil {
		return nil, place, false, e
	}
	return events, next, gap, err
}

func (l *lossyLog) err() error {
	if !l.down.Load() {
		return nil
	}
	select {
	case l.lost <- struct{}{}:
	default:
	}
	return feed.Unavailable("the stream is away", nil)
}

// lose loses the events of what f does.
func (l *lossyLog) lose(f func()) {
	l.down.Store(true)
	<-l.lost
	f()
	l.down.Store(false)
	select {
	case <-l.lost:
	default:
	}
}

// notices makes the people whose notices are looked at, and a gateway that can lose events.
func notices(t *testing.T) (w *world, g *gateway, log *lossyLog, mention func(text string)) {
	t.Helper()
	w = newWorld(t, usualLists(), onEmbedded)
	log = &lossyLog{EventLog: w.hot, lost: make(chan struct{}, 1)}
	hub := live.New(live.Config{
		Deriver: w.svc, Log: log, Clock: wallClock{}, Logger: slog.New(slog.DiscardHandler), Generation: w.svc.Generation,
	})
	g = &gateway{hub: hub, stop: running(hub.Run)}
	t.Cleanup(g.stop)
	author := w.person("author")
	return w, g, log, func(text string) {
		t.Helper()
		w.post(author, "@reader "+text)
	}
}

// told takes n notices, and returns the texts of the posts that they are about.
func told(t *testing.T, w *world, sub *live.Subscription, reader feed.ID, n int) []string {
	t.Helper()
	var texts []string
	for range n {
		select {
		case id := <-sub.Notices:
			texts = append(texts, textOf(t, w, reader, id))
		case <-time.After(30 * time.Second):
			t.Fatalf("got %q, and no more", texts)
		}
	}
	return texts
}

func textOf(t *testing.T, w *world, reader, notice feed.ID) string {
	t.Helper()
	n, err := w.svc.Notice(context.Background(), w.reader(reader), notice)
	if err != nil {
		t.Fatal(err)
	}
	items, err := w.svc.Posts(context.Background(), w.reader(reader), []feed.ID{n.Subject})
	if err != nil || items[0].Post == nil {
		t.Fatalf("the post of notice %d: %v", notice, err)
	}
	return items[0].Post.Text
}

// What was lost with the stream is told from the record, each notice once and
// in order, and nothing from before the subscription.
func TestNoticesThatTheStreamLostAreToldOnce(t *testing.T) {
	t.Parallel()
	w, g, log, mention := notices(t)
	reader := w.person("reader")
	earlier, err := g.hub.SubscribeNotices(reader)
	if err != nil {
		t.Fatal(err)
	}
	mention("before")
	told(t, w, earlier, reader, 1) // its event is not under way any more
	earlier.Close()
	sub, err := g.hub.SubscribeNotices(reader)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	<-sub.States
	mention("live")
	want := []string{"@reader live"}
	if got := told(t, w, sub, reader, 1); !slices.Equal(got, want) {
		t.Errorf("live: got %q, want %q", got, want)
	}
	for round := range 3 {
		want = nil
		log.lose(func() {
			for i := range 2 {
				text := fmt.Sprintf("lost %d %d", round, i)
				mention(text)
				want = append(want, "@reader "+text)
			}
		})
		if got := told(t, w, sub, reader, 2); !slices.Equal(got, want) {
			t.Errorf("after a gap: got %q, want %q", got, want)
		}
		mention("again live")
		want = []string{"@reader again live"}
		if got := told(t, w, sub, reader, 1); !slices.Equal(got, want) {
			t.Errorf("after that: got %q, want %q", got, want)
		}
	}
}

// Of many notices that were lost the newest are told.
func TestOfManyLostNoticesTheNewestAreTold(t *testing.T) {
	t.Parallel()
	w, g, log, mention := notices(t)
	reader := w.person("reader")
	sub, err := g.hub.SubscribeNotices(reader)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	<-sub.States
	var want []string
	log.lose(func() {
		for i := range 25 {
			text := fmt.Sprint("lost ", i)
			mention(text)
			want = append(want, "@reader "+text)
		}
	})
	if got := told(t, w, sub, reader, 20); !slices.Equal(got, want[5:]) {
		t.Errorf("got %q, want the newest 20 of %q", got, want)
	}
	mention("live")
	if got := told(t, w, sub, reader, 1); got[0] != "@reader live" {
		t.Errorf("got %q, want the live one", got)
	}
}

// A subscription to states alone has no notices, and lost ones do not disturb it.
func TestStatesCountLostNotices(t *testing.T) {
	t.Parallel()
	w, g, log, mention := notices(t)
	reader := w.person("reader")
	c := connect(t, w, g, reader)
	defer c.close()
	eventually(t, "the first state", func() bool { return c.state() != nil })
	if c.sub.Notices != nil {
		t.Error("it has a channel of notices")
	}
	log.lose(func() { mention("lost") })
	eventually(t, "the count", func() bool { return c.state().Notices == 1 })
}

// haltedLog is an event stream that is read only while the test lets it.
type haltedLog struct {
	feed.EventLog
	reading sync.Mutex
	read    atomic.Int64 // how often it was
}

func (l *haltedLog) EventsAfter(ctx context.Context, place string, wait time.Duration) ([]feed.GatewayEvent, string, bool, error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	l.read.Add(1)
	return l.EventLog.EventsAfter(ctx, place, min(wait, 20*time.Millisecond))
}

// A block whose event is lost with the stream holds all the same: what comes in
// the new stream is not applied to what was derived before.
func TestABlockThatTheStreamLostHidesPosts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onRedis)
	log := &haltedLog{EventLog: w.hot}
	hub := live.New(live.Config{
		Deriver: w.svc, Log: log, Clock: wallClock{}, Logger: slog.New(slog.DiscardHandler), Generation: w.svc.Generation,
	})
	g := &gateway{hub: hub, stop: running(hub.Run)}
	defer g.stop()
	reader, blocker, friend := w.person("reader"), w.person("blocker"), w.person("friend")
	w.follow(reader, blocker)
	w.follow(reader, friend)
	c := connect(t, w, g, reader)
	defer c.close()
	first := w.post(friend, "first")
	eventually(t, lastOf{c, "the first dot"}, func() bool { return newestOf(c.state()) == first.ID })
	log.reading.Lock()
	if _, err := w.svc.Block(ctx, w.reader(blocker), reader); err != nil {
		t.Fatal(err)
	}
	w.flush()
	hidden := w.post(blocker, "hidden")
	before := log.read.Load()
	log.reading.Unlock()
	eventually(t, "the stream to be read on", func() bool { return log.read.Load() > before+1 })
	second := w.post(friend, "second")
	eventually(t, lastOf{c, "the second dot"}, func() bool { return newestOf(c.state()) == second.ID && c.state().Count == 2 })
	for _, l := range c.looks() {
		if l.post == hidden.ID {
			t.Errorf("a post of somebody who blocks: %s", l)
		}
	}
}

// fickle deletes the newest post between a snapshot and its card, as often as told.
type fickle struct {
	*feed.Service
	t      *testing.T
	author feed.ID
	times  atomic.Int64
}

func (f *fickle) Card(ctx context.Context, post feed.ID) (*feed.Page, error) {
	if f.times.Add(-1) >= 0 {
		if err := f.DeletePost(ctx, f.Reader(f.author), post); err != nil {
			f.t.Error(err)
		}
	}
	return f.Service.Card(ctx, post)
}

// A post that is deleted while a snapshot is made is no error.
func TestADeletionDuringASnapshotIsNoError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	author, reader := w.person("author"), w.person("reader")
	w.follow(reader, author)
	want := w.post(author, "stays")
	for i := range 2 {
		w.post(author, fmt.Sprint("goes ", i))
	}
	f := &fickle{Service: w.svc, t: t, author: author}
	f.times.Store(2)
	hub := live.New(live.Config{
		Deriver: f, Log: w.hot, Clock: wallClock{}, Logger: slog.New(slog.DiscardHandler), Generation: w.svc.Generation,
	})
	t.Cleanup(running(hub.Run))
	sub, err := hub.Subscribe(reader)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	s := <-sub.States
	if s.Err != nil || newestOf(s) != want.ID || s.Count != 1 {
		t.Errorf("the first state: count %d, newest %d, error %v; want 1, %d", s.Count, newestOf(s), s.Err, want.ID)
	}
}
