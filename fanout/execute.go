package fanout

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"feedgate/feed"
)

// execute claims tasks of a lane and delivers them, until ctx ends.
func (w *Workers) execute(ctx context.Context, l *lane) {
	failures := 0
	for ctx.Err() == nil {
		claimed, err := w.Tasks.ClaimTasks(ctx, l.name, w.ClaimLimit, w.Poll, w.Visibility)
		if err == nil {
			err = w.handle(ctx, l, claimed)
		}
		if err == nil {
			failures = 0
			continue
		}
		if ctx.Err() != nil {
			return
		}
		failures++
		w.quiet.warn(ctx, "fan-out: executing failed", err, slog.String("lane", string(l.name)))
		pause(ctx, backoff(failures))
	}
}

// handle executes claimed tasks and ends those that went well; the others are
// handed out again by the queue. When ctx ends, what is in hand is finished as
// long as nothing fails.
func (w *Workers) handle(ctx context.Context, l *lane, claimed []Claimed) error {
	var failed error
	done := make([]Claimed, 0, len(claimed))
	for _, c := range claimed {
		if ctx.Err() != nil && failed != nil {
			break
		}
		if c.Tries > 1 {
			w.Hooks.TaskRetried(l.name)
		}
		if c.Tries > w.MaxTries {
			failed = errors.Join(failed, w.bury(ctx, l, c))
			continue
		}
		if err := w.push(ctx, c.Task, pieceOf(c.Tries)); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		done = append(done, c)
	}
	if len(done) == 0 {
		return failed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Deliver)
	defer cancel()
	if err := w.Tasks.EndTasks(ctx, l.name, done); err != nil {
		return errors.Join(failed, err) // executed once more, which changes nothing
	}
	for _, c := range done {
		w.Hooks.TaskExecuted(l.name, len(c.Readers))
	}
	return failed
}

// bury gives a task up. Its dispatcher learns it from the ack.
func (w *Workers) bury(ctx context.Context, l *lane, c Claimed) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Deliver)
	defer cancel()
	if err := w.Tasks.BuryTask(ctx, l.name, c, "failed too often"); err != nil {
		return err
	}
	w.Hooks.TaskBuried(l.name)
	w.Log.LogAttrs(ctx, slog.LevelError, "fan-out: a task failed too often and was buried",
		slog.Int64("post", int64(c.Post)), slog.Int64("op", c.Op), slog.Int64("task", c.Number))
	return nil
}

// pieceOf is how many readers get a post in one round trip at the n-th try: a
// store too slow for a whole task is asked for less each time.
func pieceOf(tries int64) int {
	return max((TaskSize+1)>>(2*min(max(tries-1, 0), 4)), 50)
}

// push puts the post of a task into the inboxes of its active readers; the
// author gets it with the first task. It may be repeated at will: an inbox
// holds a post once. It is not cut short when ctx ends, but each piece has a
// time limit of its own.
func (w *Workers) push(ctx context.Context, t Task, piece int) error {
	readers := t.Readers
	if t.Number == 0 {
		readers = append(make([]feed.ID, 0, len(readers)+1), readers...)
		readers = append(readers, t.Author)
	}
	for part := range slices.Chunk(readers, piece) {
		if err := w.pushPiece(ctx, feed.Entry{At: t.At, ID: t.Post}, part); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workers) pushPiece(ctx context.Context, e feed.Entry, readers []feed.ID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Deliver)
	defer cancel()
	active, err := w.Inboxes.Active(ctx, readers)
	if err != nil || len(active) == 0 {
		return err
	}
	return w.Inboxes.Push(ctx, e, active, w.InboxLength, w.InboxSlack)
}
