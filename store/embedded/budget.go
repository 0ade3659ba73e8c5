package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// What a key costs beside its text and value, what one member of a list, a
// sorted set or a stream costs, and what the server never forgets of a key that
// it once held, in bytes, about.
const (
	perKey         = 200
	perMember      = 120
	perStreamEntry = 4_000
	perName        = 100
)

// count notes what a command may add. What a script writes is counted when it
// writes it.
func (s *Server) count(cmd string, args []string) {
	switch cmd {
	case "GET", "MGET", "ZMSCORE", "ZREVRANGE", "ZREVRANGEBYSCORE", "ZSCORE", "EVALSHA", "EVAL", "ZCARD", "AUTH", "HELLO":
		return
	}
	if s.budget <= 0 || len(args) == 0 {
		return
	}
	n := int64(perKey)
	for _, arg := range args {
		n += int64(len(arg))
	}
	s.written.Add(n)
	s.names.add(args[0])
}

// keepBudget measures what is held once enough was written since the last time
// that the budget may be exceeded, and drops what is too much.
func (s *Server) keepBudget(ctx context.Context) {
	if s.budget <= 0 || s.measured.Load()+s.written.Load() <= s.budget {
		return
	}
	s.written.Store(0)
	if known := s.names.count(); known*perName > s.budget/2 {
		s.flushed.Add(1)
		s.log.InfoContext(ctx, "in-process redis starts anew to forget the names of keys that are gone",
			slog.Int64("names", known), slog.Int64("budget_bytes", s.budget))
		s.restart(ctx)
		return
	}
	held, size, err := s.measure(ctx)
	if err != nil {
		s.log.ErrorContext(ctx, "in-process redis could not be measured", slog.Any("error", err))
		return
	}
	s.measured.Store(size)
	if size > s.budget {
		s.evict(ctx, held, size)
	}
}

// holding is a key with the bytes that it holds.
type holding struct {
	key  string
	size int64
}

// measureAtOnce is how many keys are asked about at a time.
const measureAtOnce = 500

// measure estimates what each key holds.
func (s *Server) measure(ctx context.Context) ([]holding, int64, error) {
	keys := s.redis.Keys()
	held := make([]holding, 0, len(keys))
	total := int64(0)
	for chunk := range slices.Chunk(keys, measureAtOnce) {
		pipe := s.client.Pipeline()
		members := make([]*goredis.IntCmd, len(chunk))
		each := make([]int64, len(chunk))
		for i, key := range chunk {
			switch s.redis.Type(key) {
			case "zset":
				members[i], each[i] = pipe.ZCard(ctx, key), perMember
			case "stream":
				members[i], each[i] = pipe.XLen(ctx, key), perStreamEntry
			case "list":
				members[i], each[i] = pipe.LLen(ctx, key), perMember
			default:
				members[i], each[i] = pipe.StrLen(ctx, key), 1
			}
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, 0, fmt.Errorf("measure: %w", err)
		}
		for i, key := range chunk {
			size := int64(perKey+len(key)) + members[i].Val()*each[i]
			held = append(held, holding{key: key, size: size})
			total += size
		}
	}
	return held, total, nil
}

// evict drops keys that expire anyway, details before lists, until half of the
// budget is free. If they are too few, the rest is too much, and all goes.
func (s *Server) evict(ctx context.Context, held []holding, before int64) {
	size, dropped := before, int64(0)
	for _, lists := range []bool{false, true} {
		for _, h := range held {
			if size <= s.budget/2 {
				break
			}
			if isList(h.key) == lists && s.redis.TTL(h.key) > 0 && s.redis.Del(h.key) {
				size -= h.size
				dropped++
			}
		}
	}
	s.evicted.Add(dropped)
	if size > s.budget {
		s.redis.FlushAll()
		s.flushed.Add(1)
		size = 0
		s.log.WarnContext(ctx, "in-process redis flushed: more than its budget has no expiry",
			slog.Int64("held_bytes", before), slog.Int64("budget_bytes", s.budget))
	} else {
		s.log.InfoContext(ctx, "in-process redis evicted keys to stay within its budget",
			slog.Int64("keys", dropped), slog.Int64("held_bytes", before), slog.Int64("budget_bytes", s.budget))
	}
	s.measured.Store(size)
}

func isList(key string) bool {
	return strings.HasPrefix(key, "inbox") || strings.HasPrefix(key, "outbox")
}
