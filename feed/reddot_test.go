package feed_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
	"feedgate/feed/live"
)

// gateway is one process' hub over the world's stores.
type gateway struct {
	hub  *live.Hub
	stop func()
}

func (w *world) gateway() *gateway {
	hub := live.New(live.Config{
		Deriver: w.svc, Log: w.hot, Clock: wallClock{}, Logger: slog.New(slog.DiscardHandler), Generation: w.svc.Generation,
	})
	return &gateway{hub: hub, stop: running(hub.Run)}
}

// client is one subscription and the state that it saw last.
type client struct {
	reader feed.ID
	sub    *live.Subscription
	last   *live.State
}

// lastOf says what was waited for, and what a client saw last.
type lastOf struct {
	c    *client
	what string
}

func (l lastOf) String() string { return l.what + ", last: " + l.c.String() }

func connect(tb rapid.TB, g *gateway, reader feed.ID) *client {
	sub, err := g.hub.Subscribe(reader)
	if err != nil {
		tb.Fatalf("Subscribe: %v", err)
	}
	return &client{reader: reader, sub: sub}
}

// take takes what has come, without waiting.
func (c *client) take() {
	select {
	case s, ok := <-c.sub.States:
		if ok && s.Err == nil {
			c.last = s
		}
	default:
	}
}

func (c *client) String() string {
	if c.last == nil {
		return "no state yet"
	}
	newest := feed.ID(0)
	if c.last.Newest != nil {
		newest = c.last.Newest.Items[0].Post.ID
	}
	return fmt.Sprintf("%d (capped %v), newest %d", c.last.Count, c.last.Capped, newest)
}

// dots adds to a model what red dots depend on.
type dots struct {
	*machine
	seq      int // counts operations
	postSeq  map[feed.ID]int
	follows  map[[2]feed.ID]int
	marks    map[feed.ID]feed.Position
	gateways []*gateway
	clients  []*client
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

func (d *dots) right(c *client) bool {
	c.take()
	n, capped, newest := d.want(c.reader)
	if c.last == nil || c.last.Count != n || c.last.Capped != capped {
		return false
	}
	return (newest == 0) == (c.last.Newest == nil) && (newest == 0 || c.last.Newest.Items[0].Post.ID == newest)
}

// quietAndRight waits until every client's last state equals the model's.
func (d *dots) quietAndRight(t *rapid.T) {
	for _, c := range d.clients {
		n, capped, newest := d.want(c.reader)
		eventually(t, lastOf{c, fmt.Sprintf("the dot of %d to be %d (capped %v), newest %d", c.reader, n, capped, newest)}, func() bool { return d.right(c) })
	}
}

func (d *dots) publish(t *rapid.T) {
	d.seq++
	before := len(d.m.posts)
	d.machine.publish(t)
	for _, p := range d.m.posts[before:] {
		d.postSeq[p.ID] = d.seq
	}
}

func (d *dots) repost(t *rapid.T) {
	d.seq++
	before := len(d.m.posts)
	d.machine.repost(t)
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
	i := rapid.IntRange(0, len(d.clients)-1).Draw(t, "client")
	g := rapid.SampledFrom(d.gateways).Draw(t, "gateway")
	reader := d.clients[i].reader
	d.clients[i].sub.Close()
	d.clients[i] = connect(t, g, reader)
}

// restart ends one gateway and starts another in its place; its clients come back.
func (d *dots) restart(t *rapid.T) {
	i := rapid.IntRange(0, len(d.gateways)-1).Draw(t, "gateway")
	d.gateways[i].stop()
	d.gateways[i] = d.w.gateway()
	for j, c := range d.clients {
		if _, open := <-closedOf(c); !open {
			d.clients[j] = connect(t, d.gateways[i], c.reader)
		}
	}
}

// closedOf tells whether a client's subscription has ended: the channel that it
// returns is closed if so, and holds a value if not.
func closedOf(c *client) <-chan struct{} {
	told := make(chan struct{}, 1)
	for {
		select {
		case s, ok := <-c.sub.States:
			if !ok {
				close(told)
				return told
			}
			if s.Err == nil {
				c.last = s
			}
		default:
			told <- struct{}{}
			return told
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

func TestEveryRedDotEqualsTheModelsAfterQuiet(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]backend{"embedded": onEmbedded, "redis": onRedis} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := start(t)
			n := 0
			rapid.Check(t, func(rt *rapid.T) {
				n++
				flushAll(t, url)
				w := openWorld(t, smallLists(), url, fmt.Sprintf("%s/%d.db", t.TempDir(), n))
				defer w.close()
				d := &dots{
					machine: &machine{w: w, m: newModel()},
					postSeq: make(map[feed.ID]int), follows: make(map[[2]feed.ID]int), marks: make(map[feed.ID]feed.Position),
					gateways: []*gateway{w.gateway(), w.gateway()},
				}
				defer func() {
					for _, g := range d.gateways {
						g.stop()
					}
				}()
				d.run(rt, func() { flushAll(t, url) })
			})
		})
	}
}

func (d *dots) run(t *rapid.T, flush func()) {
	for i := range 5 {
		d.m.people = append(d.m.people, d.w.person(fmt.Sprintf("p%d", i)))
		for _, g := range d.gateways {
			d.clients = append(d.clients, connect(t, g, d.m.people[i]))
		}
	}
	d.w.startWorkers()
	t.Repeat(map[string]func(*rapid.T){
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
		"right":     d.quietAndRight,
	})
	d.quietAndRight(t)
}

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
	one, two := connect(t, g, reader), connect(t, g, reader)
	older := w.post(author, "older")
	counts := func(want int) {
		t.Helper()
		for _, c := range []*client{one, two} {
			eventually(t, fmt.Sprintf("count %d, last %s", want, c), func() bool { c.take(); return c.last != nil && c.last.Count == want })
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
	one = connect(t, g, reader)
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
	one, two := connect(t, g, reader), connect(t, g, reader)
	eventually(t, "the first state", func() bool { two.take(); return two.last != nil })
	one.sub.Close()
	one.sub.Close() // again does nothing
	p := w.post(author, "x")
	eventually(t, "the dot", func() bool {
		two.take()
		return two.last.Newest != nil && two.last.Newest.Items[0].Post.ID == p.ID
	})
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
	c := connect(t, g, reader)
	for range 10 {
		p := w.post(author, "x")
		eventually(t, "the dot", func() bool {
			c.take()
			return c.last != nil && c.last.Newest != nil && c.last.Newest.Items[0].Post.ID == p.ID
		})
		if got := pageAll(t, w, reader, 50); !slices.Contains(got, p.ID) {
			t.Fatal("the dot shows a post that reading does not")
		}
	}
}
