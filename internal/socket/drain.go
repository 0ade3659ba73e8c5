package socket

import (
	"context"
	"fmt"
	"time"
)

// Drain closes every socket, spread over the configured time or half of what
// ctx leaves, whichever is less, and refuses new ones from now on. It returns
// when all are gone. When ctx ends first the rest is cut off without a close
// frame, and the error says how many that were. Drain may be called again.
func (t *Transport) Drain(ctx context.Context) error {
	now := t.cfg.Clock.Now()
	spread := t.cfg.DrainSpread
	if end, ok := ctx.Deadline(); ok {
		spread = max(0, min(spread, end.Sub(now)/2))
	}
	for i, all := 0, t.startDraining(); i < len(all); i++ {
		// A map has no order: who goes when is chance.
		all[i].closeAt(now.Add(spread * time.Duration(i) / time.Duration(len(all))))
	}
	select {
	case <-t.empty:
		return nil
	case <-ctx.Done():
	}
	rest := t.all()
	for _, s := range rest {
		s.cut()
	}
	select {
	case <-t.empty:
	case <-time.After(t.cfg.CloseTimeout): // an operation that does not end with its context
	}
	return fmt.Errorf("drain sockets: %d were cut: %w", len(rest), ctx.Err())
}

// startDraining refuses new sockets, and gives those that are open unless they
// were given before.
func (t *Transport) startDraining() []*socket {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.draining {
		return nil
	}
	t.draining = true
	if t.entered == 0 {
		close(t.empty)
	}
	return t.allLocked()
}

func (t *Transport) all() []*socket {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.allLocked()
}

func (t *Transport) allLocked() []*socket {
	all := make([]*socket, 0, len(t.sockets))
	for s := range t.sockets {
		all = append(all, s)
	}
	return all
}
