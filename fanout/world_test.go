package fanout_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"feedgate/fanout"
	"feedgate/feed"
	"feedgate/store/embedded"
	"feedgate/store/redis"
	"feedgate/store/sqlite"
	"feedgate/store/storetest/redisserver"
)

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

const (
	bound = 60 * time.Second // on every wait
	poll  = 10 * time.Millisecond
)

// world is a record, a Redis, and the processes that work on them.
type world struct {
	t      *testing.T
	url    string
	record *sqlite.Record
	hot    *redis.Hot // the test's own connection
	people feed.ID    // readers 1 to people exist
	nextID feed.ID
	posts  []feed.Post
}

// each runs a test on the in-process Redis and on a real one.
func each(t *testing.T, people feed.ID, test func(w *world)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		s, err := embedded.Open(t.Context(), wall{}, slog.New(slog.DiscardHandler), 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		test(newWorld(t, s.URL(), people))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(newWorld(t, redisserver.Start(t).URL(), people))
	})
}

func newWorld(t *testing.T, url string, people feed.ID) *world {
	t.Helper()
	record, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "feedgate.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, url: url, record: record, people: people, nextID: 1 << 60}
	t.Cleanup(func() { w.check(record.Close(context.WithoutCancel(t.Context()))) })
	w.hot = w.open()
	users := make([]feed.User, 0, people)
	for id := feed.ID(1); id <= people; id++ {
		users = append(users, feed.User{ID: id, Handle: "u" + strconv.Itoa(int(id))})
	}
	for part := range slices.Chunk(users, 2000) {
		_, err := record.ImportUsers(t.Context(), part)
		w.check(err)
	}
	return w
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) open() *redis.Hot {
	w.t.Helper()
	h, err := redis.Open(w.t.Context(), redis.Config{URL: w.url, PoolSize: 64})
	w.check(err)
	h.SetGeneration(1)
	w.t.Cleanup(func() { _ = h.Close() })
	return h
}

// do asks again when a busy machine is too slow to answer in time.
func (w *world) do(ops ...feed.Op) {
	w.t.Helper()
	var err error
	for range 5 {
		if err = w.hot.Do(w.t.Context(), ops...); err == nil {
			return
		}
	}
	w.t.Fatal(err)
}

// author makes a person whom the readers up to last follow.
func (w *world) author(last feed.ID) feed.ID {
	w.t.Helper()
	w.nextID++
	id := w.nextID
	w.check(w.record.CreateUser(w.t.Context(), feed.User{ID: id, Handle: "a" + strconv.Itoa(int(id-1<<60))}))
	edges := make([]feed.Follow, 0, last)
	for r := feed.ID(1); r <= last; r++ {
		edges = append(edges, feed.Follow{Follower: r, Followee: id, At: 1})
	}
	for part := range slices.Chunk(edges, 2000) {
		_, err := w.record.ImportFollows(w.t.Context(), part)
		w.check(err)
	}
	return id
}

// activate gives the readers active marks and complete inboxes.
func (w *world) activate(readers ...feed.ID) {
	w.t.Helper()
	for part := range slices.Chunk(readers, 200) {
		ok := false
		for tries := 0; !ok; tries++ {
			if tries == 10 {
				w.t.Fatal("an inbox was not made")
			}
			ok = w.fillInboxes(part) // not when a version was lost to a retried pipeline
		}
	}
}

func (w *world) fillInboxes(readers []feed.ID) bool {
	w.t.Helper()
	now := time.Now()
	touches, opens := make([]feed.Op, len(readers)), make([]feed.Op, len(readers))
	for i, r := range readers {
		touches[i] = &feed.TouchActive{Reader: r, Day: now.UnixMilli() / 86_400_000, Make: now.UnixMilli()}
		opens[i] = &feed.OpenList{List: feed.List{Kind: feed.Inbox, Owner: r}}
	}
	w.do(append(slices.Clone(touches), opens...)...)
	merges := make([]feed.Op, len(readers))
	for i := range readers {
		o := opens[i].(*feed.OpenList)
		merges[i] = &feed.MergeList{
			List: o.List, Version: o.Version, Raw: o.Raw, Generation: o.Generation, TTL: 3_600_000,
			Floor: feed.Floor{Version: o.Version, Epoch: touches[i].(*feed.TouchActive).Epoch},
		}
	}
	w.do(merges...)
	return !slices.ContainsFunc(merges, func(m feed.Op) bool { return !m.(*feed.MergeList).Merged })
}

// every gives the ids from 1 on up to a last one, step by step.
func every(step, to feed.ID) []feed.ID {
	var ids []feed.ID
	for r := feed.ID(1); r <= to; r += step {
		ids = append(ids, r)
	}
	return ids
}

// publish does what publishing does, without the bell.
func (w *world) publish(author feed.ID, lane feed.Lane) feed.Post {
	w.t.Helper()
	now := time.Now()
	w.do(&feed.MarkInFlight{Author: author, Now: now.UnixMilli()})
	stamp, err := w.record.StampPost(w.t.Context(), author, now.UnixMilli())
	w.check(err)
	w.nextID++
	p := feed.Post{ID: w.nextID, Author: author, At: stamp.At, Kind: "original", Text: "hello"}
	_, err = w.record.InsertPost(w.t.Context(), p, feed.Duty{
		Post: p.ID, Author: author, At: p.At, Lane: lane, Total: stamp.Followers,
		Until: now.UnixMilli(), State: feed.DeliveryPending,
	})
	w.check(err)
	w.posts = append(w.posts, p)
	return p
}

func (w *world) ring(lane feed.Lane, post feed.ID) { w.do(&feed.Ring{Lane: lane, Post: post}) }

func (w *world) delivery(post feed.ID) feed.Delivery {
	w.t.Helper()
	rows, err := w.record.PostsByID(w.t.Context(), []feed.ID{post})
	w.check(err)
	if len(rows) != 1 {
		w.t.Fatalf("post %d is not on the record", post)
	}
	return rows[0].Delivery
}

// until polls until ok.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.After(bound)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			for _, p := range w.posts {
				w.t.Logf("post %d: %+v", p.ID, w.delivery(p.ID))
			}
			w.t.Fatalf("not in %v: %s", bound, what)
		}
	}
}

func (w *world) untilState(post feed.ID, state feed.DeliveryState) feed.Delivery {
	w.t.Helper()
	var d feed.Delivery
	w.until("post "+post.String()+" becomes "+string(state), func() bool {
		d = w.delivery(post)
		return d.State == state
	})
	return d
}

func (w *world) wantDone(post feed.ID, total int64) {
	w.t.Helper()
	want := feed.Delivery{State: feed.DeliveryDone, Total: total, Delivered: total}
	if d := w.untilState(post, feed.DeliveryDone); d != want {
		w.t.Errorf("delivery of %d is %+v, want %+v", post, d, want)
	}
}

func (w *world) untilNobodyIsInFlight() {
	w.t.Helper()
	w.until("every in-flight mark is retired", func() bool {
		marks, err := w.hot.Marks(w.t.Context())
		return err == nil && len(marks) == 0
	})
}

// inboxes reads the inboxes of readers.
func (w *world) inboxes(of []feed.ID) map[feed.ID]*feed.ReadList {
	w.t.Helper()
	all := make(map[feed.ID]*feed.ReadList, len(of))
	for part := range slices.Chunk(of, 1000) {
		ops := make([]feed.Op, len(part))
		for i, r := range part {
			op := &feed.ReadList{List: feed.List{Kind: feed.Inbox, Owner: r}, Below: feed.Newest(), Limit: 500}
			ops[i], all[r] = op, op
		}
		w.do(ops...)
	}
	return all
}

func entriesOf(posts []feed.Post) []feed.Entry {
	want := make([]feed.Entry, len(posts))
	for i, p := range posts {
		want[i] = p.Entry()
		want[i].Author = 0
	}
	slices.SortFunc(want, func(a, b feed.Entry) int { return a.Position().Compare(b.Position()) })
	return want
}

// process is one process with workers on connections of its own.
type process struct {
	*fanout.Workers
	wire  *wire
	stop  context.CancelFunc
	ended chan struct{}
}

func settings() fanout.Settings {
	return fanout.Settings{
		TaskSize: 100,
		Poll:     100 * time.Millisecond, Visibility: time.Second, Deliver: 3 * time.Second,
		Lease: time.Second, SaveEvery: 50 * time.Millisecond, StallAfter: 2500 * time.Millisecond,
		ReplayAfter: 10 * time.Minute, SweepEvery: 50 * time.Millisecond, RetireAfter: 300 * time.Millisecond,
		RecountEvery: time.Hour, PruneSpread: time.Hour,
	}
}

// start starts a process; change, if any, alters its configuration.
func (w *world) start(change func(*fanout.Config)) *process {
	w.t.Helper()
	hot := w.open()
	p := &process{ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	p.stop = cancel
	p.wire = newWire(w.record, hot, cancel)
	c := fanout.Config{
		Record: p.wire, Bells: p.wire, Tasks: p.wire, Inboxes: p.wire, Marks: p.wire, Readers: p.wire, Hot: p.wire,
		Clock: wall{}, Log: slog.New(slog.DiscardHandler), Settings: settings(),
	}
	if testing.Verbose() {
		c.Log = slog.New(slog.NewTextHandler(w.t.Output(), nil))
	}
	if change != nil {
		change(&c)
	}
	p.Workers = fanout.New(c)
	go func() {
		defer close(p.ended)
		if err := p.Run(ctx); err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}()
	w.t.Cleanup(p.end)
	return p
}

// end stops a process in order and waits.
func (p *process) end() {
	p.stop()
	<-p.ended
}

// random gives a source of choices whose seed is printed.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// flush empties Redis.
func (w *world) flush() {
	w.t.Helper()
	opt, err := goredis.ParseURL(w.url)
	w.check(err)
	opt.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	c := goredis.NewClient(opt)
	w.check(c.FlushAll(w.t.Context()).Err())
	w.check(c.Close())
}
