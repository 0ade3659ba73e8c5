package redis

import (
	"slices"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
)

// nothing is the score below which a post leaves a board that was changed.
const nothing = "1e-9"

// boardEnds are boards that were changed by the operations queued last, whose
// leavings are still to be cleared away: one call of a script does it for many.
type boardEnds struct {
	keys []string
	args []any
}

func (h *Hot) readBoard(b *batch, op *feed.ReadBoard) {
	op.Ranked = nil
	if op.Limit <= 0 {
		return
	}
	top := b.texts("zrevrange", boardKey(&op.Board), 0, op.Limit-1, "withscores")
	b.then(func() { op.Ranked = parseRanked(top) })
}

// parseRanked reads pairs of member and score, and passes over what is no post.
func parseRanked(cmd *goredis.StringSliceCmd) []feed.Ranked {
	pairs := cmd.Val()
	if len(pairs) == 0 {
		return nil
	}
	ranked := make([]feed.Ranked, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		id, ok := parseMember(pairs[i])
		score, err := strconv.ParseFloat(pairs[i+1], 64)
		if ok && err == nil {
			ranked = append(ranked, feed.Ranked{Post: id, Score: score})
		}
	}
	return ranked
}

func (h *Hot) changeBoard(b *batch, ends *boardEnds, op *feed.ChangeBoard) {
	if len(op.Changes) == 0 {
		return
	}
	key := boardKey(&op.Board)
	h.begin(b, ends, key)
	for _, change := range op.Changes {
		b.add(goredis.NewFloatCmd(b.ctx, "zincrby", key, change.Score, memberText(change.Post)))
	}
	ends.add(key, op.Keep, op.Slack, nothing)
}

func (h *Hot) putOnBoard(b *batch, ends *boardEnds, op *feed.PutOnBoard) {
	if len(op.Ranked) == 0 {
		return
	}
	key := boardKey(&op.Board)
	h.begin(b, ends, key)
	args := make([]any, 0, 3+2*len(op.Ranked))
	args = append(args, "zadd", key, "nx")
	for _, r := range op.Ranked {
		args = append(args, r.Score, memberText(r.Post))
	}
	b.number(args...)
	ends.add(key, op.Keep, op.Slack, "")
}

func (e *boardEnds) add(key string, keep, slack int, least string) {
	e.keys = append(e.keys, key)
	e.args = append(e.args, keep, slack, least)
}

// begin ends what is to be ended before a board can be changed: it must not
// be changed twice before it is cut.
func (h *Hot) begin(b *batch, ends *boardEnds, key string) {
	if slices.Contains(ends.keys, key) {
		h.endBoards(b, ends)
	}
}

// endBoards clears the leavings of changed boards away.
func (h *Hot) endBoards(b *batch, ends *boardEnds) {
	h.inScripts(len(ends.keys), func(from, to int) {
		args := make([]any, 0, 1+3*(to-from))
		args = append(args, int64(feed.BoardTTL))
		args = append(args, ends.args[3*from:3*to]...)
		b.script(h.scripts.endBoards, ends.keys[from:to], args...)
	})
	*ends = boardEnds{}
}

func (h *Hot) takeOffBoard(b *batch, op *feed.TakeOffBoard) {
	if len(op.Posts) == 0 {
		return
	}
	key := boardKey(&op.Board)
	b.number(zrem(key, op.Posts)...)
	b.number("pexpire", key, int64(feed.BoardTTL))
}

// zrem makes the command that removes ids from a sorted set.
func zrem(key string, ids []feed.ID) []any {
	args := make([]any, 0, 2+len(ids))
	args = append(args, "zrem", key)
	for _, id := range ids {
		args = append(args, memberText(id))
	}
	return args
}
