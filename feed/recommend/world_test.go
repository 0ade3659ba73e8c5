package recommend_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

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

// faultyHot fails round trips with an operation that fails says so of.
type faultyHot struct {
	feed.Hot
	fails atomic.Pointer[func(feed.Op) bool]
	trips atomic.Int64
}

func (h *faultyHot) Do(ctx context.Context, ops ...feed.Op) error {
	h.trips.Add(1)
	if fails := h.fails.Load(); fails != nil {
		for _, op := range ops {
			if (*fails)(op) {
				return feed.Unavailable("out of order", errors.New("a test says so"))
			}
		}
	}
	return h.Hot.Do(ctx, ops...)
}

func (h *faultyHot) breakOn(fails func(feed.Op) bool) { h.fails.Store(&fails) }
func (h *faultyHot) mend()                            { h.fails.Store(nil) }

// world is record, hot data, service, engine and learner.
type world struct {
	tb      testing.TB
	url     string
	record  *sqlite.Record
	hot     *redis.Hot
	faulty  *faultyHot // what engine and learner see
	svc     *feed.Service
	engine  *recommend.Engine
	learner *recommend.Learner
	lost    sync.Map // source -> *atomic.Int64
	people  int
}

// backend gives the address of a fresh hot store.
type backend func(tb testing.TB) string

func onEmbedded(tb testing.TB) string {
	tb.Helper()
	srv, err := embedded.Open(context.Background(), wallClock{}, slog.New(slog.DiscardHandler), 256<<20)
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

func newWorld(tb testing.TB, set recommend.Settings, start backend) *world {
	tb.Helper()
	ctx := context.Background()
	log := slog.New(slog.DiscardHandler)
	w := &world{tb: tb, url: start(tb)}
	var err error
	if w.record, err = sqlite.Open(ctx, filepath.Join(tb.TempDir(), "feedgate.db"), log); err != nil {
		tb.Fatalf("sqlite.Open: %v", err)
	}
	if w.hot, err = redis.Open(ctx, redis.Config{URL: w.url, Log: log}); err != nil {
		tb.Fatalf("redis.Open: %v", err)
	}
	w.faulty = &faultyHot{Hot: w.hot}
	w.engine = recommend.New(recommend.Config{
		Hot: w.faulty, Recent: w.record, Authors: w.record, Clock: wallClock{}, Settings: set,
		Count: func(source string) {
			c, _ := w.lost.LoadOrStore(source, new(atomic.Int64))
			c.(*atomic.Int64).Add(1)
		},
	})
	w.svc = feed.New(feed.Config{
		Record: w.record, Hot: w.hot, Pulse: w.hot, Beats: w.record, Seen: w.record, Notices: w.record,
		Tastes: w.record, Views: w.record, Recommender: w.engine,
		Clock: wallClock{}, IDs: &countingIDs{}, Log: log, Settings: feed.DefaultSettings(),
	})
	if err := w.svc.Start(ctx); err != nil {
		tb.Fatalf("Start: %v", err)
	}
	w.learner = w.newLearner(set)
	stop := running(w.svc.Run)
	tb.Cleanup(func() {
		stop()
		_ = w.hot.Close()
		_ = w.record.Close(ctx)
	})
	return w
}

func (w *world) newLearner(set recommend.Settings) *recommend.Learner {
	return recommend.NewLearner(recommend.LearnerConfig{
		Hot: w.faulty, Record: w.record, Generation: w.svc.Generation, Clock: wallClock{}, Settings: set,
		Poll: 10 * time.Millisecond, IdlePoll: 20 * time.Millisecond, WatchPoll: 20 * time.Millisecond,
	})
}

// losses is how often a source was counted as lost.
func (w *world) losses(source string) int64 {
	if c, ok := w.lost.Load(source); ok {
		return c.(*atomic.Int64).Load()
	}
	return 0
}

// flush loses all hot data.
func (w *world) flush() {
	w.tb.Helper()
	opt, err := goredis.ParseURL(w.url)
	if err != nil {
		w.tb.Fatal(err)
	}
	c := goredis.NewClient(opt)
	defer func() { _ = c.Close() }()
	if err := c.FlushAll(context.Background()).Err(); err != nil {
		w.tb.Fatalf("FLUSHALL: %v", err)
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

// must fails the test on an error.
func (w *world) must(err error) {
	w.tb.Helper()
	if err != nil {
		w.tb.Fatal(err)
	}
}

// persons makes users.
func (w *world) persons(n int) []feed.ID {
	w.tb.Helper()
	ids := make([]feed.ID, n)
	for i := range ids {
		w.people++
		u, err := w.svc.CreateUser(context.Background(), w.reader(0), feed.NewUser{Handle: fmt.Sprintf("user_%d", w.people)})
		w.must(err)
		ids[i] = u.ID
	}
	return ids
}

func (w *world) publish(author feed.ID, p feed.NewPost) feed.ID {
	w.tb.Helper()
	post, err := w.svc.PublishPost(context.Background(), w.reader(author), p)
	w.must(err)
	return post.ID
}

// post publishes a text about topics.
func (w *world) post(author feed.ID, topics ...string) feed.ID {
	w.tb.Helper()
	return w.publish(author, feed.NewPost{Text: "a text", Topics: topics})
}

func (w *world) like(user feed.ID, posts ...feed.ID) {
	w.tb.Helper()
	for _, p := range posts {
		_, err := w.svc.Like(context.Background(), w.reader(user), p)
		w.must(err)
	}
}

func (w *world) unlike(user, post feed.ID) {
	w.tb.Helper()
	_, err := w.svc.Unlike(context.Background(), w.reader(user), post)
	w.must(err)
}

func (w *world) learnAll() {
	w.tb.Helper()
	w.must(w.learner.LearnAll(context.Background()))
}

// page is the first page of the feed of a reader.
func (w *world) page(reader feed.ID, first int) ([]feed.ID, []feed.Reason) {
	w.tb.Helper()
	p, err := w.svc.RecommendFeed(context.Background(), w.reader(reader), first, nil, nil, feed.Want{})
	w.must(err)
	ids := make([]feed.ID, len(p.Items))
	for i, it := range p.Items {
		ids[i] = it.Post.ID
	}
	return ids, p.Reasons
}

// all pages through the feed of a reader to its end.
func (w *world) all(reader feed.ID, size int) ([]feed.ID, []feed.Reason) {
	w.tb.Helper()
	var ids []feed.ID
	var reasons []feed.Reason
	var after *feed.SessionMark
	for range 10_000 {
		p, err := w.svc.RecommendFeed(context.Background(), w.reader(reader), size, after, nil, feed.Want{})
		w.must(err)
		for _, it := range p.Items {
			ids = append(ids, it.Post.ID)
		}
		reasons = append(reasons, p.Reasons...)
		if !p.HasNext {
			return ids, reasons
		}
		after = &p.EndMark
	}
	w.tb.Fatal("paging does not end")
	return nil, nil
}
