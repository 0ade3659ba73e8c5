package redis

import (
	"context"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/fanout"
	"feedgate/feed"
)

var _ fanout.Inboxes = (*Hot)(nil)

// LastSeen implements [fanout.Inboxes].
func (h *Hot) LastSeen(ctx context.Context, readers []feed.ID) ([]int64, error) {
	b := h.newBatch(ctx)
	asked := askShards(b, activeShards, activeKey, readers)
	if err := b.run(); err != nil {
		return nil, err
	}
	days := make([]int64, len(readers))
	for i := range readers {
		if _, known := asked.known(i); !known {
			days[i] = fanout.SeenUnknown
			continue
		}
		days[i], _ = asked.score(i)
	}
	return days, nil
}

// sampled picks the pushes that measure the inbox: one of 32, and for each post
// those to other readers.
func sampled(reader, post feed.ID) bool {
	x := bits(int64(reader)) ^ bits(int64(post))*0x9e3779b97f4a7c15
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x>>(64-5) == 0
}

// pushed is what a push learns on the way about an inbox.
type pushed struct {
	key    string
	length *goredis.IntCmd
}

// Push implements [fanout.Inboxes]. Beside the ZADDs it measures a sample of
// the inboxes and gives them an expiry if they have none. In shards without an
// epoch, where everybody counts as active, the inboxes are seen to by nobody, so
// each of them is given one; elsewhere the daily pass deletes the inboxes of
// readers who stay away. That and the trimming take a second round trip, when
// there is cause.
func (h *Hot) Push(ctx context.Context, e feed.Entry, readers []feed.ID, keep, slack int) error {
	if len(readers) == 0 {
		return nil
	}
	b := h.newBatch(ctx)
	b.cmds = make([]goredis.Cmder, 0, len(readers)+len(readers)/8+int(activeShards)+8)
	keys := taggedKeys(inboxName, readers)
	sample := h.queuePushes(b, e, readers, keys)
	epochs := askEpochs(b, readers)
	if err := b.run(); err != nil {
		return err
	}
	after := h.newBatch(ctx)
	for _, s := range sample {
		if s.length.Val() > int64(keep+slack)+1 { // one is the floor
			h.trim(after, s.key, keep, slack)
		}
	}
	for i := range readers {
		if epochs[activeShards.of(readers[i])].Val() == 0 {
			expireStub(after, keys[i])
		}
	}
	return after.run()
}

// queuePushes adds the ZADDs of a push, whose arguments share their memory.
func (h *Hot) queuePushes(b *batch, e feed.Entry, readers []feed.ID, keys []string) []pushed {
	var zadd, score, member any = "zadd", e.At, memberText(e.ID)
	args := make([]any, 4*len(readers))
	var sample []pushed
	for i, reader := range readers {
		a := args[4*i : 4*i+4 : 4*i+4]
		a[0], a[1], a[2], a[3] = zadd, h.keyArg(&keys[i]), score, member
		b.add(goredis.NewIntCmd(b.ctx, a...))
		if sampled(reader, e.ID) {
			sample = append(sample, pushed{key: keys[i], length: b.number("zcard", keys[i])})
			expireStub(b, keys[i])
		}
	}
	return sample
}

// askEpochs asks for the epoch of each reader's active shard.
func askEpochs(b *batch, readers []feed.ID) map[int]*goredis.FloatCmd {
	epochs := make(map[int]*goredis.FloatCmd, activeShards)
	for _, reader := range readers {
		shard := activeShards.of(reader)
		if epochs[shard] == nil {
			cmd := goredis.NewFloatCmd(b.ctx, "zscore", activeKey(shard), sentinel)
			b.add(cmd)
			epochs[shard] = cmd
		}
	}
	return epochs
}

func expireStub(b *batch, key string) { b.number("expire", key, int64(stubTTL.Seconds()), "nx") }

// scoreBelow is the bound of a range of scores strictly below one.
func scoreBelow(score int64) string { return "(" + strconv.FormatInt(score, 10) }
