package redis

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/fanout"
	"feedgate/feed"
)

var (
	_ fanout.Bells = (*Hot)(nil)
	_ fanout.Tasks = (*Hot)(nil)
)

const (
	// group is the one consumer group of each stream.
	group = "workers"
	// slice is the longest that one command blocks: who is cancelled waits no longer.
	slice = 250 * time.Millisecond
	// deadKept is how many dead tasks of a lane are kept at most, about.
	deadKept = 10_000
	// acksTTL is how long acks are kept after the last one.
	acksTTL = 24 * time.Hour
	// claimRounds bounds the search for lost tasks among those that others work on.
	claimRounds = 8
)

// The names of the fields in stream entries.
const (
	fieldPost  = "p"
	fieldTask  = "t"
	fieldCause = "c"
)

// Bells implements [fanout.Bells].
func (h *Hot) Bells(ctx context.Context, lane feed.Lane, limit int, wait time.Duration) ([]feed.ID, error) {
	key := bellsKey(lane)
	got, err := h.readGroup(ctx, key, limit, wait, true)
	if err != nil || len(got) == 0 {
		return nil, err
	}
	b := h.newBatch(ctx)
	posts := make([]feed.ID, 0, len(got))
	args := append(make([]any, 0, 2+len(got)), "xdel", key)
	for i := range got {
		args = append(args, got[i].ID)
		text, _ := got[i].Values[fieldPost].(string)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			posts = append(posts, feed.ID(n))
		}
	}
	b.number(args...)
	// The bells are ours already: that they are not removed only costs room.
	if err := b.run(); err != nil {
		h.log.WarnContext(ctx, "bells could not be removed", slog.Any("error", err))
	}
	return posts, nil
}

// readGroup waits for new entries of a stream. It makes the stream and its
// group when they are not there, at most twice: they may be lost once more.
func (h *Hot) readGroup(ctx context.Context, key string, limit int, wait time.Duration, noAck bool) ([]goredis.XMessage, error) {
	made := 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, unavailable("xreadgroup", err)
		}
		block := min(wait, slice)
		got, err := h.readOnce(ctx, key, limit, block, noAck)
		switch {
		case noGroup(err) && made < 2:
			if err := h.makeGroup(ctx, key); err != nil {
				return nil, err
			}
			made++
			continue
		case err != nil:
			return nil, unavailable("xreadgroup", err)
		case len(got) > 0:
			return got, nil
		}
		if wait -= slice; wait <= 0 {
			return nil, nil
		}
	}
}

func (h *Hot) readOnce(ctx context.Context, key string, limit int, block time.Duration, noAck bool) ([]goredis.XMessage, error) {
	if block <= 0 {
		block = -1 // the driver's word for not blocking; 0 is for ever
	}
	got, err := h.waiting.XReadGroup(ctx, &goredis.XReadGroupArgs{
		Group: group, Consumer: h.consumer, Streams: []string{key, ">"},
		Count: int64(limit), Block: block, NoAck: noAck,
	}).Result()
	h.onRoundTrip(1)
	if errors.Is(err, goredis.Nil) {
		return nil, nil
	}
	if err != nil || len(got) == 0 {
		return nil, err
	}
	return got[0].Messages, nil
}

// noGroup reports whether a stream or its group is gone.
func noGroup(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "NOGROUP") || strings.Contains(err.Error(), "UNBLOCKED"))
}

// makeGroup makes a stream with its group, which begins with the oldest entry.
func (h *Hot) makeGroup(ctx context.Context, key string) error {
	err := h.client.XGroupCreateMkStream(ctx, key, group, "0").Err()
	h.onRoundTrip(1)
	if err != nil && !strings.Contains(err.Error(), "BUSYGROUP") {
		return unavailable("xgroup", err)
	}
	return nil
}

// AddTasks implements [fanout.Tasks].
func (h *Hot) AddTasks(ctx context.Context, lane feed.Lane, tasks []fanout.Task) error {
	b := h.newBatch(ctx)
	for i := range tasks {
		b.text("xadd", tasksKey(lane), "*", fieldTask, taskText(&tasks[i]))
	}
	return b.run()
}

// ClaimTasks implements [fanout.Tasks]. Each call looks for lost tasks first;
// while it waits for new ones, it does not look again.
func (h *Hot) ClaimTasks(ctx context.Context, lane feed.Lane, limit int, wait, visibility time.Duration) ([]fanout.Claimed, error) {
	key := tasksKey(lane)
	lost, err := h.claimLost(ctx, key, limit, visibility)
	if err != nil {
		return nil, err
	}
	if len(lost) > 0 {
		tries, err := h.tries(ctx, key, lost)
		if err != nil {
			return nil, err
		}
		return h.claimed(ctx, lane, lost, tries)
	}
	fresh, err := h.readGroup(ctx, key, limit, wait, false)
	if err != nil {
		return nil, err
	}
	return h.claimed(ctx, lane, fresh, nil)
}

// claimLost takes over tasks that were taken longer than visibility ago.
func (h *Hot) claimLost(ctx context.Context, key string, limit int, visibility time.Duration) ([]goredis.XMessage, error) {
	var lost []goredis.XMessage
	from := "0-0"
	for range claimRounds {
		got, next, err := h.client.XAutoClaim(ctx, &goredis.XAutoClaimArgs{
			Stream: key, Group: group, Consumer: h.consumer, MinIdle: visibility, Start: from, Count: int64(limit - len(lost)),
		}).Result()
		h.onRoundTrip(1)
		if noGroup(err) {
			return nil, nil // readGroup makes it
		}
		if err != nil {
			return nil, unavailable("xautoclaim", err)
		}
		lost = append(lost, got...)
		if next == "0-0" || len(lost) >= limit {
			break
		}
		from = next
	}
	return lost, nil
}

// tries asks how often each task was handed out.
func (h *Hot) tries(ctx context.Context, key string, messages []goredis.XMessage) ([]int64, error) {
	b := h.newBatch(ctx)
	cmds := make([]*goredis.XPendingExtCmd, len(messages))
	for i := range messages {
		cmds[i] = goredis.NewXPendingExtCmd(ctx, "xpending", key, group, messages[i].ID, messages[i].ID, 1)
		b.add(cmds[i])
	}
	if err := b.run(); err != nil {
		return nil, err
	}
	tries := make([]int64, len(cmds))
	for i, cmd := range cmds {
		tries[i] = 1
		if got := cmd.Val(); len(got) == 1 {
			tries[i] = got[0].RetryCount
		}
	}
	return tries, nil
}

// claimed reads tasks. What is none is buried, so that it does not come again.
func (h *Hot) claimed(ctx context.Context, lane feed.Lane, messages []goredis.XMessage, tries []int64) ([]fanout.Claimed, error) {
	tasks := make([]fanout.Claimed, 0, len(messages))
	for i := range messages {
		c := fanout.Claimed{Handle: messages[i].ID, Tries: 1}
		if tries != nil {
			c.Tries = tries[i]
		}
		text, _ := messages[i].Values[fieldTask].(string)
		if !decodeTask(text, &c.Task) {
			h.log.ErrorContext(ctx, "a task in the queue cannot be read", slog.String("lane", string(lane)), slog.String("id", c.Handle))
			if err := h.bury(ctx, lane, c.Handle, text, "unreadable", nil); err != nil {
				return nil, err
			}
			continue
		}
		c.Lane = lane
		tasks = append(tasks, c)
	}
	return tasks, nil
}

// EndTasks implements [fanout.Tasks].
func (h *Hot) EndTasks(ctx context.Context, lane feed.Lane, tasks []fanout.Claimed) error {
	if len(tasks) == 0 {
		return nil
	}
	b := h.newBatch(ctx)
	key := tasksKey(lane)
	ack := append(make([]any, 0, 3+len(tasks)), "xack", key, group)
	del := append(make([]any, 0, 2+len(tasks)), "xdel", key)
	for i := range tasks {
		acked(b, &tasks[i].Task, false)
		ack, del = append(ack, tasks[i].Handle), append(del, tasks[i].Handle)
	}
	b.number(ack...)
	b.number(del...)
	return b.run()
}

// BuryTask implements [fanout.Tasks].
func (h *Hot) BuryTask(ctx context.Context, lane feed.Lane, task fanout.Claimed, cause string) error {
	return h.bury(ctx, lane, task.Handle, string(taskText(&task.Task)), cause, &task.Task)
}

// bury moves a task to the dead ones; ack is the task whose ack is recorded, if any.
func (h *Hot) bury(ctx context.Context, lane feed.Lane, handle, task, cause string, ack *fanout.Task) error {
	b := h.newBatch(ctx)
	b.text("xadd", deadKey(lane), "maxlen", "~", deadKept, "*", fieldTask, task, fieldCause, cause)
	if ack != nil {
		acked(b, ack, true)
	}
	b.number("xack", tasksKey(lane), group, handle)
	b.number("xdel", tasksKey(lane), handle)
	return b.run()
}
