package loaders

import (
	"context"
	"sync"
	"time"

	"feedgate/feed"
)

// Cards loads posts as subscriptions show them, for many responses at a time.
// A caller gets what a load has read that began after the call, so nothing
// older than what the caller knows; all who come while a load is under way
// share the next one. However many readers are told of a post at once, it is
// loaded a few times.
type Cards struct {
	load  func(ctx context.Context, post feed.ID) (*feed.Page, error)
	pause time.Duration // between two loads of one post

	mu      sync.Mutex
	waiting map[feed.ID]*cardLoad // the last one asked for, of each post
}

// cardLoad is one load.
type cardLoad struct {
	begun bool
	done  chan struct{}
	page  *feed.Page // with err set when done is closed
	err   error
}

// cardPause keeps the loads of a post that many ask for to fifty a second.
const cardPause = 20 * time.Millisecond

// NewCards makes Cards of a function that loads one.
func NewCards(load func(ctx context.Context, post feed.ID) (*feed.Page, error)) *Cards {
	return &Cards{load: load, pause: cardPause, waiting: make(map[feed.ID]*cardLoad)}
}

// Load returns a post's card. It must not be changed. NOT_FOUND.
func (c *Cards) Load(ctx context.Context, post feed.ID) (*feed.Page, error) {
	c.mu.Lock()
	last := c.waiting[post]
	if last == nil || last.begun {
		next := &cardLoad{done: make(chan struct{})}
		c.waiting[post] = next
		go c.run(context.WithoutCancel(ctx), post, next, last)
		last = next
	}
	c.mu.Unlock()
	select {
	case <-last.done:
		return last.page, last.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// run loads a card, after the load before it and a pause.
func (c *Cards) run(ctx context.Context, post feed.ID, l, before *cardLoad) {
	if before != nil {
		<-before.done
		<-time.After(c.pause)
	}
	c.mu.Lock()
	l.begun = true
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, batchDeadline)
	defer cancel()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.waiting[post] == l {
			delete(c.waiting, post)
		}
		close(l.done)
	}()
	l.page, l.err = safely("cards", func() (*feed.Page, error) { return c.load(ctx, post) })
}
