package socket

import (
	"sync"
	"time"

	"feedgate/feed"
)

const (
	// wheelTick is how exact the wheel is: nothing is early, nothing is later
	// than this.
	wheelTick = 100 * time.Millisecond
	// wheelSlots times wheelTick is how far it looks ahead. What is due later is
	// woken early, finds nothing to do, and is put in again.
	wheelSlots = 512
)

// wheel wakes sockets when their time has come: one goroutine and one ticker
// for all of them, and none while there is no socket.
type wheel struct {
	clock feed.Clock
	epoch time.Time

	mu      sync.Mutex
	slots   [wheelSlots]*socket // heads of lists
	turned  int64               // the last tick that was handled
	sockets int
	quit    chan struct{} // ends the goroutine; nil while there is none
}

// spoke is a socket's place on the wheel. The wheel's lock guards it.
type spoke struct {
	on         bool // between add and remove
	linked     bool
	slot       int64
	prev, next *socket
}

func newWheel(clock feed.Clock) *wheel { return &wheel{clock: clock, epoch: clock.Now()} }

// add takes a socket in, to be woken at the given time.
func (w *wheel) add(s *socket, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.spoke.on = true
	w.sockets++
	if w.quit == nil {
		w.turned = w.tick(w.clock.Now())
		w.quit = make(chan struct{})
		go w.turn(w.quit)
	}
	w.link(s, at)
}

// remove takes a socket out for ever.
func (w *wheel) remove(s *socket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlink(s)
	s.spoke.on = false
	w.sockets--
	if w.sockets == 0 {
		close(w.quit)
		w.quit = nil
	}
}

// set changes when a socket is woken.
func (w *wheel) set(s *socket, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.spoke.on {
		w.unlink(s)
		w.link(s, at)
	}
}

func (w *wheel) tick(t time.Time) int64 { return int64(t.Sub(w.epoch) / wheelTick) }

func (w *wheel) link(s *socket, at time.Time) {
	tick := w.tick(at.Add(wheelTick - 1)) // never early
	tick = min(max(tick, w.turned+1), w.turned+wheelSlots-1)
	p := &s.spoke
	p.slot = tick % wheelSlots
	p.prev, p.next, p.linked = nil, w.slots[p.slot], true
	if p.next != nil {
		p.next.spoke.prev = s
	}
	w.slots[p.slot] = s
}

func (w *wheel) unlink(s *socket) {
	p := &s.spoke
	if !p.linked {
		return
	}
	if p.prev == nil {
		w.slots[p.slot] = p.next
	} else {
		p.prev.spoke.next = p.next
	}
	if p.next != nil {
		p.next.spoke.prev = p.prev
	}
	p.prev, p.next, p.linked = nil, nil, false
}

func (w *wheel) turn(quit <-chan struct{}) {
	ticker := time.NewTicker(wheelTick)
	defer ticker.Stop()
	var due []*socket
	for {
		select {
		case <-quit:
			return
		case <-ticker.C:
		}
		now := w.clock.Now()
		due = w.take(now, due[:0])
		for i, s := range due {
			due[i] = nil
			if at := s.wake(now); !at.IsZero() {
				w.set(s, at)
			}
		}
	}
}

// take gives the sockets whose slots have come up.
func (w *wheel) take(now time.Time, due []*socket) []*socket {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.tick(now)
	for tick := max(w.turned+1, last-wheelSlots+1); tick <= last; tick++ {
		for s := w.slots[tick%wheelSlots]; s != nil; s = w.slots[tick%wheelSlots] {
			w.unlink(s)
			due = append(due, s)
		}
	}
	w.turned = max(w.turned, last)
	return due
}
