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
	active, failed := w.activeOf(ctx, claimed)
	done := make([]Claimed, 0, len(claimed))
	for i, c := range claimed {
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
		var err error
		switch {
		case c.Tries > 1:
			err = w.push(ctx, c.Task, pieceOf(c.Tries))
		case active == nil:
			continue
		default:
			err = w.pushTo(ctx, c.Task, active[i])
		}
		if err != nil {
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

// activeOf gives the active readers of all tasks that are tried for the first
// time, by task; nil when it failed. It asks once for all of whom it does not
// know better.
func (w *Workers) activeOf(ctx context.Context, claimed []Claimed) ([][]feed.ID, error) {
	after := w.leftBefore()
	lists := make([][]feed.ID, len(claimed))
	var unknown []feed.ID
	var places []*feed.ID // in the lists, of those unknown
	for i := range claimed {
		if claimed[i].Tries > 1 {
			continue
		}
		lists[i] = addressees(&claimed[i].Task)
		if claimed[i].Number > 0 {
			lists[i] = slices.Clone(lists[i])
		}
		for j, reader := range lists[i] {
			if !w.lately.active(reader, after) {
				unknown, places = append(unknown, reader), append(places, &lists[i][j])
			}
		}
	}
	if len(unknown) == 0 {
		return lists, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Deliver)
	defer cancel()
	days, err := w.Inboxes.LastSeen(ctx, unknown)
	if err != nil {
		return nil, err
	}
	const nobody = 0
	for i, on := range days {
		switch on {
		case 0:
			*places[i] = nobody
		case SeenUnknown:
		default:
			w.lately.learn(unknown[i], on)
		}
	}
	for i := range lists {
		lists[i] = slices.DeleteFunc(lists[i], func(reader feed.ID) bool { return reader == nobody })
	}
	return lists, nil
}

// leftBefore is the first day that the daily pass leaves alone: whoever was seen
// after it keeps the mark for another day at least.
func (w *Workers) leftBefore() int64 { return w.in(-w.ActiveWindow) / day.Milliseconds() }

// addressees are the readers of a task; the author gets the post with the first
// one.
func addressees(t *Task) []feed.ID {
	if t.Number > 0 {
		return t.Readers
	}
	return append(append(make([]feed.ID, 0, len(t.Readers)+1), t.Readers...), t.Author)
}

// push puts the post of a task into the inboxes of its active readers, piece by
// piece. It may be repeated at will: an inbox holds a post once. It is not cut
// short when ctx ends, but each piece has a time limit of its own.
func (w *Workers) push(ctx context.Context, t Task, piece int) error {
	for part := range slices.Chunk(addressees(&t), piece) {
		if err := w.pushPiece(ctx, t, part); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workers) pushPiece(ctx context.Context, t Task, readers []feed.ID) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Deliver)
	defer cancel()
	days, err := w.Inboxes.LastSeen(limited, readers)
	if err != nil {
		return err
	}
	active := make([]feed.ID, 0, len(readers))
	for i, reader := range readers {
		if days[i] != 0 {
			active = append(active, reader)
		}
	}
	return w.pushTo(limited, t, active)
}

// pushTo puts the post of a task into inboxes, like push.
func (w *Workers) pushTo(ctx context.Context, t Task, active []feed.ID) error {
	if len(active) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Deliver)
	defer cancel()
	return w.Inboxes.Push(ctx, feed.Entry{At: t.At, ID: t.Post}, active, w.InboxLength, w.InboxSlack)
}
