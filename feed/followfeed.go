package feed

import (
	"context"
	"slices"
	"time"
)

// The bounds of one page's work.
const (
	maxRefills = 3 // readings more when filtering has emptied a page
	// maxFlight is the number of followees in flight up to which their outboxes
	// are read; above it the page comes from the record.
	maxFlight = 500
)

// followScan reads one reader's feed: from the inbox and the outboxes of authors
// in flight above the floor, from the record below it.
type followScan struct {
	scan
	hot   bool // the inbox may be believed
	epoch int64

	head   *ReadList // the inbox page that was read first, until it is used
	headAt time.Time
	built  *filled // the inbox as this response has just filled it
	marked bool    // flight is known
	flight []ID    // followees in flight
	floor  int64   // the highest of the merges
}

func (s *Service) followScan(t *trip, stats bool) *followScan {
	sc := &followScan{scan: scan{s: s, t: t, stats: stats}, floor: Beginning}
	sc.from = sc
	return sc
}

// FollowFeed returns a page of the posts of the people that r follows and r's
// own, newest first, strictly below a position. UNAUTHENTICATED without a
// profile.
func (s *Service) FollowFeed(ctx context.Context, r *Reader, first int, below Position, want Want) (*Page, error) {
	if r.id == 0 {
		return nil, Unauthenticated("followFeed needs a reader: send a token, or in development mode the header X-Feedgate-User")
	}
	t := s.trip()
	sc := s.followScan(t, want.Stats)
	own, err := sc.open(ctx, r.id, first, below)
	if err != nil {
		return nil, err
	}
	p := &Page{}
	if err := sc.read(ctx, p, first, below, sc.v.inFollowFeed); err != nil {
		return nil, err
	}
	if sc.hot && sc.floor > Beginning {
		p.CompleteSince = sc.floor
	}
	if err := s.prime(ctx, t, sc.v, p, want, sc.cold, own); err != nil {
		return nil, err
	}
	t.flush(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rel = sc.v.rel
	r.adoptProfile(own.first.values[0])
	if _, err := r.owner(); err != nil {
		return nil, err
	}
	return p, nil
}

// open reads, in one round trip, the mark, the head of the inbox, the relations
// and the profile, and fills the inbox if it cannot be believed. It returns the
// loading of the profile, which may still have to be finished.
func (sc *followScan) open(ctx context.Context, reader ID, first int, below Position) (*pairLoad[User, UserCounts], error) {
	s, t := sc.s, sc.t
	list := List{Kind: Inbox, Owner: reader}
	active := &TouchActive{Reader: reader, Day: dayOf(s.now())}
	head := &ReadList{List: list, Below: below, Limit: first + 1}
	rel := &ReadRelations{User: reader}
	own := newUserLoad([]ID{reader}, false, false)
	sc.headAt = s.clock.Now()
	hot := t.do(ctx, active, head, &RenewList{List: list, TTL: s.set.inboxTTL()}, rel, &own.first.get)
	own.first.take(hot)
	sc.v.reader, sc.epoch = reader, active.Epoch
	if hot && active.Epoch != 0 && head.Valid(active.Epoch) {
		sc.hot, sc.head = true, head
	}
	if hot && !sc.hot {
		if err := sc.fillInbox(ctx, head, rel); err != nil {
			return nil, err
		}
	}
	if sc.v.rel == nil {
		var err error
		if sc.v.rel, err = s.relations(ctx, t, rel, hot); err != nil {
			return nil, err
		}
	}
	return own, nil
}

// fillInbox fills an inbox that could not be believed, and serves this response
// from what it has read. When another one is at it, or the followees are so
// many that it takes long, the page comes straight from the record.
func (sc *followScan) fillInbox(ctx context.Context, head *ReadList, rel *ReadRelations) error {
	sc.cold = true
	if rel.Found && len(rel.Relations.Following) > maxInlineFills {
		sc.s.enqueue(job{list: head.List})
		return nil
	}
	if !sc.s.claim(head.List) {
		return nil
	}
	defer sc.s.unclaim(head.List)
	again := &ReadList{List: head.List, Below: head.Below, Limit: head.Limit}
	f := filling{s: sc.s, t: sc.t, list: head.List, head: again}
	if rel.Found && head.Version != "" {
		f.rel, f.relVersion = &rel.Relations, head.Version
	}
	f.fromRecord = func(ctx context.Context) (*Relations, error) {
		return sc.s.relations(ctx, sc.t, &ReadRelations{User: rel.User, Version: rel.Version, Generation: rel.Generation}, true)
	}
	asked := sc.s.clock.Now()
	built, err := f.fill(ctx)
	if err == nil && built.before {
		sc.hot, sc.head, sc.headAt, sc.epoch = true, again, asked, built.epoch
	}
	if err != nil || !built.done {
		return err
	}
	sc.v.rel, sc.hot, sc.built = built.rel, true, &built
	return nil
}

// list gives the next entries of the feed.
func (sc *followScan) list(ctx context.Context, pos Position, limit int) (f found, err error) {
	switch {
	case sc.built != nil:
		f.entries, f.done, err = sc.fromBuilt(ctx, pos, limit)
	case sc.hot && sc.head != nil:
		f.entries, f.done, f.loaded, err = sc.fromHead(ctx, pos, limit)
	case sc.hot:
		f.entries, f.done, err = sc.fromLists(ctx, pos, limit)
	default:
		f.entries, f.done, err = sc.fromRecord(ctx, pos, limit)
	}
	return f, err
}

// ghosts has entries removed from the inbox whose posts are gone.
func (sc *followScan) ghosts(ids []ID) {
	if sc.hot {
		sc.s.count(EventGhostEntry)
		sc.t.later(&RemoveEntries{List: List{Kind: Inbox, Owner: sc.v.reader}, IDs: ids})
	}
}

// fromHead uses the inbox page that came with the first round trip. The marks
// and the posts of that page are read together; authors in flight cost one
// round trip more.
func (sc *followScan) fromHead(ctx context.Context, pos Position, limit int) ([]Entry, bool, *pairLoad[Post, Stats], error) {
	head := sc.head
	sc.head = nil
	marks := &ReadMarks{Authors: sc.v.authors()}
	load := newPostLoad(entryIDs(head.Entries), sc.stats, false)
	hot := sc.t.do(ctx, append(load.ops(), marks)...)
	late := sc.s.clock.Now().Sub(sc.headAt) > sc.s.set.MarkGrace*2/5
	if hot {
		if err := sc.learnFlight(ctx, marks); err != nil {
			return nil, false, nil, err
		}
	}
	if !hot || late || marks.Unknown || len(sc.flight) > maxFlight {
		// The inbox was read too long before the marks, or without them: again, in order.
		entries, done, err := sc.fromLists(ctx, pos, limit)
		return entries, done, nil, err
	}
	if err := load.finish(ctx, sc.t, hot); err != nil {
		return nil, false, nil, err
	}
	sources := []source{{entries: head.Entries, floor: head.Floor.At}}
	if len(sc.flight) > 0 {
		boxes := sc.outboxes(pos, limit)
		hot := sc.t.do(ctx, listOps(boxes)...)
		more, err := sc.flightSources(ctx, boxes, hot, pos, limit)
		if err != nil {
			return nil, false, nil, err
		}
		sources = append(sources, more...)
	}
	entries, done, err := sc.merged(ctx, pos, limit, sources)
	return entries, done, load, err
}

// learnFlight finds out which followees are in flight. When marks were lost,
// the record tells, and the marks are written anew.
func (sc *followScan) learnFlight(ctx context.Context, marks *ReadMarks) error {
	sc.marked = true
	sc.flight = marks.InFlight
	if !marks.Unknown {
		return nil
	}
	sc.s.count(EventMarksUnknown)
	all, err := sc.s.record.AuthorsInFlight(ctx)
	if err != nil {
		return err
	}
	sc.t.later(&FillMarks{Authors: all, Now: sc.s.now(), Generation: marks.Generation})
	// Marks that were found stand: their fan-out may have just ended.
	flight := NewIDSet(slices.Clone(marks.InFlight))
	for _, id := range all {
		if id == sc.v.reader || sc.v.rel.Following.Has(id) {
			flight = append(flight, id)
		}
	}
	sc.flight = NewIDSet(flight)
	return nil
}

// fromLists reads inbox and outboxes at a position, the marks before them.
func (sc *followScan) fromLists(ctx context.Context, pos Position, limit int) ([]Entry, bool, error) {
	if !sc.marked {
		marks := &ReadMarks{Authors: sc.v.authors()}
		if sc.t.do(ctx, marks) {
			if err := sc.learnFlight(ctx, marks); err != nil {
				return nil, false, err
			}
		}
	}
	inbox := &ReadList{List: List{Kind: Inbox, Owner: sc.v.reader}, Below: pos, Limit: limit}
	boxes := sc.outboxes(pos, limit)
	if len(sc.flight) > maxFlight || !sc.t.do(ctx, append(listOps(boxes), inbox)...) || !inbox.Valid(sc.epoch) {
		sc.hot = false
		return sc.fromRecord(ctx, pos, limit)
	}
	more, err := sc.flightSources(ctx, boxes, true, pos, limit)
	if err != nil {
		return nil, false, err
	}
	return sc.merged(ctx, pos, limit, append(more, source{entries: inbox.Entries, floor: inbox.Floor.At}))
}

// fromBuilt serves from the inbox as this response has just filled it, which
// holds all that was on the record: nothing in flight can be missing.
func (sc *followScan) fromBuilt(ctx context.Context, pos Position, limit int) ([]Entry, bool, error) {
	i, _ := slices.BinarySearchFunc(sc.built.entries, pos, func(e Entry, pos Position) int {
		if e.Position().Below(pos) {
			return 1
		}
		return -1
	})
	page := sc.built.entries[i:]
	return sc.merged(ctx, pos, limit, []source{{entries: cut(page, limit), floor: sc.built.floor}})
}

func (sc *followScan) outboxes(pos Position, limit int) []*ReadList {
	boxes := make([]*ReadList, len(sc.flight))
	for i, author := range sc.flight {
		boxes[i] = &ReadList{List: List{Kind: Outbox, Owner: author}, Below: pos, Limit: limit}
	}
	return boxes
}

func listOps(lists []*ReadList) []Op {
	ops := make([]Op, len(lists), len(lists)+1)
	for i, l := range lists {
		ops[i] = l
	}
	return ops
}

// flightSources are the outboxes of the authors in flight; the record answers
// for those that cannot be believed, which are then filled in the background.
func (sc *followScan) flightSources(ctx context.Context, boxes []*ReadList, hot bool, pos Position, limit int) ([]source, error) {
	sources := make([]source, 0, len(boxes)+2)
	var lost []ID
	for _, box := range boxes {
		if hot && box.Valid(0) {
			sources = append(sources, source{entries: box.Entries, floor: box.Floor.At})
			continue
		}
		lost = append(lost, box.List.Owner)
		sc.s.enqueue(job{list: box.List})
	}
	if len(lost) == 0 {
		return sources, nil
	}
	entries, err := sc.s.record.Entries(ctx, lost, pos, limit)
	return append(sources, source{entries: entries, floor: Beginning}), err
}

// merged merges the sources and goes on with the record below their floor.
func (sc *followScan) merged(ctx context.Context, pos Position, limit int, sources []source) ([]Entry, bool, error) {
	entries, floor := merge(limit, sources...)
	sc.floor = max(sc.floor, floor)
	if len(entries) >= limit {
		return entries, false, nil
	}
	if floor == Beginning {
		return entries, true, nil
	}
	if sc.built == nil {
		sc.s.enqueue(job{list: List{Kind: Inbox, Owner: sc.v.reader}, extend: true})
	}
	older, done, err := sc.fromRecord(ctx, underFloor(pos, floor), limit-len(entries))
	return append(entries, older...), done, err
}

// fromRecord reads the posts of everybody shown from the record.
func (sc *followScan) fromRecord(ctx context.Context, pos Position, limit int) ([]Entry, bool, error) {
	sc.s.count(EventRecordPage)
	entries, err := sc.s.record.Entries(ctx, sc.v.shownAuthors(), pos, limit)
	return entries, len(entries) < limit, err
}
