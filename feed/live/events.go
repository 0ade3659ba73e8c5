package live

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"feedgate/feed"
)

// readEvents follows the stream. It never gives up: while the stream cannot be
// read, states stand still, and when it can be again everybody is derived anew.
func (h *Hub) readEvents(ctx context.Context) {
	place, lost := "", true
	generation := h.cfg.Generation()
	for ctx.Err() == nil {
		if place == "" {
			last, err := h.cfg.Log.LastEvent(ctx)
			if err != nil {
				h.cfg.Logger.DebugContext(ctx, "the event stream cannot be reached", slog.Any("error", err))
				lost = true
				rest(ctx)
				continue
			}
			place = last
			if lost {
				h.everybody()
				lost = false
			}
		}
		events, next, gap, err := h.cfg.Log.EventsAfter(ctx, place, pollWait)
		if err != nil {
			place, lost = "", true
			rest(ctx)
			continue
		}
		if now := h.cfg.Generation(); gap || now != generation {
			// The stream was lost, and its new entries may stand before our place. What
			// came of it must not be applied: a block may be among what did not.
			generation = now
			place, lost = "", true
			continue
		}
		place = next
		h.handle(ctx, events)
	}
}

func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(retryAfter):
	}
}

func (h *Hub) everybody() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refreshAll()
}

// handle applies events in order. Cards of new posts are loaded once, before
// the lock is taken, if anybody connected follows the author.
func (h *Hub) handle(ctx context.Context, events []feed.GatewayEvent) {
	loaded := make(map[feed.ID]*feed.Page)
	for _, e := range events {
		if e.Kind != feed.EventPublished && e.Kind != feed.EventAnnounced {
			continue
		}
		h.mu.Lock()
		followed := len(h.index[e.Author]) > 0
		h.mu.Unlock()
		if !followed {
			continue
		}
		if card, err := h.cards.get(ctx, e.Post); err == nil {
			loaded[e.Post] = card
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		h.spread(e, loaded[e.Post])
	}
}

// spread gives one event to those whom it concerns.
func (h *Hub) spread(e feed.GatewayEvent, card *feed.Page) {
	switch e.Kind {
	case feed.EventPublished, feed.EventAnnounced:
		for r := range h.index[e.Author] {
			h.give(r, e, card)
		}
		// Whoever is being derived may have come to follow the author just now.
		for _, r := range h.readers {
			if r.waiting {
				if _, known := h.index[e.Author][r]; !known {
					h.give(r, e, card)
				}
			}
		}
	case feed.EventDeleted:
		h.cards.drop(e.Post)
		for _, r := range h.readers {
			h.give(r, e, nil)
		}
	case feed.EventRelated, feed.EventSeen, feed.EventNoticed:
		r := h.readers[e.User]
		if r == nil {
			return
		}
		if e.Kind == feed.EventRelated && e.At != 0 {
			r.follows[e.Author] = e.At
		}
		if e.Kind == feed.EventNoticed && e.Post != 0 {
			for s := range r.subs {
				s.tellNotice(feed.Position{At: e.At, ID: e.Post})
			}
		}
		h.refresh(r)
	}
}

// give applies an event to a reader, or keeps it until the snapshot is there.
func (h *Hub) give(r *reader, e feed.GatewayEvent, card *feed.Page) {
	if r.waiting {
		if len(r.buffer) < maxBuffered {
			r.buffer = append(r.buffer, e)
		} else {
			r.again = true
		}
		return
	}
	if h.apply(r, e) {
		h.show(r, card)
	}
}

// apply changes a reader's state by an event, and reports whether it did.
func (h *Hub) apply(r *reader, e feed.GatewayEvent) bool {
	if r.dot == nil {
		return false
	}
	switch e.Kind {
	case feed.EventPublished, feed.EventAnnounced:
		if r.dot.View.MayQuote(r.id, e.Author, e.Original) {
			h.refresh(r)
			return false
		}
		if !r.dot.View.SeesUnseen(r.id, e.Author, e.Original) || e.At < r.follows[e.Author] {
			return false
		}
		u := feed.Unseen{Position: feed.Position{At: e.At, ID: e.Post}, Author: e.Author, Repost: e.Repost}
		if e.Kind == feed.EventAnnounced {
			// Told again by a dispatcher: most know it. Who does not may have followed
			// the author since it was published, which only deriving can tell.
			if r.dot.Knows(u.Position) {
				return false
			}
			h.refresh(r)
			return false
		}
		return r.dot.Insert(u)
	case feed.EventDeleted:
		_, capped := r.dot.Count()
		changed, unsure := r.dot.Remove(e.Post)
		if !changed && !unsure {
			return false
		}
		if capped || unsure {
			h.refresh(r) // what the bound had cut off moves up
			return false
		}
		return true
	default:
		return false
	}
}

// cards are posts as subscriptions show them, each loaded once for all readers.
// The newest loaded are kept, at most keptCards.
type cards struct {
	deriver Deriver
	loading sync.Mutex // one load at a time

	mu    sync.Mutex
	pages map[feed.ID]*feed.Page
	order []feed.ID // as they were loaded
}

func newCards(d Deriver) *cards {
	return &cards{deriver: d, pages: make(map[feed.ID]*feed.Page)}
}

func (c *cards) kept(post feed.ID) *feed.Page {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pages[post]
}

func (c *cards) drop(post feed.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pages, post) // its place in the order goes with time
}

func (c *cards) keep(post feed.ID, page *feed.Page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages[post] = page
	c.order = append(c.order, post)
	if len(c.order) > keptCards {
		delete(c.pages, c.order[0])
		c.order = c.order[1:]
	}
}

// get returns a post's card, and loads it if need be: one at a time, so that
// many readers of a new post load it once.
func (c *cards) get(ctx context.Context, post feed.ID) (*feed.Page, error) {
	if page := c.kept(post); page != nil {
		return page, nil
	}
	c.loading.Lock()
	defer c.loading.Unlock()
	if page := c.kept(post); page != nil {
		return page, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cardLimit)
	defer cancel()
	page, err := c.deriver.Card(ctx, post)
	if err != nil {
		return nil, err
	}
	c.keep(post, page)
	return page, nil
}
