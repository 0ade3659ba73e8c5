package feed_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"feedgate/fanout"
	"feedgate/feed"
	"feedgate/feed/recommend"
	"feedgate/store/embedded"
	"feedgate/store/redis"
	"feedgate/store/sqlite"
	"feedgate/store/storetest/redisserver"
)

// wallClock is the real time.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

// countingIDs are ids in order, above 2^53.
type countingIDs struct{ last atomic.Int64 }

func (c *countingIDs) NextID() (feed.ID, error) { return feed.ID(1<<53 + c.last.Add(1)), nil }

// world is a whole feedgate without its edge: record, hot data, service and,
// while they run, workers.
type world struct {
	tb     testing.TB
	record *sqlite.Record
	hot    *redis.Hot
	svc    *feed.Service
	set    feed.Settings
	events sync.Map // feed.Event -> *atomic.Int64

	recordTrips, hotTrips atomic.Int64

	url, path                       string
	stopService, stopWorkers, close func()
}

// usualLists are the defaults, with marks that go soon.
func usualLists() feed.Settings {
	set := feed.DefaultSettings()
	set.MarkGrace = 250 * time.Millisecond
	return set
}

// smallLists make every boundary come up with few posts.
func smallLists() feed.Settings {
	set := usualLists()
	set.InboxLength, set.InboxSlack, set.OutboxLength, set.NearbyCellLength = 8, 2, 3, 6
	return set
}

// backend gives the address of a fresh hot store.
type backend func(tb testing.TB) string

func onEmbedded(tb testing.TB) string {
	tb.Helper()
	srv, err := embedded.Open(context.Background(), wallClock{}, slog.New(slog.DiscardHandler), 64<<20)
	if err != nil {
		tb.Fatalf("embedded.Open: %v", err)
	}
	tb.Cleanup(srv.Close)
	return srv.URL()
}

func onRedis(tb testing.TB) string {
	tb.Helper()
	return redisserver.Start(tb).URL()
}

func newWorld(tb testing.TB, set feed.Settings, start backend) *world {
	tb.Helper()
	return openWorld(tb, set, start(tb), filepath.Join(tb.TempDir(), "feedgate.db"))
}

// openWorld opens one process' view of a hot store and a record.
func openWorld(tb testing.TB, set feed.Settings, url, path string) *world {
	tb.Helper()
	ctx := context.Background()
	log := slog.New(slog.DiscardHandler)
	w := &world{tb: tb, set: set, stopWorkers: func() {}}
	var err error
	w.record, err = sqlite.Open(ctx, path, log, sqlite.WithHook(func(string) { w.recordTrips.Add(1) }))
	if err != nil {
		tb.Fatalf("sqlite.Open: %v", err)
	}
	w.hot, err = redis.Open(ctx, redis.Config{URL: url, Log: log, OnRoundTrip: func(int) { w.hotTrips.Add(1) }})
	if err != nil {
		tb.Fatalf("redis.Open: %v", err)
	}
	w.svc = feed.New(feed.Config{
		Record: w.record, Hot: w.hot, Pulse: w.hot, Beats: w.record, Seen: w.record, Notices: w.record, Clock: wallClock{}, IDs: &countingIDs{},
		Tastes: w.record, Views: w.record,
		Recommender: recommend.New(recommend.Config{
			Hot: w.hot, Recent: w.record, Authors: w.record, Clock: wallClock{}, Settings: recommend.DefaultSettings(),
		}),
		Log: log, Settings: set, Count: func(e feed.Event) { w.counter(e).Add(1) },
	})
	if err := w.svc.Start(ctx); err != nil {
		tb.Fatalf("Start: %v", err)
	}
	w.url, w.path = url, path
	w.stopService = running(w.svc.Run)
	w.close = sync.OnceFunc(func() {
		w.stopWorkers()
		w.stopService()
		_ = w.hot.Close()
		_ = w.record.Close(ctx)
	})
	tb.Cleanup(w.close)
	return w
}

// flush loses all hot data.
func (w *world) flush() {
	w.tb.Helper()
	flushAll(w.tb, w.url)
}

// flushAll loses all that a server holds.
func flushAll(tb testing.TB, url string) {
	tb.Helper()
	opt, err := goredis.ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	c := goredis.NewClient(opt)
	defer func() { _ = c.Close() }()
	if err := c.FlushAll(context.Background()).Err(); err != nil {
		tb.Fatalf("FLUSHALL: %v", err)
	}
}

// running runs f until the returned function is called, which waits for its end.
func running(f func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = f(ctx)
	}()
	return sync.OnceFunc(func() {
		cancel()
		<-ended
	})
}

func (w *world) counter(e feed.Event) *atomic.Int64 {
	c, _ := w.events.LoadOrStore(e, new(atomic.Int64))
	return c.(*atomic.Int64)
}

func (w *world) startWorkers() { w.startWorkersOn(w.hot) }

// startWorkersOn starts workers whose other business goes over a hot store of its own.
func (w *world) startWorkersOn(hot feed.Hot) {
	w.stopWorkers()
	workers := fanout.New(fanout.Config{
		Record: w.record, Bells: w.hot, Tasks: w.hot, Inboxes: w.hot, Marks: w.hot, Readers: w.hot, Hot: hot,
		Clock: wallClock{}, Log: slog.New(slog.DiscardHandler),
		Settings: fanout.Settings{
			InboxLength: w.set.InboxLength, InboxSlack: w.set.InboxSlack, ActiveWindow: w.set.ActiveWindow,
			NearbyCellLength: w.set.NearbyCellLength, NearbyCellAge: w.set.NearbyCellAge,
			Poll: 20 * time.Millisecond, SweepEvery: 20 * time.Millisecond, RetireAfter: w.set.MarkGrace,
			Lease: 2 * time.Second, SaveEvery: 50 * time.Millisecond,
		},
	})
	stop := running(workers.Run)
	w.stopWorkers = sync.OnceFunc(stop)
}

// quiet waits until nothing is unfinished and no author is marked any more.
func (w *world) quiet() {
	w.tb.Helper()
	eventually(w.tb, "fan-out to end", func() bool {
		authors, err := w.record.AuthorsInFlight(context.Background())
		if err != nil || len(authors) > 0 {
			return false
		}
		marks, err := w.hot.Marks(context.Background())
		return err == nil && len(marks) == 0
	})
}

// eventually polls until ok, for at most 30 seconds.
func eventually(tb rapid.TB, what any, ok func() bool) {
	tb.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			tb.Fatalf("waited in vain for %v", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (w *world) reader(id feed.ID) *feed.Reader { return w.svc.Reader(id) }

// person makes a user.
func (w *world) person(handle string) feed.ID {
	w.tb.Helper()
	u, err := w.svc.CreateUser(context.Background(), w.reader(0), feed.NewUser{Handle: handle})
	if err != nil {
		w.tb.Fatalf("CreateUser(%s): %v", handle, err)
	}
	return u.ID
}

// post publishes a text.
func (w *world) post(author feed.ID, text string) *feed.Post {
	w.tb.Helper()
	p, err := w.svc.PublishPost(context.Background(), w.reader(author), feed.NewPost{Text: text})
	if err != nil {
		w.tb.Fatalf("PublishPost: %v", err)
	}
	return p
}

func (w *world) must(_ *feed.User, err error) {
	w.tb.Helper()
	if err != nil {
		w.tb.Fatal(err)
	}
}

// pageAll follows the feed to its end by pages of a size, and returns the ids.
// It checks that positions move strictly downward and that the walk ends.
func pageAll(tb rapid.TB, w *world, reader feed.ID, size int) []feed.ID {
	tb.Helper()
	var ids []feed.ID
	below := feed.Newest()
	for range 100_000 {
		p, err := w.svc.FollowFeed(context.Background(), w.reader(reader), size, below, feed.Want{})
		if err != nil {
			tb.Fatalf("FollowFeed: %v", err)
		}
		if len(p.Items) > size {
			tb.Fatalf("got %d items on a page of %d", len(p.Items), size)
		}
		for _, it := range p.Items {
			ids = append(ids, it.Post.ID)
		}
		if !p.HasNext {
			return ids
		}
		if !p.HasEnd || !p.End.Below(below) {
			tb.Fatalf("the end of the page is %v, want it below %v", p.End, below)
		}
		below = p.End
	}
	tb.Fatal("paging does not end")
	return nil
}
