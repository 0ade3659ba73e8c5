package fanout

import (
	"context"
	"sync"

	"feedgate/feed"
)

// lane bounds what this process dispatches at a time, and remembers it.
type lane struct {
	name      feed.Lane
	executors int
	slots     chan struct{} // one for each duty in hand
	running   sync.WaitGroup

	mu   sync.Mutex
	hand map[feed.ID]struct{} // posts whose duties are in hand
}

func newLane(name feed.Lane, s LaneSettings) *lane {
	return &lane{
		name:      name,
		executors: s.Executors,
		slots:     make(chan struct{}, s.Dispatches),
		hand:      make(map[feed.ID]struct{}),
	}
}

// wait takes a slot, and reports false when ctx ended first.
func (l *lane) wait(ctx context.Context) bool {
	select {
	case l.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// try takes a slot if one is free.
func (l *lane) try() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// leave gives a slot back.
func (l *lane) leave() { <-l.slots }

// enter notes that a post's duty is in hand, and reports false when it was.
func (l *lane) enter(post feed.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.hand[post]; ok {
		return false
	}
	l.hand[post] = struct{}{}
	return true
}

// holds reports whether a post's duty is in hand.
func (l *lane) holds(post feed.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.hand[post]
	return ok
}

// exit ends what enter noted.
func (l *lane) exit(post feed.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.hand, post)
}

// start dispatches a post's duty in a slot that the caller took.
func (w *Workers) start(ctx context.Context, l *lane, post feed.ID) {
	if !l.enter(post) {
		l.leave()
		return
	}
	l.running.Go(func() {
		defer l.leave()
		defer l.exit(post)
		w.dispatch(ctx, l, post)
	})
}

// listen answers the bells of a lane until ctx ends. It takes no more bells
// than it has slots for: the others stay for other processes.
func (w *Workers) listen(ctx context.Context, l *lane) {
	failures := 0
	for l.wait(ctx) {
		limit := 1 + cap(l.slots) - len(l.slots)
		posts, err := w.Bells.Bells(ctx, l.name, limit, w.Poll)
		if err != nil {
			l.leave()
			if ctx.Err() != nil {
				return
			}
			failures++
			w.quiet.warn(ctx, "fan-out: cannot listen for bells", err)
			pause(ctx, backoff(failures))
			continue
		}
		failures = 0
		if len(posts) == 0 {
			l.leave()
			continue
		}
		for i, post := range posts {
			if i > 0 && !l.wait(ctx) {
				return // the sweeper finds what these bells meant
			}
			w.start(ctx, l, post)
		}
	}
}
