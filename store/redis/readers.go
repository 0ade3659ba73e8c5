package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/fanout"
	"feedgate/feed"
)

var (
	_ fanout.Marks   = (*Hot)(nil)
	_ fanout.Readers = (*Hot)(nil)
)

// Marks implements [fanout.Marks].
func (h *Hot) Marks(ctx context.Context) ([]fanout.Mark, error) {
	b := h.newBatch(ctx)
	var got [inflightShards]*goredis.StringSliceCmd
	for n := range got {
		got[n] = b.texts("zrange", inflightKey(n), 0, -1, "withscores")
	}
	if err := b.run(); err != nil {
		return nil, err
	}
	var marks []fanout.Mark
	for _, cmd := range &got {
		pairs := cmd.Val()
		for i := 0; i+1 < len(pairs); i += 2 {
			author, err := feed.ParseID(pairs[i])
			version, ok := parseScore(pairs[i+1])
			if err == nil && ok {
				marks = append(marks, fanout.Mark{Author: author, Version: version})
			}
		}
	}
	return marks, nil
}

// Retire implements [fanout.Marks].
func (h *Hot) Retire(ctx context.Context, marks []fanout.Mark) error {
	var args [inflightShards][]any
	for _, m := range marks {
		n := inflightShards.of(m.Author)
		args[n] = append(args[n], int64(m.Author), m.Version)
	}
	b := h.newBatch(ctx)
	for n, of := range &args {
		if len(of) > 0 {
			b.script(h.scripts.removeMarks, []string{inflightKey(n)}, of...)
		}
	}
	return b.run()
}

// PruneActive implements [fanout.Readers]. A post that is pushed between the
// deletion of the inbox and that of the mark leaves a stub, which is therefore
// given an expiry at the end. A push that asked before the mark went and lands
// after the end leaves a stub of one entry, which lasts until its reader is back.
func (h *Hot) PruneActive(ctx context.Context, before int64, limit int) (int, error) {
	b := h.newBatch(ctx)
	var got [activeShards]*goredis.StringSliceCmd
	for n := range got {
		got[n] = b.texts("zrangebyscore", activeKey(n), "-inf", scoreBelow(before), "limit", 0, limit)
	}
	if err := b.run(); err != nil {
		return 0, err
	}
	var readers [activeShards][]feed.ID
	found := 0
	for n, cmd := range &got {
		for _, text := range cmd.Val() {
			if id, err := feed.ParseID(text); err == nil && found < limit {
				readers[n] = append(readers[n], id)
				found++
			}
		}
	}
	if found == 0 {
		return 0, nil
	}
	if err := h.eachInbox(ctx, &readers, func(b *batch, key string) { b.number("del", key) }); err != nil {
		return 0, err
	}
	b = h.newBatch(ctx)
	var pruned [activeShards]*goredis.Cmd
	for n, of := range &readers {
		if len(of) == 0 {
			continue
		}
		args := append(make([]any, 0, 1+len(of)), before)
		for _, id := range of {
			args = append(args, int64(id))
		}
		pruned[n] = b.script(h.scripts.pruneActive, []string{activeKey(n)}, args...)
	}
	if err := b.run(); err != nil {
		return 0, err
	}
	count := 0
	for _, cmd := range &pruned {
		if cmd != nil {
			count += int(answered(cmd))
		}
	}
	return count, h.eachInbox(ctx, &readers, func(b *batch, key string) {
		b.number("expire", key, int64(stubTTL.Seconds()), "nx")
	})
}

func (h *Hot) eachInbox(ctx context.Context, readers *[activeShards][]feed.ID, add func(b *batch, key string)) error {
	b := h.newBatch(ctx)
	for _, of := range readers {
		for _, id := range of {
			add(b, tagged(inboxName, int64(id)))
		}
	}
	return b.run()
}
