package fanout

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"feedgate/feed"
)

var (
	// errStalled says that no ack has come for too long: the queue may have lost the tasks.
	errStalled = errors.New("the queue makes no progress")
	// errOver says that the duty is somebody else's by now, or ended.
	errOver = errors.New("the duty is over for this dispatcher")
)

const (
	maxAttempts = 5 // Ops that one dispatcher begins before it gives the duty back
	maxFailures = 8 // failed steps in a row before it does
	patienceLow = 2 * time.Second
)

// dispatch takes the duty of a post over and delivers the post as far as it can.
func (w *Workers) dispatch(ctx context.Context, l *lane, post feed.ID) {
	from := w.now()
	for attempt := range maxAttempts {
		duty, err := w.Record.BeginDuty(ctx, post, from, w.in(w.Lease))
		if err != nil {
			if !over(err) && ctx.Err() == nil {
				w.quiet.warn(ctx, "fan-out: cannot take a duty over", err, slog.Int64("post", int64(post)))
			}
			return // the record holds the duty, and who has it
		}
		if attempt == 0 {
			w.announce(ctx, &duty)
		}
		r := w.newRun(l, duty, attempt)
		err = r.deliver(ctx)
		switch {
		case err == nil, errors.Is(err, errOver):
			r.forget(ctx)
			return
		case errors.Is(err, errStalled) && attempt < maxAttempts-1:
			w.Hooks.DutyRestart(l.name)
			w.quiet.warn(ctx, "fan-out: starting over from the mark", err, slog.Int64("post", int64(post)))
			r.forget(ctx)
			// Only who saved last may begin again before Until: if somebody else took
			// the duty over, its Until is another one and BeginDuty answers CONFLICT.
			if r.save(ctx, feed.DeliveryRunning, w.in(w.Lease)) != nil {
				return
			}
			from = r.duty.Until
		default:
			r.giveBack(ctx, err)
			return
		}
	}
}

// announce tells the gateways of the post once more: whoever published it may
// have died, or lost Redis, before it could. What is known is ignored there.
func (w *Workers) announce(ctx context.Context, d *feed.Duty) {
	ctx, cancel := context.WithTimeout(ctx, w.Deliver)
	defer cancel()
	err := w.Hot.Do(ctx, &feed.Announce{Events: []feed.GatewayEvent{d.Announced()}})
	if err != nil && ctx.Err() == nil {
		w.quiet.warn(ctx, "fan-out: could not announce a post", err, slog.Int64("post", int64(d.Post)))
	}
}

// over reports whether err means that a duty has ended or is somebody else's.
func over(err error) bool {
	c := feed.CodeOf(err)
	return c == feed.CodeConflict || c == feed.CodeNotFound
}

// run is one Op of one duty.
type run struct {
	w    *Workers
	l    *lane
	duty feed.Duty // as saved last
	fold *fold

	base    int64   // Delivered when the Op began
	cursor  feed.ID // followers up to it have been cut
	end     bool    // there are none above it
	cut     int64   // tasks cut: the next number
	people  int64   // followers cut
	pending []Task  // cut, not known to be in the queue

	placed bool // the post is in the cells around its place

	saved    time.Time // when the record was told last
	moved    time.Time // when something went on last
	patience time.Duration
	gen      int64 // generation seen last, 0 before the first look
}

// newRun begins at the mark of a duty. Its patience grows with each attempt,
// for a queue that is merely slow.
func (w *Workers) newRun(l *lane, d feed.Duty, attempt int) *run {
	now := w.Clock.Now()
	return &run{
		w: w, l: l, duty: d,
		fold: newFold(d.Mark, d.Delivered),
		base: d.Delivered, cursor: d.Mark,
		saved: now, moved: now,
		patience: w.StallAfter << min(attempt, 2),
	}
}

// deliver does the whole duty. A nil error means that it is DONE or FAILED.
func (r *run) deliver(ctx context.Context) error {
	failures := 0
	for {
		done, err := r.step(ctx)
		switch {
		case err == nil && done:
			return nil
		case err == nil:
			failures = 0
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		case over(err):
			return errOver
		case errors.Is(err, errStalled):
			return err
		}
		failures++
		r.w.quiet.warn(ctx, "fan-out: a step failed", err, slog.Int64("post", int64(r.duty.Post)))
		if failures >= maxFailures {
			return err
		}
		pause(ctx, backoff(failures))
	}
}

// step goes on by one read of followers, one look at the acks, or one wait.
// After an error the same step may be repeated.
func (r *run) step(ctx context.Context) (done bool, err error) {
	if err := r.place(ctx); err != nil {
		return false, err
	}
	if err := r.fill(ctx); err != nil {
		return false, err
	}
	if r.end && len(r.pending) == 0 && r.fold.next == r.cut {
		return true, r.finish(ctx)
	}
	if r.w.Clock.Now().Sub(r.saved) >= r.w.SaveEvery {
		if err := r.progress(ctx); err != nil {
			return false, err
		}
	}
	if r.hungry() {
		return false, nil // executors need not wait for the first acks
	}
	acks, err := r.w.Tasks.Acks(ctx, r.duty.Post, r.duty.Op, r.fold.next, r.w.Outstanding)
	if err != nil {
		return false, err
	}
	if r.fold.add(acks, r.cut) > 0 {
		r.moved = r.w.Clock.Now()
		return false, nil
	}
	if r.w.Clock.Now().Sub(r.moved) >= r.patience {
		return false, errStalled
	}
	wait := min(r.w.Poll, r.patience, r.w.SaveEvery)
	return false, r.w.Tasks.WaitAcks(ctx, r.duty.Post, r.duty.Op, wait)
}

// place puts the post into the cells of the nearby index once more: whoever
// published it may have died, or lost Redis, before it could. No duty ends
// without it.
func (r *run) place(ctx context.Context) error {
	if r.placed {
		return nil
	}
	near := feed.NearbyEntry(feed.Entry{At: r.duty.At, ID: r.duty.Post}, r.duty.Place,
		r.w.NearbyCellLength, r.w.NearbyCellAge, r.w.now())
	if near != nil {
		ctx, cancel := context.WithTimeout(ctx, r.w.Deliver)
		defer cancel()
		if err := r.w.Hot.Do(ctx, near); err != nil {
			return err
		}
	}
	r.placed = true
	return nil
}

// fill keeps the queue fed: it reads followers in id order, cuts tasks and
// appends them, as long as few enough are outstanding. A duty of one task is
// executed on the spot.
func (r *run) fill(ctx context.Context) error {
	if len(r.pending) == 0 {
		if err := r.cutMore(ctx); err != nil {
			return err
		}
	}
	if len(r.pending) == 0 {
		return nil
	}
	if r.cut == 1 && r.end {
		t := r.pending[0]
		err := r.w.push(ctx, t, pieceOf(1))
		if err == nil {
			r.pending = nil
			r.w.Hooks.TaskExecuted(r.l.name, len(t.Readers))
			r.fold.add([]Ack{ackOf(t)}, r.cut)
			return nil
		}
		if len(t.Readers) == 0 {
			return err // nothing that a queue could hold
		}
		r.w.quiet.warn(ctx, "fan-out: left to the queue what failed on the spot", err, slog.Int64("post", int64(t.Post)))
	}
	if r.gen == 0 {
		if err := r.look(ctx); err != nil {
			return err
		}
	}
	if err := r.w.Tasks.AddTasks(ctx, r.l.name, r.pending); err != nil {
		return err
	}
	r.pending = nil
	r.moved = r.w.Clock.Now()
	return nil
}

// cutMore cuts the next tasks, if there is room for them.
func (r *run) cutMore(ctx context.Context) error {
	limit := r.w.TaskSize + 1 // enough to see whether one task will do
	if r.cut > 0 {
		if !r.hungry() {
			return nil
		}
		limit = int(min(r.room(), int64(r.w.CutBatch))) * r.w.TaskSize
	}
	ids, err := r.w.Record.Followers(ctx, r.duty.Author, r.cursor, limit)
	if err != nil {
		return err
	}
	r.end = len(ids) < limit
	if r.cut == 0 && !r.end {
		ids = ids[:r.w.TaskSize]
	}
	for part := range slices.Chunk(ids, r.w.TaskSize) {
		r.append(part)
	}
	if r.cut == 0 {
		r.append(nil) // nobody follows from here on: the author alone gets the post
	}
	return nil
}

// room is how many more tasks may be outstanding.
func (r *run) room() int64 { return int64(r.w.Outstanding) - (r.cut - r.fold.acked()) }

// hungry reports whether the next tasks are to be cut: some are left, and there
// is room for as many as one read of the record gives.
func (r *run) hungry() bool {
	return !r.end && r.room() >= min(int64(r.w.CutBatch), int64(r.w.Outstanding))
}

// append cuts one task.
func (r *run) append(readers []feed.ID) {
	r.pending = append(r.pending, Task{
		Lane: r.l.name, Post: r.duty.Post, At: r.duty.At, Author: r.duty.Author,
		Op: r.duty.Op, Number: r.cut, Readers: readers,
	})
	r.cut++
	r.people += int64(len(readers))
	if len(readers) > 0 {
		r.cursor = readers[len(readers)-1]
	}
}

// ackOf is the ack of an executed task. One without readers leaves the mark to
// the caller, who knows better.
func ackOf(t Task) Ack {
	a := Ack{Number: t.Number, Count: int64(len(t.Readers))}
	if a.Count > 0 {
		a.Last = t.Readers[a.Count-1]
	}
	return a
}

// progress tells the record how far the duty is and holds it for another
// lease.
func (r *run) progress(ctx context.Context) error {
	if err := r.save(ctx, r.state(), r.w.in(r.w.Lease)); err != nil {
		return err
	}
	return r.look(ctx)
}

// look finds out whether the hot data was lost since it looked first: then the
// queue lost the tasks too, and there is no point in waiting long for acks.
func (r *run) look(ctx context.Context) error {
	gen, err := r.w.Record.Generation(ctx)
	if err != nil {
		return err
	}
	r.w.lately.under(gen)
	if r.gen != 0 && gen != r.gen {
		r.patience = min(r.patience, patienceLow)
	}
	r.gen = gen
	return nil
}

// state is FAILED as soon as one task is dead, else RUNNING.
func (r *run) state() feed.DeliveryState {
	if r.fold.failed() {
		return feed.DeliveryFailed
	}
	return feed.DeliveryRunning
}

// save writes the duty. Its mark moves over acknowledged tasks only.
func (r *run) save(ctx context.Context, state feed.DeliveryState, until int64) error {
	d := r.duty
	d.Mark = max(d.Mark, r.fold.mark)
	d.Delivered = r.fold.delivered
	if r.end {
		d.Total = r.base + r.people
	} else {
		d.Total = max(d.Total, r.base+r.people)
	}
	d.State, d.Until = state, until
	if err := r.w.Record.SaveDuty(ctx, d); err != nil {
		return err
	}
	r.duty = d
	r.saved = r.w.Clock.Now()
	return nil
}

// finish ends the duty when every task is acknowledged: DONE, or FAILED with
// a dead one, to be replayed from the mark after a while.
func (r *run) finish(ctx context.Context) error {
	if r.fold.failed() {
		if err := r.save(ctx, feed.DeliveryFailed, r.w.in(r.w.ReplayAfter)); err != nil {
			return err
		}
		r.w.Hooks.DutyFailed(r.l.name)
		r.w.Log.LogAttrs(ctx, slog.LevelError, "fan-out: a duty failed and waits for its replay",
			slog.Int64("post", int64(r.duty.Post)), slog.Int64("author", int64(r.duty.Author)),
			slog.Int64("dead_tasks", r.fold.dead))
		return nil
	}
	if err := r.save(ctx, feed.DeliveryDone, 0); err != nil {
		return err
	}
	r.w.Hooks.DutyDone(r.l.name, time.Duration(r.w.now()-r.duty.At)*time.Millisecond)
	return nil
}

// giveBack saves what was achieved and lets others have the duty: at once when
// this process stops, after a pause when something is broken.
func (r *run) giveBack(ctx context.Context, cause error) {
	until := r.w.now()
	if ctx.Err() == nil {
		until = r.w.in(r.w.Lease/3 + within(r.w.Lease/3))
		r.w.quiet.warn(ctx, "fan-out: gave a duty back", cause, slog.Int64("post", int64(r.duty.Post)))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.w.Deliver)
	defer cancel()
	if err := r.save(ctx, r.state(), until); err != nil && !over(err) {
		r.w.quiet.warn(ctx, "fan-out: could not give a duty back; its lease runs out", err)
	}
	r.forget(ctx)
}

// forget drops the acks of the Op; should that fail, they go by themselves.
func (r *run) forget(ctx context.Context) {
	if r.cut <= 1 && r.end {
		return // executed on the spot, or as good as that
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.w.Deliver)
	defer cancel()
	if err := r.w.Tasks.DropAcks(ctx, r.duty.Post, r.duty.Op); err != nil {
		r.w.quiet.warn(ctx, "fan-out: left acks behind", err)
	}
}
