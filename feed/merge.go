package feed

import (
	"math"
	"slices"
)

// Beginning is the floor of a list that is complete.
const Beginning = math.MinInt64

// source is one page of one source: its entries strictly below the position
// asked for, at most as many as were asked for, and the floor down to which the
// source is complete.
type source struct {
	entries []Entry
	floor   int64
}

// merge gives the newest entries of all sources, each once, newest first, at
// most limit, and the floor down to which the result is complete when it is
// shorter than limit. All sources were asked for the same position and limit:
// a source that filled its page has nothing above the page's last entry that is
// not in it, so the limit newest of the union are right.
func merge(limit int, sources ...source) ([]Entry, int64) {
	if len(sources) == 1 { // the usual case: nobody followed is in flight
		only := sources[0]
		return cut(aboveFloor(only.entries, only.floor), limit), only.floor
	}
	floor := int64(Beginning)
	n := 0
	for _, s := range sources {
		floor = max(floor, s.floor)
		n += len(s.entries)
	}
	all := make([]Entry, 0, n)
	for _, s := range sources {
		all = append(all, aboveFloor(s.entries, floor)...)
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return a.Position().Compare(b.Position()) })
	all = slices.CompactFunc(all, func(a, b Entry) bool { return a.ID == b.ID })
	return cut(all, limit), floor
}

// aboveFloor is the part of a page, newest first, at or above a floor.
func aboveFloor(entries []Entry, floor int64) []Entry {
	for len(entries) > 0 && entries[len(entries)-1].At < floor {
		entries = entries[:len(entries)-1]
	}
	return entries
}

func cut(entries []Entry, limit int) []Entry {
	return entries[:min(limit, len(entries))]
}

// underFloor is the position from which the record goes on below a floor: the
// first place that is both below the floor and below pos.
func underFloor(pos Position, floor int64) Position {
	if under := (Position{At: floor}); under.Below(pos) {
		return under // ids are positive, so nothing at the floor itself is below
	}
	return pos
}

// keepNewest cuts a list read from the record (newest first, one more than
// keep asked for) to what a list may hold, and gives the floor.
func keepNewest(entries []Entry, keep int) ([]Entry, int64) {
	if len(entries) <= keep {
		return entries, Beginning
	}
	floor := entries[keep].At + 1
	return aboveFloor(entries[:keep], floor), floor
}
