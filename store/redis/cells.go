package redis

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"

	"feedgate/feed"
	"feedgate/feed/geo"
)

// A cell is a sorted set. Its members, the highest first:
//
//	+inf         f|at|generation|nonce           the floor, one or none
//	+inf         a|token                         an attempt to fill the cell, at most cellMarks
//	publishedAt  20 digits of the id, 16 bytes   a post and its position
//
// The bytes are the bits of latitude and longitude, so that a position comes
// back exactly. Floors sort above marks, so that the first member tells
// whether there is a floor.

// cellMarks is how many attempts may be under way at a time. One more takes the
// place of all others: most of so many have been given up.
const cellMarks = 8

// unfilledTTL is how long a cell lives that is being filled.
const unfilledTTL = time.Minute

// cellMemberBytes is the length of a post's member of a cell.
const cellMemberBytes = memberDigits + 16

func markText(token feed.Token) string { return "a|" + string(token) }

func isMark(member string) bool { return strings.HasPrefix(member, "a|") }

// cellMember makes the member of a post.
func cellMember(e *feed.CellEntry) string {
	b := appendMember(make([]byte, 0, cellMemberBytes), e.ID)
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(e.Point.Latitude))
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(e.Point.Longitude))
	return string(b)
}

// parseCellMember reads the member of a post.
func parseCellMember(member string) (feed.ID, geo.Point, bool) {
	if len(member) != cellMemberBytes {
		return 0, geo.Point{}, false
	}
	id, ok := parseMember(member[:memberDigits])
	var place [16]byte
	copy(place[:], member[memberDigits:])
	return id, geo.Point{
		Latitude:  math.Float64frombits(binary.BigEndian.Uint64(place[:8])),
		Longitude: math.Float64frombits(binary.BigEndian.Uint64(place[8:])),
	}, ok
}

// parseCellFloor reads the floor of a cell, if it is of the generation in force.
func parseCellFloor(member string, gen int64) (int64, bool) {
	rest, ok := strings.CutPrefix(member, "f|")
	if !ok {
		return 0, false
	}
	floor, rest, _ := strings.Cut(rest, "|")
	written, _, ok := strings.Cut(rest, "|")
	if !ok {
		return 0, false
	}
	if g, err := strconv.ParseInt(written, 10, 64); err != nil || g != gen {
		return 0, false
	}
	at, err := strconv.ParseInt(floor, 10, 64)
	return at, err == nil
}

// set gives a read its answers.
func setCell(op *feed.ReadCell, floor int64, entries []feed.CellEntry) {
	op.Found, op.Floor, op.Entries = true, floor, entries[:min(len(entries), max(op.Limit, 0))]
}

func (h *Hot) readCell(b *batch, op *feed.ReadCell) {
	op.Found, op.Floor, op.Entries = false, 0, nil
	gen := h.gen.Load()
	key := cellKey(op.Cell)
	defer b.number("pexpire", key, feed.CellTTL)
	if op.Below.IsNewest() {
		// One command reads floor and page at the same moment, and the marks between.
		page := b.texts("zrevrange", key, 0, op.Limit+cellMarks, "withscores")
		b.then(func() {
			got := page.Val()
			if len(got) == 0 {
				return
			}
			floor, ok := parseCellFloor(got[0], gen)
			if !ok {
				return
			}
			got = got[2:]
			for len(got) >= 2 && isMark(got[0]) {
				got = got[2:]
			}
			if entries, ok := appendCellEntries(nil, got, floor); ok {
				setCell(op, floor, entries)
			}
		})
		return
	}
	// Several commands: see readList.
	at := strconv.FormatInt(op.Below.At, 10)
	before := b.texts("zrevrange", key, 0, 0)
	equal := b.texts("zrevrangebyscore", key, at, at)
	below := b.texts("zrevrangebyscore", key, "("+at, "-inf", "withscores", "limit", 0, op.Limit)
	after := b.texts("zrevrange", key, 0, 0)
	b.then(func() {
		raw := only(before)
		if raw != only(after) {
			return
		}
		floor, ok := parseCellFloor(raw, gen)
		if !ok {
			return
		}
		var entries []feed.CellEntry
		if op.Below.At >= floor {
			entries, ok = equalCellEntries(equal.Val(), op.Below)
		}
		if ok {
			entries, ok = appendCellEntries(entries, below.Val(), floor)
		}
		if ok {
			setCell(op, floor, entries)
		}
	})
}

// appendCellEntries reads pairs of member and score down to the floor. It gives
// false for what no entry can be.
func appendCellEntries(entries []feed.CellEntry, pairs []string, floor int64) ([]feed.CellEntry, bool) {
	if entries == nil && len(pairs) > 0 {
		entries = make([]feed.CellEntry, 0, len(pairs)/2)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		id, point, ok := parseCellMember(pairs[i])
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
		entries = append(entries, feed.CellEntry{Entry: feed.Entry{At: at, ID: id}, Point: point})
	}
	return entries, true
}

// equalCellEntries reads the members of one millisecond that are below a position.
func equalCellEntries(members []string, below feed.Position) ([]feed.CellEntry, bool) {
	var entries []feed.CellEntry
	for _, member := range members {
		id, point, ok := parseCellMember(member)
		if !ok {
			return nil, false
		}
		if id < below.ID {
			entries = append(entries, feed.CellEntry{Entry: feed.Entry{At: below.At, ID: id}, Point: point})
		}
	}
	return entries, true
}

func (h *Hot) openCell(b *batch, op *feed.OpenCell) {
	op.Generation = h.gen.Load()
	b.script(h.scripts.openCell, []string{cellKey(op.Cell)}, markText(op.Token), cellMarks, unfilledTTL.Milliseconds())
}

func (h *Hot) mergeCell(b *batch, op *feed.MergeCell) {
	op.Merged = false
	args := make([]any, 0, 5+2*len(op.Entries))
	args = append(args, markText(op.Token), op.Floor, op.Generation, random(), feed.CellTTL)
	for i := range op.Entries {
		args = append(args, op.Entries[i].At, cellMember(&op.Entries[i]))
	}
	cmd := b.script(h.scripts.mergeCell, []string{cellKey(op.Cell)}, args...)
	b.then(func() { op.Merged = answered(cmd) == 1 })
}

func (h *Hot) addToCells(b *batch, op *feed.AddToCells) {
	keys := make([]string, len(op.Cells))
	for i, cell := range op.Cells {
		keys[i] = cellKey(cell)
	}
	member := cellMember(&op.Entry)
	h.inScripts(len(keys), func(from, to int) {
		b.script(h.scripts.addToCells, keys[from:to], op.Entry.At, member, op.Keep, op.Slack, op.Oldest, random())
	})
}

func (h *Hot) removeFromCell(b *batch, op *feed.RemoveFromCell) {
	if len(op.Entries) == 0 {
		return
	}
	args := make([]any, 0, 2+len(op.Entries))
	args = append(args, "zrem", cellKey(op.Cell))
	for i := range op.Entries {
		args = append(args, cellMember(&op.Entries[i]))
	}
	b.number(args...)
}
