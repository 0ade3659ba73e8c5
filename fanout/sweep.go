package fanout

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"feedgate/feed"
)

const (
	dueLimit     = 128   // due duties read at a time,
	dueLimitHigh = 4096  // and at most, when those of a busy lane hide others
	markChunk    = 1000  // authors asked for at a time
	countLimit   = 500   // counters recounted at a time
	countRounds  = 20    // recounts before the next pause
	owedLimit    = 10000 // recounted counters that could not be dropped yet
	pruneLimit   = 500   // readers pruned at a time
	pruneRounds  = 10000 // in one pass
)

// sweep runs the repairs, each at its own pace, until ctx ends.
func (w *Workers) sweep(ctx context.Context) {
	due := sweeper{w: w, limit: dueLimit}
	marks := retirer{w: w, suspects: make(map[feed.ID]suspect)}
	counts := recounter{w: w}
	var all sync.WaitGroup
	for _, job := range []struct {
		name         string
		first, every time.Duration
		do           func(context.Context) error
	}{
		{"due duties", within(w.SweepEvery), w.SweepEvery, due.pass},
		{"in-flight marks", within(w.SweepEvery), w.SweepEvery, marks.pass},
		{"counters", within(w.RecountEvery), w.RecountEvery, counts.pass},
		{"inactive readers", within(w.PruneSpread), w.PruneEvery, w.prune},
	} {
		all.Go(func() {
			for wait := job.first; pause(ctx, wait); wait = jitter(job.every) {
				if err := job.do(ctx); err != nil && ctx.Err() == nil {
					w.quiet.warn(ctx, "sweeper: a pass failed", err, slog.String("job", job.name))
				}
			}
		})
	}
	all.Wait()
}

// sweeper starts duties that nobody holds: their bell was lost, their
// dispatcher was killed, or they failed a while ago.
type sweeper struct {
	w     *Workers
	limit int
}

func (s *sweeper) pass(ctx context.Context) error {
	// A new post is due at once: its bell comes first, as a rule.
	now := s.w.now()
	due, err := s.w.Record.DueDuties(ctx, s.w.in(-s.w.SweepEvery), s.limit)
	if err != nil {
		return err
	}
	lag := time.Duration(0)
	started := make([]feed.Duty, 0, len(due))
	for _, d := range due {
		l := s.w.laneOf(d.Lane)
		if l.holds(d.Post) {
			continue
		}
		lag = max(lag, time.Duration(now-d.Until)*time.Millisecond)
		if l.try() {
			s.w.start(ctx, l, d.Post)
			started = append(started, d)
		}
	}
	s.w.Hooks.DutyLag(lag)
	// A page full of duties whose lane has no slot may hide those of the other lane.
	if len(due) == s.limit && len(started) == 0 {
		s.limit = min(2*s.limit, dueLimitHigh)
	} else {
		s.limit = dueLimit
	}
	return s.mark(ctx, started)
}

// mark marks the authors of duties that were left alone in flight once more,
// in case the mark was lost along with whoever had the duty.
func (s *sweeper) mark(ctx context.Context, duties []feed.Duty) error {
	if len(duties) == 0 {
		return nil
	}
	ops := make([]feed.Op, len(duties))
	for i, d := range duties {
		ops[i] = &feed.MarkInFlight{Author: d.Author, Now: s.w.now()}
	}
	return s.w.Hot.Do(ctx, ops...)
}

// Replay makes failed duties due that wait for their time, as an operator asks
// for once the cause is mended, and returns how many. They start again from
// their marks within a second or two, on whichever process sweeps first.
func (w *Workers) Replay(ctx context.Context) (int, error) {
	now := w.now()
	duties, err := w.Record.DueDuties(ctx, w.in(w.ReplayAfter+w.Lease), dueLimitHigh)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, d := range duties {
		// One that ends within a lease is still being worked on, or about to be due.
		if d.State != feed.DeliveryFailed || d.Until <= now+w.Lease.Milliseconds() {
			continue
		}
		_, err := w.Record.BeginDuty(ctx, d.Post, d.Until, now)
		if err != nil && !over(err) {
			return n, err
		}
		if err == nil {
			n++
		}
	}
	return n, nil
}

// recounter has dirty counters recounted and drops what the hot data kept of them.
type recounter struct {
	w    *Workers
	owed []feed.NodeID // recounted, not yet dropped
}

func (r *recounter) pass(ctx context.Context) error {
	for range countRounds {
		before := r.w.in(-r.w.RecountAge)
		changed, err := r.w.Record.Recount(ctx, before, countLimit)
		if err != nil {
			return err
		}
		r.w.Hooks.Recounted(len(changed))
		r.owed = append(r.owed, changed...)
		if n := len(r.owed); n > owedLimit {
			r.owed = append([]feed.NodeID(nil), r.owed[n-owedLimit:]...) // the others expire
		}
		if err := r.drop(ctx); err != nil {
			return err
		}
		if len(changed) < countLimit {
			return nil
		}
	}
	return nil
}

// drop takes the recounted values out of the hot data. The hold ends leases
// of readers who may have read the record before it was recounted.
func (r *recounter) drop(ctx context.Context) error {
	var users, posts []feed.ID
	for _, n := range r.owed {
		switch n.Kind {
		case feed.NodeUser:
			users = append(users, n.ID)
		case feed.NodePost:
			posts = append(posts, n.ID)
		case feed.NodeComment: // has no counters
		}
	}
	token := feed.Token(rand.Text())
	var holds, releases []feed.Op
	if len(users) > 0 {
		holds = append(holds, &feed.HoldDetails[feed.UserCounts]{IDs: users, Token: token})
		releases = append(releases, &feed.ReleaseDetails[feed.UserCounts]{IDs: users, Token: token})
	}
	if len(posts) > 0 {
		holds = append(holds, &feed.HoldDetails[feed.Stats]{IDs: posts, Token: token})
		releases = append(releases, &feed.ReleaseDetails[feed.Stats]{IDs: posts, Token: token})
	}
	if len(holds) > 0 {
		if err := r.w.Hot.Do(ctx, append(holds, releases...)...); err != nil {
			return err
		}
	}
	r.owed = r.owed[:0]
	return nil
}

// prune deletes the inboxes of readers who were not seen for long.
func (w *Workers) prune(ctx context.Context) error {
	before := w.leftBefore()
	for range pruneRounds {
		n, err := w.Readers.PruneActive(ctx, before, pruneLimit)
		if err != nil {
			return err
		}
		w.Hooks.Pruned(n)
		if n < pruneLimit || !pause(ctx, jitter(50*time.Millisecond)) {
			return nil
		}
	}
	return nil
}
