package redis

import (
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
)

// stubTTL is how long a list lives that nobody has filled.
const stubTTL = 24 * time.Hour

func (h *Hot) readList(b *batch, op *feed.ReadList) {
	gen := h.gen.Load()
	key := listKey(op.List)
	if op.Below.IsNewest() {
		// One command reads floor and page at the same moment.
		page := b.texts("zrevrange", key, 0, op.Limit, "withscores")
		version := b.text("get", listverKey(op.List))
		b.then(func() {
			op.Version, op.Floor, op.Entries = "", nil, nil
			op.Version = standing(version.Val())
			got := page.Val()
			if len(got) == 0 {
				return
			}
			floor, ok := parseFloor(got[0], gen)
			if !ok {
				return
			}
			if entries, ok := appendEntries(nil, got[2:], floor.At); ok {
				op.Floor, op.Entries = floor, entries
			}
		})
		return
	}
	// Several commands: a floor that changed in between proves nothing about
	// the entries between the old and the new one.
	at := strconv.FormatInt(op.Below.At, 10)
	before := b.texts("zrevrange", key, 0, 0)
	equal := b.texts("zrevrangebyscore", key, at, at)
	below := b.texts("zrevrangebyscore", key, "("+at, "-inf", "withscores", "limit", 0, op.Limit)
	after := b.texts("zrevrange", key, 0, 0)
	version := b.text("get", listverKey(op.List))
	b.then(func() {
		op.Version, op.Floor, op.Entries = "", nil, nil
		op.Version = standing(version.Val())
		raw := only(before)
		if raw == "" || raw != only(after) {
			return
		}
		floor, ok := parseFloor(raw, gen)
		if !ok {
			return
		}
		var entries []feed.Entry
		if op.Below.At >= floor.At {
			entries, ok = equalEntries(equal.Val(), op.Below, op.Limit)
		}
		if ok {
			entries, ok = appendEntries(entries, below.Val(), floor.At)
		}
		if ok {
			op.Floor, op.Entries = floor, entries[:min(len(entries), op.Limit)]
		}
	})
}

// only gives the one text of an answer, "" for none.
func only(cmd *goredis.StringSliceCmd) string {
	if got := cmd.Val(); len(got) == 1 {
		return got[0]
	}
	return ""
}

// standing gives a version, "" for one that a mutation holds.
func standing(version string) string {
	if held(version) {
		return ""
	}
	return version
}

// appendEntries reads pairs of member and score down to the floor. It gives
// false for what no entry can be.
func appendEntries(entries []feed.Entry, pairs []string, floor int64) ([]feed.Entry, bool) {
	if entries == nil && len(pairs) > 0 {
		entries = make([]feed.Entry, 0, len(pairs)/2)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		id, ok := parseMember(pairs[i])
		if !ok {
			return nil, false
		}
		at, ok := parseScore(pairs[i+1])
		if !ok {
			return nil, false
		}
		if at < floor {
			break
		}
		entries = append(entries, feed.Entry{At: at, ID: id})
	}
	return entries, true
}

// equalEntries reads the members of one millisecond that are below a position.
func equalEntries(members []string, below feed.Position, limit int) ([]feed.Entry, bool) {
	var entries []feed.Entry
	for _, member := range members {
		id, ok := parseMember(member)
		if !ok {
			return nil, false
		}
		if id >= below.ID {
			continue
		}
		if len(entries) == limit {
			break
		}
		entries = append(entries, feed.Entry{At: below.At, ID: id})
	}
	return entries, true
}

func (h *Hot) openList(b *batch, op *feed.OpenList) {
	op.Generation = h.gen.Load()
	cmd := b.script(h.scripts.openList, []string{listKey(op.List), listverKey(op.List)},
		"g"+random(), versionTTL.Milliseconds(), floorText(&feed.Floor{}, disbelieved), stubTTL.Milliseconds())
	b.then(func() {
		op.Version, op.Raw, op.Length = "", "", 0
		answer, err := cmd.Slice()
		if err != nil || len(answer) < 3 {
			return
		}
		op.Version, op.Raw = standing(textAt(answer, 0)), textAt(answer, 1)
		if n, ok := answer[2].(int64); ok {
			op.Length = int(n)
		}
	})
}

func (h *Hot) mergeList(b *batch, op *feed.MergeList) {
	op.Merged = false
	if op.Version == "" {
		return
	}
	args := make([]any, 0, 4+2*len(op.Entries))
	args = append(args, op.Version, op.Raw, floorText(&op.Floor, op.Generation), op.TTL)
	args = appendPairs(args, op.Entries)
	cmd := b.script(h.scripts.mergeList, []string{listKey(op.List), listverKey(op.List)}, args...)
	b.then(func() { op.Merged = answered(cmd) == 1 })
}

// appendPairs appends score and member of each entry.
func appendPairs(args []any, entries []feed.Entry) []any {
	for _, e := range entries {
		args = append(args, e.At, memberText(e.ID))
	}
	return args
}

// answered gives the number that a script answered.
func answered(cmd *goredis.Cmd) int64 {
	n, err := cmd.Int64()
	if err != nil {
		return 0
	}
	return n
}

func (h *Hot) holdList(b *batch, op *feed.HoldList) {
	was := b.text("set", listverKey(op.List), "p"+string(op.Token), "px", feed.HoldTTL, "get")
	b.then(func() { op.Was = standing(was.Val()) })
}

func (h *Hot) commitList(b *batch, op *feed.CommitList) {
	args := make([]any, 0, 7+2*len(op.Entries))
	args = append(args, "p"+string(op.Token), op.Was, "g"+random(), versionTTL.Milliseconds(),
		op.Raise, h.gen.Load(), random())
	args = appendPairs(args, op.Entries)
	b.script(h.scripts.commitList, []string{listKey(op.List), listverKey(op.List)}, args...)
}

func (h *Hot) renewList(b *batch, op *feed.RenewList) {
	b.number("pexpire", listKey(op.List), op.TTL)
}

func (h *Hot) trimList(b *batch, op *feed.TrimList) {
	h.trim(b, listKey(op.List), op.Keep, op.Slack)
}

func (h *Hot) trim(b *batch, key string, keep, slack int) {
	b.script(h.scripts.trimList, []string{key}, keep, slack, random())
}

func (h *Hot) removeEntries(b *batch, op *feed.RemoveEntries) {
	if len(op.IDs) == 0 {
		return
	}
	args := make([]any, 0, 2+len(op.IDs))
	args = append(args, "zrem", listKey(op.List))
	for _, id := range op.IDs {
		args = append(args, memberText(id))
	}
	b.number(args...)
}
