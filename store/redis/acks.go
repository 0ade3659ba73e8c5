package redis

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/fanout"
	"feedgate/feed"
)

// Acks are members of a sorted set with the task's number as score: the same
// ack twice is one, and they are read in order. The bell beside them is a list
// of at most one element, so that an ack which comes between reading and
// waiting wakes who waits.

// acked records the ack of a task.
func acked(b *batch, t *fanout.Task, dead bool) {
	a := fanout.Ack{Number: t.Number, Count: int64(len(t.Readers)), Dead: dead}
	if len(t.Readers) > 0 {
		a.Last = t.Readers[len(t.Readers)-1]
	}
	key, bell := acksKey(t.Post, t.Op), ackbellKey(t.Post, t.Op)
	b.number("zadd", key, t.Number, appendAck(nil, &a))
	b.number("pexpire", key, acksTTL.Milliseconds())
	b.number("rpush", bell, "1")
	b.status("ltrim", bell, -1, -1)
	b.number("pexpire", bell, acksTTL.Milliseconds())
}

// Acks implements [fanout.Tasks]. Of a task that was both buried and executed,
// the execution counts.
func (h *Hot) Acks(ctx context.Context, post feed.ID, op, from int64, limit int) ([]fanout.Ack, error) {
	b := h.newBatch(ctx)
	// Two members at most have one number.
	got := b.texts("zrangebyscore", acksKey(post, op), from, "+inf", "limit", 0, 2*limit)
	if err := b.run(); err != nil {
		return nil, err
	}
	acks := make([]fanout.Ack, 0, min(limit, len(got.Val())))
	for _, text := range got.Val() {
		var a fanout.Ack
		if !decodeAck(text, &a) {
			continue
		}
		if n := len(acks); n > 0 && acks[n-1].Number == a.Number {
			if acks[n-1].Dead {
				acks[n-1] = a
			}
			continue
		}
		if len(acks) == limit {
			break
		}
		acks = append(acks, a)
	}
	return acks, nil
}

// WaitAcks implements [fanout.Tasks]. One of those who wait for the same acks
// is woken.
func (h *Hot) WaitAcks(ctx context.Context, post feed.ID, op int64, wait time.Duration) error {
	key := ackbellKey(post, op)
	for ; wait > 0; wait -= slice {
		if err := ctx.Err(); err != nil {
			return unavailable("blpop", err)
		}
		block := max(min(wait, slice), time.Millisecond)
		err := h.waiting.Do(ctx, "blpop", key, strconv.FormatFloat(block.Seconds(), 'f', 3, 64)).Err()
		h.onRoundTrip(1)
		if err == nil {
			return nil
		}
		if !errors.Is(err, goredis.Nil) {
			return unavailable("blpop", err)
		}
	}
	return nil
}

// DropAcks implements [fanout.Tasks].
func (h *Hot) DropAcks(ctx context.Context, post feed.ID, op int64) error {
	b := h.newBatch(ctx)
	b.number("del", acksKey(post, op), ackbellKey(post, op))
	return b.run()
}

// taskText makes the text of a task. Its generation is always 0: a task stands
// until it is executed, whatever becomes of the rest.
func taskText(t *fanout.Task) []byte {
	b := appendGeneration(make([]byte, 0, 64+8*len(t.Readers)), 0)
	b = appendInt(b, 2, int64(t.Post))
	b = appendInt(b, 3, t.At)
	b = appendInt(b, 4, int64(t.Author))
	b = appendInt(b, 5, t.Op)
	b = appendInt(b, 6, t.Number)
	return appendIDs(b, 7, t.Readers)
}

func decodeTask(s string, t *fanout.Task) bool {
	r := reader{s: s}
	r.header()
	for f := r.field(); f != 0; f = r.field() {
		switch f {
		case 2<<3 | asVarint:
			t.Post = feed.ID(r.int())
		case 3<<3 | asVarint:
			t.At = r.int()
		case 4<<3 | asVarint:
			t.Author = feed.ID(r.int())
		case 5<<3 | asVarint:
			t.Op = r.int()
		case 6<<3 | asVarint:
			t.Number = r.int()
		case 7<<3 | asText:
			t.Readers = r.ids()
		default:
			r.skip(f)
		}
	}
	return !r.bad && t.Post > 0
}

// appendAck makes the text of an ack.
func appendAck(b []byte, a *fanout.Ack) []byte {
	b = appendGeneration(b, 0)
	b = appendInt(b, 2, a.Number)
	b = appendInt(b, 3, int64(a.Last))
	b = appendInt(b, 4, a.Count)
	if a.Dead {
		b = appendInt(b, 5, 1)
	}
	return b
}

func decodeAck(s string, a *fanout.Ack) bool {
	r := reader{s: s}
	r.header()
	for f := r.field(); f != 0; f = r.field() {
		switch f {
		case 2<<3 | asVarint:
			a.Number = r.int()
		case 3<<3 | asVarint:
			a.Last = feed.ID(r.int())
		case 4<<3 | asVarint:
			a.Count = r.int()
		case 5<<3 | asVarint:
			a.Dead = r.int() != 0
		default:
			r.skip(f)
		}
	}
	return !r.bad && a.Count <= math.MaxInt32
}
