package feed_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"feedgate/feed"
	"feedgate/store/storetest/redisserver"
)

// dots adds to a model what red dots depend on.
type dots struct {
	*machine
	seq      int // counts operations
	postSeq  map[feed.ID]int
	follows  map[[2]feed.ID]int
	marks    map[feed.ID]feed.Position
	gateways []*gateway
	clients  []*client

	begun   time.Time                   // of the operation under way, or the last
	shows   map[[2]feed.ID]bool         // reader and post: what reading showed after the last operation
	changes map[[2]feed.ID][]visibility // how that changed
	looks   []look                      // of clients that are gone
	outages []outage

	tb       testing.TB
	redis    *redisserver.Server // nil for the one inside the process
	restarts int                 // of it that are left
	snapshot []byte
}

// visibility is a change of what a reader sees, between two moments.
type visibility struct {
	from    time.Time
	visible bool
}

// outage is a time in which Redis was away, or was not known to have lost its data.
type outage struct{ from, to time.Time }

func newDots(tb testing.TB, w *world, redis *redisserver.Server) *dots {
	tb.Helper()
	return &dots{
		machine: &machine{w: w, m: newModel()}, tb: tb, redis: redis,
		postSeq: make(map[feed.ID]int), follows: make(map[[2]feed.ID]int), marks: make(map[feed.ID]feed.Position),
		shows: make(map[[2]feed.ID]bool), changes: make(map[[2]feed.ID][]visibility),
		gateways: []*gateway{w.gateway(), w.gateway()},
	}
}

func (d *dots) close() {
	for _, c := range d.clients {
		c.close()
	}
	for _, g := range d.gateways {
		g.stop()
	}
}

func (d *dots) want(reader feed.ID) (n int, capped bool, newest feed.ID) {
	for _, id := range d.m.feed(reader) {
		p := d.m.find(id)
		if p.Author == reader || !d.marks[reader].Below(p.Position()) || d.postSeq[id] < d.follows[[2]feed.ID{reader, p.Author}] {
			continue
		}
		n++
		if newest == 0 {
			newest = id
		}
	}
	return min(n, feed.MaxUnseen), n > feed.MaxUnseen, newest
}

// quietAndRight waits until every client's last state equals the model's.
func (d *dots) quietAndRight(t *rapid.T) {
	for _, c := range d.clients {
		n, capped, newest := d.want(c.reader)
		eventually(t, lastOf{c, fmt.Sprintf("the dot of %d to be %d (capped %v), newest %d", c.reader, n, capped, newest)}, func() bool {
			s := c.state()
			return s != nil && s.Count == n && s.Capped == capped && newestOf(s) == newest
		})
	}
}

// record notes what has changed for readers since the last operation.
func (d *dots) record() {
	for _, reader := range d.m.people {
		shown := make(map[feed.ID]bool)
		for _, id := range d.m.feed(reader) {
			shown[id] = true
		}
		for i := range d.m.posts {
			key := [2]feed.ID{reader, d.m.posts[i].ID}
			if shown[key[1]] != d.shows[key] {
				d.shows[key] = shown[key[1]]
				d.changes[key] = append(d.changes[key], visibility{from: d.begun, visible: shown[key[1]]})
			}
		}
	}
}

// noLies fails when a state showed a post that reading did not, unless an
// operation had hidden the post by then.
func (d *dots) noLies(t *rapid.T) {
	d.record()
	for _, c := range d.clients {
		d.looks = append(d.looks, c.looks()...)
	}
	for _, l := range d.looks {
		if !l.shown && !d.hidden(l) && !d.out(l) {
			t.Fatalf("a dot that lies: %s; changes %v", l, d.changes[[2]feed.ID{l.reader, l.post}])
		}
	}
	d.looks = nil
}

// hidden reports whether the last operation that began before the reading
// ended, and concerned the post, hid it.
func (d *dots) hidden(l look) bool {
	hidden := false
	for _, c := range d.changes[[2]feed.ID{l.reader, l.post}] {
		if c.from.Before(l.to) {
			hidden = !c.visible
		}
	}
	return hidden
}

func (d *dots) out(l look) bool {
	return slices.ContainsFunc(d.outages, func(o outage) bool { return l.from.Before(o.to) && o.from.Before(l.to) })
}

func (d *dots) publish(t *rapid.T) {
	d.seq++
	before := len(d.m.posts)
	d.machine.publish(t)
	d.published(before)
}

func (d *dots) repost(t *rapid.T) {
	d.seq++
	before := len(d.m.posts)
	d.machine.repost(t)
	d.published(before)
}

func (d *dots) published(before int) {
	for _, p := range d.m.posts[before:] {
		d.postSeq[p.ID] = d.seq
	}
}

func (d *dots) follow(t *rapid.T) {
	d.seq++
	had := maps.Clone(d.m.follows)
	d.machine.follow(t)
	for k, v := range d.m.follows {
		if v && !had[k] {
			d.follows[k] = d.seq
		}
	}
}

// markSeen marks from one of two devices: everything, or up to some page's end.
func (d *dots) markSeen(t *rapid.T) {
	reader := d.someone(t, "reader")
	ctx := context.Background()
	if rapid.Bool().Draw(t, "everything") {
		if err := d.w.svc.MarkFeedSeen(ctx, d.w.reader(reader), nil); err != nil {
			t.Fatalf("MarkFeedSeen: %v", err)
		}
		if shown := d.m.feed(reader); len(shown) > 0 {
			d.mark(reader, d.m.find(shown[0]).Position())
		}
		return
	}
	shown := d.m.feed(reader)
	if len(shown) == 0 {
		t.Skip("nothing to mark")
	}
	at := d.m.find(rapid.SampledFrom(shown).Draw(t, "upTo")).Position()
	if err := d.w.svc.MarkFeedSeen(ctx, d.w.reader(reader), &feed.CursorMark{Position: at, ServerTime: 1}); err != nil {
		t.Fatalf("MarkFeedSeen: %v", err)
	}
	d.mark(reader, at)
}

func (d *dots) mark(reader feed.ID, at feed.Position) {
	if d.marks[reader].Below(at) {
		d.marks[reader] = at
	}
}

func (d *dots) reconnect(t *rapid.T) {
	d.comeBack(t, rapid.IntRange(0, len(d.clients)-1).Draw(t, "client"), rapid.SampledFrom(d.gateways).Draw(t, "gateway"))
}

func (d *dots) comeBack(t *rapid.T, i int, g *gateway) {
	old := d.clients[i]
	old.close()
	d.looks = append(d.looks, old.looks()...)
	d.clients[i] = connect(t, d.w, g, old.reader)
}

// restart ends one gateway and starts another in its place; its clients come back.
func (d *dots) restart(t *rapid.T) {
	i := rapid.IntRange(0, len(d.gateways)-1).Draw(t, "gateway")
	hub := d.gateways[i].hub
	d.gateways[i].stop()
	d.gateways[i] = d.w.gateway()
	for j, c := range d.clients {
		if c.on == hub {
			d.comeBack(t, j, d.gateways[i])
		}
	}
}

// query compares the derived dot with the model's.
func (d *dots) query(t *rapid.T) {
	reader := d.someone(t, "reader")
	dot, err := d.w.svc.RedDot(context.Background(), d.w.reader(reader))
	if err != nil {
		t.Fatalf("RedDot: %v", err)
	}
	n, capped := dot.Count()
	wantN, wantCapped, _ := d.want(reader)
	if n != wantN || capped != wantCapped {
		t.Fatalf("dot of %d: got %d (capped %v), want %d (capped %v)", reader, n, capped, wantN, wantCapped)
	}
}

// save keeps what Redis holds now, for it to come back with later.
func (d *dots) save(t *rapid.T) {
	if d.restarts == 0 {
		t.Skip("Redis stays")
	}
	d.snapshot = d.redis.Snapshot(d.tb)
}

// killRedis kills Redis and starts it again, with nothing or as it was at some
// time. While it is away the record answers, and nothing can be published.
func (d *dots) killRedis(t *rapid.T) {
	if d.restarts == 0 {
		t.Skip("Redis stays")
	}
	d.restarts--
	older := rapid.Bool().Draw(t, "older")
	early := rapid.Bool().Draw(t, "publish before the loss is noticed")
	away := outage{from: time.Now()}
	raised := d.w.counter(feed.EventGenerationRaised)
	before := raised.Load()
	d.redis.Kill(d.tb)
	d.query(t)
	author := d.someone(t, "author")
	if _, err := d.w.svc.PublishPost(context.Background(), d.w.reader(author), feed.NewPost{Text: "lost"}); feed.CodeOf(err) != feed.CodeUnavailable {
		t.Fatalf("publishing without Redis: got %v, want UNAVAILABLE", err)
	}
	if older {
		d.redis.RestartFrom(d.tb, d.snapshot)
	} else {
		d.redis.RestartFrom(d.tb, nil)
	}
	if early {
		d.seq++
		eventually(t, "publishing to work again", func() bool {
			p, err := d.w.svc.PublishPost(context.Background(), d.w.reader(author), feed.NewPost{Text: "early"})
			if err == nil {
				d.m.posts = append(d.m.posts, *p)
				d.postSeq[p.ID] = d.seq
			}
			return err == nil
		})
	}
	// A loss that follows another one at once, before Redis was looked at again, is one loss.
	back := time.Now()
	eventually(t, "the loss to be noticed", func() bool { return raised.Load() > before || time.Since(back) > 5*time.Second })
	eventually(t, "publishing to work", func() bool {
		_, err := d.w.svc.Follow(context.Background(), d.w.reader(author), author)
		return feed.CodeOf(err) != feed.CodeUnavailable
	})
	away.to = time.Now()
	d.outages = append(d.outages, away)
}

func TestEveryRedDotEqualsTheModelsAfterQuiet(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		everyDot(t, onEmbedded(t), nil)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		redis := redisserver.Start(t)
		everyDot(t, redis.URL(), redis)
	})
}

func everyDot(t *testing.T, url string, redis *redisserver.Server) {
	t.Helper()
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		flushAll(t, url)
		w := openWorld(t, smallLists(), url, filepath.Join(dir, strconv.Itoa(n)+".db"))
		defer w.close()
		d := newDots(t, w, redis)
		defer d.close()
		if redis != nil && rapid.IntRange(0, 4).Draw(rt, "restarts") == 4 {
			d.restarts = 2
		}
		d.run(rt, func() { flushAll(t, url) })
	})
}

func (d *dots) run(t *rapid.T, flush func()) {
	for i := range 5 {
		d.m.people = append(d.m.people, d.w.person(fmt.Sprintf("p%d", i)))
		for _, g := range d.gateways {
			d.clients = append(d.clients, connect(t, d.w, g, d.m.people[i]))
		}
	}
	d.w.startWorkers()
	actions := map[string]func(*rapid.T){
		"publish": d.publish, "publish2": d.publish, "repost": d.repost, "delete": d.remove,
		"follow": d.follow, "follow2": d.follow,
		"unfollow":  func(t *rapid.T) { d.relate(t, "unfollow", (*feed.Service).Unfollow, d.m.follows, false) },
		"block":     func(t *rapid.T) { d.relate(t, "block", (*feed.Service).Block, d.m.blocks, true) },
		"unblock":   func(t *rapid.T) { d.relate(t, "unblock", (*feed.Service).Unblock, d.m.blocks, false) },
		"mute":      func(t *rapid.T) { d.relate(t, "mute", (*feed.Service).Mute, d.m.mutes, true) },
		"unmute":    func(t *rapid.T) { d.relate(t, "unmute", (*feed.Service).Unmute, d.m.mutes, false) },
		"mark":      d.markSeen,
		"query":     d.query,
		"reconnect": d.reconnect,
		"restart":   d.restart,
		"flush":     func(*rapid.T) { flush() },
		"save":      d.save,
		"killRedis": d.killRedis,
		"right":     d.quietAndRight,
	}
	for name, act := range actions {
		actions[name] = func(t *rapid.T) {
			d.begun = time.Now()
			act(t)
			d.record()
		}
	}
	actions[""] = d.noLies
	t.Repeat(actions)
	d.quietAndRight(t)
	for _, c := range d.clients {
		c.close()
	}
	d.noLies(t)
}
