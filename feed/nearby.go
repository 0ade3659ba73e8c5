package feed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"feedgate/feed/geo"
)

// The radius of nearbyFeed in metres.
const (
	MinRadius     = 1
	MaxRadius     = int(geo.MaxRadius)
	DefaultRadius = MaxRadius
)

// DistanceStep is the step in metres to which distances are rounded up.
const DistanceStep = 100

// The bounds of what is read for one page.
const (
	// cellHead is the least that is read of a cell at first; four times the page
	// is usually enough for what is near among what touches the cell.
	cellHead = 100
	// recordFactor is how many posts of the record are looked at for one that is
	// wanted: the cells that a disc touches hold more than the disc.
	recordFactor = 8
	// fillReads is how often the record is read at most to fill one cell, each
	// time for twice as many posts as a cell keeps: around a cell there are more
	// posts than touch it.
	fillReads = 6
	// ghostAge is how old (ms) an entry without a post has to be to be removed.
	ghostAge = 60_000
)

// Nearby says whose neighbourhood a reader looks at.
type Nearby struct {
	Point  geo.Point
	Radius int // metres, 1 to 5,000
}

// check gives BAD_USER_INPUT, named for the argument.
func (n Nearby) check() error {
	switch {
	case math.IsNaN(n.Point.Latitude) || math.Abs(n.Point.Latitude) > 90:
		return BadInput("near.latitude", "latitude must be between -90 and 90 degrees")
	case math.IsNaN(n.Point.Longitude) || math.Abs(n.Point.Longitude) > 180:
		return BadInput("near.longitude", "longitude must be between -180 and 180 degrees")
	case n.Radius < MinRadius || n.Radius > MaxRadius:
		return BadInput("radiusMeters", fmt.Sprintf("radiusMeters must be a whole number from %d to %d", MinRadius, MaxRadius))
	default:
		return nil
	}
}

// DistanceTo is the way in metres from a point to the published position of
// p, rounded up to [DistanceStep]; false when p has none.
func (p *Post) DistanceTo(from geo.Point) (int64, bool) {
	at, ok := p.Point()
	if !ok {
		return 0, false
	}
	return int64(math.Ceil(geo.Distance(from, at)/DistanceStep)) * DistanceStep, true
}

// NearbyFeed returns a page of the posts whose published positions are within
// the radius, newest first, strictly below a position. It needs no reader; one
// sees none of hidden and muted people, and their own posts as others see them.
// BAD_USER_INPUT for a point or radius that is out of bounds.
func (s *Service) NearbyFeed(ctx context.Context, r *Reader, at Nearby, first int, below Position, want Want) (*Page, error) {
	if err := at.check(); err != nil {
		return nil, err
	}
	sc := &scan{s: s, t: s.trip(), stats: want.Stats}
	near := &nearbyList{sc: sc, near: at.Point, radius: float64(at.Radius), cell: geo.CellOf(at.Point), pos: below}
	sc.from = near
	if err := near.open(ctx, r, first, below); err != nil {
		return nil, err
	}
	p := &Page{}
	if err := sc.read(ctx, p, first, below, sc.v.inNearbyFeed); err != nil {
		return nil, err
	}
	if err := s.prime(ctx, sc.t, sc.v, p, want, sc.cold, nil); err != nil {
		return nil, err
	}
	sc.t.flush(ctx)
	return p, nil
}

// nearbyList lists the posts around a point: above the floor from the cell in
// which the point lies, below it from the record.
type nearbyList struct {
	sc     *scan
	near   geo.Point
	radius float64 // metres
	cell   geo.Cell

	ahead []CellEntry // read, but not looked at, newest first
	pos   Position    // what is above it was read
	end   bool        // there is nothing below pos
	hot   bool        // the cell may be believed
	more  bool        // it may hold more below pos
	floor int64       // of the cell
	read  []CellEntry // all that came from the cell
}

// open reads the head of the cell together with the reader's relations, and
// fills the cell if it is missing.
func (l *nearbyList) open(ctx context.Context, r *Reader, first int, below Position) error {
	sc := l.sc
	head := &ReadCell{Cell: l.cell, Below: below, Limit: max(4*first, cellHead)}
	ops := []Op{head}
	sc.v = view{reader: r.id, rel: r.known()}
	rel := &ReadRelations{User: r.id}
	if sc.v.rel == nil {
		ops = append(ops, rel)
	}
	hot := sc.t.do(ctx, ops...)
	if sc.v.rel == nil {
		var err error
		if sc.v.rel, err = sc.s.relations(ctx, sc.t, rel, hot); err != nil {
			return err
		}
		r.learn(sc.v.rel)
	}
	switch {
	case hot && head.Found:
		l.adopt(head)
		return nil
	case hot:
		return l.fill(ctx, below)
	default:
		return nil
	}
}

// adopt takes over what was read of the cell.
func (l *nearbyList) adopt(part *ReadCell) {
	l.hot, l.floor, l.more = true, part.Floor, len(part.Entries) == part.Limit
	l.lookAt(part.Entries)
	l.read = append(l.read, part.Entries...)
	l.end = !l.more && l.floor == Beginning
}

func (l *nearbyList) lookAt(entries []CellEntry) {
	l.ahead = entries
	if len(entries) > 0 {
		l.pos = entries[len(entries)-1].Position()
	}
}

// list gives the next entries within the radius. It reads the record at most
// once, so that one page's work is bounded by its refills: it may then give
// less than there is.
func (l *nearbyList) list(ctx context.Context, _ Position, limit int) (found, error) {
	f := found{entries: make([]Entry, 0, limit)}
	for asked := false; ; {
		for len(l.ahead) > 0 && len(f.entries) < limit {
			e := l.ahead[0]
			l.ahead = l.ahead[1:]
			f.reached = e.Position()
			if geo.Distance(l.near, e.Point) <= l.radius {
				f.entries = append(f.entries, e.Entry)
			}
		}
		f.done = l.end && len(l.ahead) == 0
		switch {
		case f.done || len(f.entries) == limit:
			return f, nil
		case l.more:
			l.restOfCell(ctx)
		case asked:
			return f, nil
		default:
			if err := l.fromRecord(ctx, limit); err != nil {
				return f, err
			}
			asked = true
		}
	}
}

// restOfCell reads all of the cell that has not been read: it is bounded.
func (l *nearbyList) restOfCell(ctx context.Context) {
	rest := &ReadCell{Cell: l.cell, Below: l.pos, Limit: 2 * (l.sc.s.set.NearbyCellLength + nearbyCellSlack(l.sc.s.set.NearbyCellLength))}
	if l.sc.t.do(ctx, rest) && rest.Found {
		l.adopt(rest)
		return
	}
	l.hot, l.more = false, false // lost meanwhile
}

// fromRecord reads on below the floor.
func (l *nearbyList) fromRecord(ctx context.Context, limit int) error {
	l.sc.s.count(EventRecordPage)
	if l.hot {
		l.pos = underFloor(l.pos, l.floor)
		l.hot = false
	}
	limit *= recordFactor
	entries, err := l.sc.s.entriesInCells(ctx, cellsWithin(l.near, l.radius), l.pos, limit)
	if err != nil {
		return err
	}
	l.lookAt(entries)
	l.end = len(entries) < limit
	return nil
}

// ghosts has entries removed from the cell whose posts are gone.
func (l *nearbyList) ghosts(ids []ID) {
	gone := NewIDSet(slices.Clone(ids))
	old := l.sc.s.now() - ghostAge
	var entries []CellEntry
	for _, e := range l.read {
		if e.At < old && gone.Has(e.ID) {
			entries = append(entries, e)
		}
	}
	if len(entries) > 0 {
		l.sc.s.count(EventGhostEntry)
		l.sc.t.later(&RemoveFromCell{Cell: l.cell, Entries: entries})
	}
}

// fill fills a cell that is missing, and serves this response from what it has
// read. When another response of this process is at it, the record answers.
//
// A post is on the record before it is added to cells, and is added to those
// that exist. The cell exists from OpenCell on: what the record did not show yet
// is added to it. Is it lost in between, its mark is lost with it and MergeCell
// does nothing.
func (l *nearbyList) fill(ctx context.Context, below Position) error {
	s, t := l.sc.s, l.sc.t
	l.sc.cold = true
	if !s.claim(l.cell) {
		return nil
	}
	defer s.unclaim(l.cell)
	open := &OpenCell{Cell: l.cell, Token: newToken()}
	if !t.do(ctx, open) {
		return nil
	}
	entries, floor, err := s.cellFromRecord(ctx, l.cell)
	if err != nil {
		return err
	}
	t.later(&MergeCell{Cell: l.cell, Token: open.Token, Entries: entries, Floor: floor, Generation: open.Generation})
	s.count(EventCellFilled)
	i, _ := slices.BinarySearchFunc(entries, below, func(e CellEntry, pos Position) int {
		if e.Position().Below(pos) {
			return 1
		}
		return -1
	})
	l.hot, l.floor = true, floor
	l.lookAt(entries[i:])
	l.end = floor == Beginning
	return nil
}

// cellFromRecord reads what a cell holds, newest first, and the floor down to
// which that is all.
func (s *Service) cellFromRecord(ctx context.Context, cell geo.Cell) ([]CellEntry, int64, error) {
	around := geo.Around(cell)
	keep, oldest := s.set.NearbyCellLength, nearbyOldest(s.now(), s.set.NearbyCellAge)
	var kept []CellEntry
	cutAt := func(floor int64) ([]CellEntry, int64, error) {
		for len(kept) > 0 && kept[len(kept)-1].At < floor {
			kept = kept[:len(kept)-1]
		}
		return kept, floor, nil
	}
	pos := Newest()
	for range fillReads {
		part, err := s.entriesInCells(ctx, around, pos, 2*keep)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range part {
			pos = e.Position()
			switch {
			case e.At < oldest:
				return cutAt(oldest)
			case !slices.Contains(geo.Touched(e.Point), cell):
			case len(kept) == keep:
				return cutAt(e.At + 1)
			default:
				kept = append(kept, e)
			}
		}
		if len(part) < 2*keep {
			return cutAt(Beginning)
		}
	}
	return cutAt(pos.At + 1)
}

// cellsWithin are the cells that may hold a post within a radius in metres: of
// those that the widest disc touches, the ones that come as near.
func cellsWithin(p geo.Point, radius float64) []geo.Cell {
	return slices.DeleteFunc(geo.Touched(p), func(c geo.Cell) bool { return atLeast(p, c) > radius+1 })
}

// atLeast is a lower bound of the way in metres from p to a cell: that to its
// parallels, and that to the great circles of its meridians.
func atLeast(p geo.Point, c geo.Cell) float64 {
	const radian = math.Pi / 180
	south, west, north, east := c.Box()
	way := max(south-p.Latitude, p.Latitude-north, 0) * radian
	if p.Longitude < west || p.Longitude > east {
		aside := 180.0
		for _, border := range []float64{west, east} {
			d := math.Abs(p.Longitude - border)
			aside = min(aside, d, 360-d)
		}
		if aside < 90 { // else the nearest way may lead over a pole
			way = max(way, math.Asin(math.Sin(aside*radian)*math.Cos(p.Latitude*radian)))
		}
	}
	return way * geo.EarthRadius
}

// entriesInCells asks the record, for as many cells at a time as it takes.
func (s *Service) entriesInCells(ctx context.Context, cells []geo.Cell, below Position, limit int) ([]CellEntry, error) {
	var all []CellEntry
	parts := 0
	for part := range slices.Chunk(cells, MaxCells) {
		entries, err := s.record.EntriesInCells(ctx, part, below, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
		parts++
	}
	if parts > 1 {
		slices.SortFunc(all, func(a, b CellEntry) int { return a.Position().Compare(b.Position()) })
	}
	return all[:min(limit, len(all))], nil
}

// NearbyEntry is what goes into the cells of the nearby index when a post is
// published at a place: into those that touch the disc around its published
// position. Length and age are those of [Settings]; now is in ms. Nil for a
// post without a published position.
func NearbyEntry(e Entry, place *Place, length int, age time.Duration, now int64) *AddToCells {
	p := Post{Place: place}
	at, ok := p.Point()
	if !ok {
		return nil
	}
	return &AddToCells{
		Cells: geo.Touched(at), Entry: CellEntry{Entry: e, Point: at},
		Keep: length, Slack: nearbyCellSlack(length), Oldest: nearbyOldest(now, age),
	}
}

// nearbyCellSlack is by how much a cell may outgrow its length before it is cut.
func nearbyCellSlack(length int) int { return max(length/8, 1) }

// nearbyOldest is the time (ms) before which cells hold nothing.
func nearbyOldest(now int64, age time.Duration) int64 {
	if age == 0 {
		return Beginning
	}
	return now - age.Milliseconds()
}
