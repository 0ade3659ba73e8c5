// Package live keeps the red dots of connected readers up to date.
//
// Each gateway has one [Hub]. It indexes author -> connected followers and reads
// the stream of gateway events, so that a publish costs one message to each
// gateway, whatever the number of followers, and no command for each of them:
//
//	mutation ── event ──▶ stream ──▶ Hub ──▶ index[author] ──▶ each reader's state
//	                                              │                     │
//	subscribe ── register, buffer ── snapshot ────┘      latest state ──▶ subscription
//
// State in memory is derived and never trusted for long: whatever the hub
// cannot apply exactly (a gap in the stream, a lost generation, a moved mark, a
// changed relation) makes it derive the reader anew from the feed.
package live

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"feedgate/feed"
)

// Deriver derives a reader's red dot, and brings what a subscription shows of a post.
type Deriver interface {
	Reader(id feed.ID) *feed.Reader
	RedDot(ctx context.Context, r *feed.Reader) (*feed.RedDot, error)
	// Card returns a post with what belongs to it, whoever asks. NOT_FOUND.
	Card(ctx context.Context, post feed.ID) (*feed.Page, error)
	// NewestNotices returns the places of a reader's notices, newest first.
	NewestNotices(ctx context.Context, r *feed.Reader, limit int) ([]feed.Position, error)
}

// Config is what a Hub is made of.
type Config struct {
	Deriver Deriver
	Log     feed.EventLog
	Clock   feed.Clock
	Logger  *slog.Logger
	// Generation tells the hot generation; when it has changed, events were lost.
	Generation func() int64
}

// The bounds of a hub.
const (
	derivers    = 16               // snapshots at a time
	deriveLimit = 10 * time.Second // for one snapshot
	pollWait    = time.Second      // longest wait for events in one command
	maxBuffered = 256              // events that wait for a reader's snapshot
	retryAfter  = 500 * time.Millisecond
	keptCards   = 1024
	cardLimit   = 5 * time.Second
	attempts    = 3 // at a snapshot whose newest post is deleted meanwhile
)

// State is what a red-dot subscription shows.
type State struct {
	Count   int
	Capped  bool
	Newest  *feed.Page // the newest post counted, nil for none
	Notices int
	At      int64 // ms, when it came about
	Err     error // UNAVAILABLE: the state could not be derived; another one follows
}

// Hub keeps the connected readers of one gateway.
type Hub struct {
	cfg   Config
	cards *cards

	mu      sync.Mutex
	readers map[feed.ID]*reader
	index   map[feed.ID]map[*reader]struct{} // author -> connected followers
	due     dueReaders
	closed  bool
}

// reader is one connected person, however many subscriptions there are.
type reader struct {
	id      feed.ID
	subs    map[*Subscription]struct{}
	dot     *feed.RedDot // nil until the first snapshot
	follows map[feed.ID]int64
	waiting bool                // a snapshot is due or under way
	again   bool                // and must be taken once more
	missed  bool                // events may have been missed: notices are told from the record
	buffer  []feed.GatewayEvent // events since the snapshot was asked for
	last    *State
	newest  feed.ID
}

// New makes a Hub; Run must be running for it to work.
func New(cfg Config) *Hub {
	return &Hub{
		cfg:     cfg,
		cards:   newCards(cfg.Deriver),
		readers: make(map[feed.ID]*reader),
		index:   make(map[feed.ID]map[*reader]struct{}),
		due:     newDueReaders(),
	}
}

// Subscription is one client's view of a reader's state.
type Subscription struct {
	// States holds the latest state that was not taken yet. It is closed at the end.
	States chan *State
	// Notices holds the ids of new notices that were not taken yet, the newest
	// ones. It is nil for a subscription that asked for states alone.
	Notices chan feed.ID
	hub     *Hub
	reader  *reader
	begun   bool // it was given a state
	told    told
}

// Subscribe registers a subscription to a reader's states. The first one is a
// snapshot; end it with Close. UNAVAILABLE while stopping.
func (h *Hub) Subscribe(id feed.ID) (*Subscription, error) { return h.subscribe(id, nil) }

// SubscribeNotices registers a subscription to a reader's notices, beside the
// states. Those that come about from now on are told, also when the events that
// told of them were lost, each once; of many that were lost, the newest.
func (h *Hub) SubscribeNotices(id feed.ID) (*Subscription, error) {
	return h.subscribe(id, make(chan feed.ID, noticesQueue))
}

func (h *Hub) subscribe(id feed.ID, notices chan feed.ID) (*Subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, feed.Unavailable("this gateway is stopping: connect again", nil)
	}
	r := h.readers[id]
	if r == nil {
		r = &reader{id: id, subs: make(map[*Subscription]struct{}), follows: make(map[feed.ID]int64)}
		h.readers[id] = r
	}
	s := &Subscription{States: make(chan *State, 1), Notices: notices, hub: h, reader: r}
	r.subs[s] = struct{}{}
	if r.last != nil && !r.waiting && r.last.Err == nil && notices == nil {
		s.offer(r.last) // kept up to date: as good as a snapshot
	} else {
		h.refresh(r)
	}
	return s, nil
}

// Close ends the subscription. Closing again does nothing.
func (s *Subscription) Close() {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := s.reader.subs[s]; !ok {
		return
	}
	delete(s.reader.subs, s)
	s.end()
	if len(s.reader.subs) == 0 {
		h.unindex(s.reader)
		delete(h.readers, s.reader.id)
	}
}

// offer replaces a state that was not taken yet. The hub's lock is held, so
// nobody else fills the channel.
func (s *Subscription) offer(state *State) {
	s.begun = true
	select {
	case <-s.States:
	default:
	}
	s.States <- state
}

// end closes the channels.
func (s *Subscription) end() {
	close(s.States)
	if s.Notices != nil {
		close(s.Notices)
	}
}

// Connected is the number of connected readers.
func (h *Hub) Connected() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.readers)
}

// refresh asks for a snapshot. The lock is held.
func (h *Hub) refresh(r *reader) {
	if r.waiting {
		r.again = true
		return
	}
	r.waiting = true
	r.buffer = nil
	h.due.push(r, len(h.readers))
}

// refreshAll asks for fresh snapshots of everybody, after events may have been
// missed. The lock is held.
func (h *Hub) refreshAll() {
	for _, r := range h.readers {
		r.missed = true
		h.refresh(r)
	}
}

func (h *Hub) unindex(r *reader) {
	if r.dot == nil {
		return
	}
	for _, author := range r.dot.View.Following {
		if set := h.index[author]; set != nil {
			delete(set, r)
			if len(set) == 0 {
				delete(h.index, author)
			}
		}
	}
}

func (h *Hub) enindex(r *reader) {
	for _, author := range r.dot.View.Following {
		set := h.index[author]
		if set == nil {
			set = make(map[*reader]struct{})
			h.index[author] = set
		}
		set[r] = struct{}{}
	}
}

// Run reads events and takes snapshots until ctx ends, and then closes all
// subscriptions.
func (h *Hub) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for range derivers {
		wg.Go(func() { h.takeSnapshots(ctx) })
	}
	h.readEvents(ctx)
	wg.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, r := range h.readers {
		for s := range r.subs {
			s.end()
		}
		clear(r.subs)
	}
	clear(h.readers)
	clear(h.index)
	return nil
}

func (h *Hub) takeSnapshots(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.due.some:
		}
		if r := h.nextDue(); r != nil {
			h.snapshot(ctx, r)
		}
	}
}

// nextDue takes the reader that waits longest; nil for none who is still there.
func (h *Hub) nextDue() *reader {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.due.pop()
	if r == nil || len(r.subs) == 0 {
		return nil
	}
	return r
}

// taken is a snapshot of one reader.
type taken struct {
	dot     *feed.RedDot
	card    *feed.Page // of the newest post; nil without one
	notices []feed.Position
}

// take derives one reader. When the newest post is deleted in between, it
// derives again.
func (h *Hub) take(ctx context.Context, id feed.ID, notices bool) (t taken, err error) {
	ctx, cancel := context.WithTimeout(ctx, deriveLimit)
	defer cancel()
	if notices { // before the rest: events that come in between tell of newer ones
		if t.notices, err = h.cfg.Deriver.NewestNotices(ctx, h.cfg.Deriver.Reader(id), toldAgain); err != nil {
			return t, err
		}
	}
	for range attempts {
		if t.dot, err = h.cfg.Deriver.RedDot(ctx, h.cfg.Deriver.Reader(id)); err != nil || len(t.dot.Unseen) == 0 {
			return t, err
		}
		if t.card, err = h.cards.get(ctx, t.dot.Unseen[0].ID); feed.CodeOf(err) != feed.CodeNotFound {
			return t, err
		}
	}
	return t, err
}

// snapshot derives one reader, applies what was buffered meanwhile, and tells
// the subscriptions.
func (h *Hub) snapshot(ctx context.Context, r *reader) {
	h.mu.Lock()
	missed := r.missed
	r.missed = false
	notices := r.hearsNotices(missed)
	h.mu.Unlock()
	t, err := h.take(ctx, r.id, notices)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(r.subs) == 0 || h.readers[r.id] != r {
		return
	}
	r.waiting = false
	if err != nil {
		r.missed = r.missed || missed
		h.failed(ctx, r, err)
		return
	}
	if notices {
		r.tellMissed(t.notices, missed)
	}
	h.unindex(r)
	r.dot = t.dot
	h.enindex(r)
	clear(r.follows)
	buffer, again := r.buffer, r.again
	r.buffer, r.again = nil, false
	for _, e := range buffer {
		h.apply(r, e)
	}
	if again || len(buffer) >= maxBuffered {
		h.refresh(r)
	}
	h.show(r, t.card)
}

// failed tells that a reader could not be derived, and tries again later.
func (h *Hub) failed(ctx context.Context, r *reader, err error) {
	r.last = nil
	if ctx.Err() != nil {
		return
	}
	h.tell(r, &State{Err: err, At: h.now()})
	h.cfg.Logger.DebugContext(ctx, "a red dot could not be derived", slog.Any("error", err))
	time.AfterFunc(retryAfter, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.readers[r.id] == r {
			h.refresh(r)
		}
	})
}

func (h *Hub) now() int64 { return h.cfg.Clock.Now().UnixMilli() }

// show tells the subscriptions the state, if it differs from the last. card is
// that of some post, used if it is the newest.
func (h *Hub) show(r *reader, card *feed.Page) {
	if r.dot == nil {
		return
	}
	n, capped := r.dot.Count()
	state := &State{Count: n, Capped: capped, Notices: r.dot.Notices, At: h.now()}
	newest := feed.ID(0)
	if n > 0 {
		newest = r.dot.Unseen[0].ID
		switch {
		case card != nil && card.Items[0].Post.ID == newest:
			state.Newest = card
		case r.last != nil && r.newest == newest:
			state.Newest = r.last.Newest
		default:
			if state.Newest = h.cards.kept(newest); state.Newest == nil {
				h.refresh(r) // an older post is the newest again: derive, which brings its card
				return
			}
		}
	}
	if l := r.last; l != nil && l.Err == nil && l.Count == state.Count && l.Capped == state.Capped &&
		l.Notices == state.Notices && r.newest == newest {
		for s := range r.subs {
			if !s.begun {
				s.offer(l) // it came while the state was derived anew
			}
		}
		return
	}
	r.newest = newest
	h.tell(r, state)
}

func (h *Hub) tell(r *reader, state *State) {
	r.last = state
	for s := range r.subs {
		s.offer(state)
	}
}
