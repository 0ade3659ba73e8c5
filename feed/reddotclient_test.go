package feed_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

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

// client is one subscription. It takes states as they come, and reads the feed
// at once when one shows a post that the state before did not.
type client struct {
	w      *world
	on     *live.Hub
	reader feed.ID
	sub    *live.Subscription
	ended  chan struct{} // closed when the subscription has ended

	mu     sync.Mutex
	last   *live.State
	checks []look
}

// look is one reading of a feed that followed a state.
type look struct {
	reader, post feed.ID
	from, to     time.Time // when it was read
	shown        bool
	err          error
}

func (l look) String() string {
	return fmt.Sprintf("%d was shown post %d, and reading from %s to %s did not show it: %v",
		l.reader, l.post, l.from.Format(millis), l.to.Format(millis), l.err)
}

const millis = "04:05.000"

func connect(tb rapid.TB, w *world, g *gateway, reader feed.ID) *client {
	tb.Helper()
	sub, err := g.hub.Subscribe(reader)
	if err != nil {
		tb.Fatalf("Subscribe: %v", err)
	}
	c := &client{w: w, on: g.hub, reader: reader, sub: sub, ended: make(chan struct{})}
	go c.listen()
	return c
}

func (c *client) listen() {
	defer close(c.ended)
	before := feed.ID(0)
	for s := range c.sub.States {
		if s.Err != nil {
			continue
		}
		c.mu.Lock()
		c.last = s
		c.mu.Unlock()
		if newest := newestOf(s); newest != 0 && newest != before {
			seen := c.look(s.Newest.Items[0].Post.Position())
			c.mu.Lock()
			c.checks = append(c.checks, seen)
			c.mu.Unlock()
		}
		before = newestOf(s)
	}
}

// look reads the feed down to a post, some items at a time.
func (c *client) look(at feed.Position) look {
	l := look{reader: c.reader, post: at.ID, from: time.Now()}
	below := feed.Newest()
	for {
		p, err := c.w.svc.FollowFeed(context.Background(), c.w.reader(c.reader), 5, below, feed.Want{})
		l.to = time.Now()
		if err != nil {
			l.err = err
			return l
		}
		if slices.ContainsFunc(p.Items, func(i feed.Item) bool { return i.Post.ID == at.ID }) {
			l.shown = true
			return l
		}
		if !p.HasNext || p.End.Below(at) {
			return l
		}
		below = p.End
	}
}

// close ends the subscription, and waits until all it saw was checked.
func (c *client) close() {
	c.sub.Close()
	<-c.ended
}

// state is what the client saw last; nil for nothing.
func (c *client) state() *live.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// looks takes the readings since the last call.
func (c *client) looks() []look {
	c.mu.Lock()
	defer c.mu.Unlock()
	checks := c.checks
	c.checks = nil
	return checks
}

// newestOf is the post that a state shows; 0 for none.
func newestOf(s *live.State) feed.ID {
	if s == nil || s.Newest == nil {
		return 0
	}
	return s.Newest.Items[0].Post.ID
}

// lastOf says what was waited for, and what a client saw last.
type lastOf struct {
	c    *client
	what string
}

func (l lastOf) String() string {
	s := l.c.state()
	if s == nil {
		return l.what + ", and there was no state yet"
	}
	return fmt.Sprintf("%s, last: %d (capped %v), newest %d", l.what, s.Count, s.Capped, newestOf(s))
}
