package fanout_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"feedgate/fanout"
	"feedgate/feed"
	"feedgate/store/redis"
	"feedgate/store/sqlite"
)

var errDead = errors.New("this process was killed")

// wire is all that a process can reach. Once cut nothing gets through, as
// nothing comes from a killed process: it is cut before, after, or in the
// middle of the call at which its fuse burns out.
type wire struct {
	record *sqlite.Record
	hot    *redis.Hot
	kill   context.CancelFunc
	fuse   atomic.Int64              // calls left
	after  bool                      // the last call is still done, its answer lost
	added  atomic.Int64              // tasks appended to the queue
	asked  atomic.Pointer[[]feed.ID] // readers whose last day was asked for; nil: not noted

	// Optional changes of what the real thing does.
	push func(ctx context.Context, e feed.Entry, readers []feed.ID) error // before each push; an error is its result
}

func newWire(record *sqlite.Record, hot *redis.Hot, kill context.CancelFunc) *wire {
	w := &wire{record: record, hot: hot, kill: kill}
	w.fuse.Store(1 << 60)
	return w
}

func (w *wire) dead() bool { return w.fuse.Load() <= 0 }

// call does one call, unless the process is dead or dies of it.
func (w *wire) call(fn func() error) error {
	left := w.fuse.Add(-1)
	if left < 0 {
		return errDead
	}
	if left > 0 {
		return fn()
	}
	defer w.kill()
	if w.after {
		_ = fn()
	}
	return errDead
}

func ask[T any](w *wire, fn func() (T, error)) (T, error) {
	var answer T
	err := w.call(func() (err error) {
		answer, err = fn()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return answer, nil
}

func (w *wire) BeginDuty(ctx context.Context, post feed.ID, now, until int64) (feed.Duty, error) {
	return ask(w, func() (feed.Duty, error) { return w.record.BeginDuty(ctx, post, now, until) })
}

func (w *wire) SaveDuty(ctx context.Context, d feed.Duty) error {
	return w.call(func() error { return w.record.SaveDuty(ctx, d) })
}

func (w *wire) DueDuties(ctx context.Context, now int64, limit int) ([]feed.Duty, error) {
	return ask(w, func() ([]feed.Duty, error) { return w.record.DueDuties(ctx, now, limit) })
}

func (w *wire) Recount(ctx context.Context, before int64, limit int) ([]feed.NodeID, error) {
	return ask(w, func() ([]feed.NodeID, error) { return w.record.Recount(ctx, before, limit) })
}

func (w *wire) Followers(ctx context.Context, followee, after feed.ID, limit int) ([]feed.ID, error) {
	return ask(w, func() ([]feed.ID, error) { return w.record.Followers(ctx, followee, after, limit) })
}

func (w *wire) UnfinishedAmong(ctx context.Context, authors []feed.ID) ([]feed.ID, error) {
	return ask(w, func() ([]feed.ID, error) { return w.record.UnfinishedAmong(ctx, authors) })
}

func (w *wire) Generation(ctx context.Context) (int64, error) {
	return ask(w, func() (int64, error) { return w.record.Generation(ctx) })
}

func (w *wire) Bells(ctx context.Context, lane feed.Lane, limit int, wait time.Duration) ([]feed.ID, error) {
	return ask(w, func() ([]feed.ID, error) { return w.hot.Bells(ctx, lane, limit, wait) })
}

func (w *wire) AddTasks(ctx context.Context, lane feed.Lane, tasks []fanout.Task) error {
	defer w.added.Add(int64(len(tasks)))
	return w.call(func() error { return w.hot.AddTasks(ctx, lane, tasks) })
}

func (w *wire) ClaimTasks(ctx context.Context, lane feed.Lane, limit int, wait, visibility time.Duration) ([]fanout.Claimed, error) {
	return ask(w, func() ([]fanout.Claimed, error) { return w.hot.ClaimTasks(ctx, lane, limit, wait, visibility) })
}

func (w *wire) EndTasks(ctx context.Context, lane feed.Lane, tasks []fanout.Claimed) error {
	return w.call(func() error { return w.hot.EndTasks(ctx, lane, tasks) })
}

func (w *wire) BuryTask(ctx context.Context, lane feed.Lane, task fanout.Claimed, cause string) error {
	return w.call(func() error { return w.hot.BuryTask(ctx, lane, task, cause) })
}

func (w *wire) Acks(ctx context.Context, post feed.ID, op, from int64, limit int) ([]fanout.Ack, error) {
	return ask(w, func() ([]fanout.Ack, error) { return w.hot.Acks(ctx, post, op, from, limit) })
}

func (w *wire) WaitAcks(ctx context.Context, post feed.ID, op int64, wait time.Duration) error {
	return w.call(func() error { return w.hot.WaitAcks(ctx, post, op, wait) })
}

func (w *wire) DropAcks(ctx context.Context, post feed.ID, op int64) error {
	return w.call(func() error { return w.hot.DropAcks(ctx, post, op) })
}

func (w *wire) LastSeen(ctx context.Context, readers []feed.ID) ([]int64, error) {
	for noted := w.asked.Load(); noted != nil; noted = w.asked.Load() {
		if more := slices.Concat(*noted, readers); w.asked.CompareAndSwap(noted, &more) {
			break
		}
	}
	return ask(w, func() ([]int64, error) { return w.hot.LastSeen(ctx, readers) })
}

// Push leaves a pipeline half written when it is the last call.
func (w *wire) Push(ctx context.Context, e feed.Entry, readers []feed.ID, keep, slack int) error {
	return w.call(func() error {
		if w.push != nil {
			if err := w.push(ctx, e, readers); err != nil {
				return err
			}
		}
		if w.dead() {
			readers = readers[:len(readers)/2]
		}
		return w.hot.Push(ctx, e, readers, keep, slack)
	})
}

func (w *wire) Marks(ctx context.Context) ([]fanout.Mark, error) {
	return ask(w, func() ([]fanout.Mark, error) { return w.hot.Marks(ctx) })
}

func (w *wire) Retire(ctx context.Context, marks []fanout.Mark) error {
	return w.call(func() error { return w.hot.Retire(ctx, marks) })
}

func (w *wire) PruneActive(ctx context.Context, before int64, limit int) (int, error) {
	return ask(w, func() (int, error) { return w.hot.PruneActive(ctx, before, limit) })
}

func (w *wire) Do(ctx context.Context, ops ...feed.Op) error {
	return w.call(func() error { return w.hot.Do(ctx, ops...) })
}
