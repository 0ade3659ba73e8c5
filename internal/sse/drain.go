package sse

import (
	"context"
	"fmt"
	"time"
)

// Drain ends every stream without "complete", spread over the configured time
// or half of what ctx leaves, whichever is less, and refuses new ones from now
// on. It returns when all are gone. When ctx ends first the rest is cut off,
// and the error says how many that were. Drain may be called again.
func (t *Transport) Drain(ctx context.Context) error {
	spread := t.cfg.DrainSpread
	if end, ok := ctx.Deadline(); ok {
		spread = max(0, min(spread, end.Sub(t.cfg.Clock.Now())/2))
	}
	all := t.startDraining()
	if len(all) > 0 {
		pause := time.NewTicker(max(spread/time.Duration(len(all)), time.Microsecond))
		defer pause.Stop()
		for i := 0; i < len(all) && ctx.Err() == nil; i++ {
			all[i].stop()
			select {
			case <-pause.C:
			case <-t.empty:
			case <-ctx.Done():
			}
		}
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
	case <-time.After(time.Second): // an operation that does not end with its context
	}
	return fmt.Errorf("drain streams: %d were cut: %w", len(rest), ctx.Err())
}

// startDraining refuses new streams, and gives those that are open unless they
// were given before.
func (t *Transport) startDraining() []*stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.draining {
		return nil
	}
	t.draining = true
	if len(t.streams) == 0 {
		close(t.empty)
	}
	return t.allLocked()
}

func (t *Transport) all() []*stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.allLocked()
}

func (t *Transport) allLocked() []*stream {
	all := make([]*stream, 0, len(t.streams))
	for s := range t.streams {
		all = append(all, s)
	}
	return all
}

// cut ends the operation, and a write that waits.
func (s *stream) cut() {
	s.cancel()
	if err := s.control.SetWriteDeadline(time.Unix(1, 0)); err != nil {
		return // the connection is gone
	}
}
