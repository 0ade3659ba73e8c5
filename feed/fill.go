package feed

import (
	"context"
	"log/slog"
	"time"
)

// Background filling is bounded: a full queue drops the job, and the next
// reading asks again.
const (
	jobQueue       = 1024
	jobWorkers     = 4
	jobTimeout     = 30 * time.Second
	fillLeaseTTL   = 5_000         // ms: a killed filler holds others up no longer
	outboxTTL      = 24 * 3600_000 // ms
	maxInlineFills = 500           // followees up to which the reader waits for its own rebuild
)

// job asks for a list to be filled from the record.
type job struct {
	list   List
	extend bool // only if the inbox is shorter than it may be
}

// enqueue hands a job to the background workers, unless the list is being
// filled already.
func (s *Service) enqueue(j job) {
	if !s.claim(j.list) {
		return
	}
	select {
	case s.jobs <- j:
	default:
		s.unclaim(j.list)
		s.count(EventJobDropped)
	}
}

// claim makes one filler a process for a [List] or a cell.
func (s *Service) claim(l any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, busy := s.working[l]; busy {
		return false
	}
	s.working[l] = struct{}{}
	return true
}

func (s *Service) unclaim(l any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.working, l)
}

func (s *Service) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-s.jobs:
			s.carryOut(ctx, j)
		}
	}
}

func (s *Service) carryOut(ctx context.Context, j job) {
	defer s.unclaim(j.list)
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	t := s.trip()
	f := filling{s: s, t: t, list: j.list, extend: j.extend}
	if _, err := f.fill(ctx); err != nil {
		s.log.WarnContext(ctx, "a list could not be filled", slog.String("list", string(j.list.Kind)),
			slog.Int64("owner", int64(j.list.Owner)), slog.Any("error", err))
		return
	}
	t.flush(ctx)
}

// filling is one filling of an inbox or outbox from the record.
//
// The order makes it safe: the list's version and floor are read before the
// relations, and the relations before the posts. A follow takes the version away before
// it writes the record, a publish does so for the outbox, and the merge is
// refused when version, floor or generation has changed. Posts published while
// the inbox is filled are pushed into it, because the reader is marked active
// first.
type filling struct {
	s      *Service
	t      *trip
	list   List
	extend bool
	// The owner's relations as they were read after relVersion of the list, if they were.
	rel        *Relations
	relVersion string
	// head, if set, is read along: when it turns out valid, another one has filled
	// the list meanwhile, and nothing has to be done.
	head *ReadList
	// fromRecord reads the owner's relations from the record.
	fromRecord func(context.Context) (*Relations, error)
}

// filled is the outcome: what is in the list now, newest first.
type filled struct {
	entries []Entry
	floor   int64
	rel     *Relations // that the entries were read under; inboxes only
	done    bool       // false: another one is at it, or nothing had to be done
	before  bool       // another one had filled the list when this one came
	epoch   int64      // of the reader's active shard, with before
}

func (f *filling) fill(ctx context.Context) (filled, error) {
	s := f.s
	open := &OpenList{List: f.list}
	lease := &TakeLease{Name: string(f.list.Kind), User: f.list.Owner, Token: newToken(), TTL: fillLeaseTTL}
	ops := []Op{open, lease}
	active := &TouchActive{}
	if f.list.Kind == Inbox {
		now := s.now()
		*active = TouchActive{Reader: f.list.Owner, Day: dayOf(now), Make: now}
		ops = []Op{active, open, lease}
	}
	if f.head != nil {
		ops = append(ops, f.head)
	}
	if !f.t.do(ctx, ops...) || !lease.Taken {
		return filled{}, nil
	}
	f.t.later(&DropLease{Name: lease.Name, User: lease.User, Token: lease.Token})
	if open.Version == "" || (f.extend && open.Length >= s.set.InboxLength) {
		return filled{}, nil
	}
	if f.head != nil && active.Epoch != 0 && f.head.Valid(active.Epoch) {
		return filled{epoch: active.Epoch, before: true}, nil
	}
	authors := []ID{f.list.Owner}
	keep, ttl := s.set.OutboxLength, int64(outboxTTL)
	var rel *Relations
	if f.list.Kind == Inbox {
		var err error
		if rel, err = f.relations(ctx, open.Version); err != nil {
			return filled{}, err
		}
		authors = view{reader: f.list.Owner, rel: rel}.authors()
		keep, ttl = s.set.InboxLength, s.set.inboxTTL()
	}
	all, err := s.record.Entries(ctx, authors, Newest(), keep+1)
	if err != nil {
		return filled{}, err
	}
	entries, floor := keepNewest(all, keep)
	f.t.pending = append([]Op{&MergeList{
		List: f.list, Version: open.Version, Raw: open.Raw, Entries: entries, TTL: ttl, Generation: open.Generation,
		Floor: Floor{At: floor, Version: open.Version, Epoch: active.Epoch},
	}}, f.t.pending...)
	switch {
	case f.list.Kind == Outbox:
		s.count(EventOutboxFilled)
	case f.extend:
		s.count(EventInboxExtended)
	default:
		s.count(EventInboxRebuilt)
	}
	return filled{entries: entries, floor: floor, rel: rel, done: true}, nil
}

// relations gives the owner's relations, read no earlier than the version.
func (f *filling) relations(ctx context.Context, version string) (*Relations, error) {
	if f.rel != nil && f.relVersion == version {
		return f.rel, nil
	}
	if f.fromRecord != nil {
		return f.fromRecord(ctx)
	}
	rel, err := f.s.record.RelationsOf(ctx, f.list.Owner)
	return &rel, err
}

func dayOf(ms int64) int64 { return ms / (24 * 3600_000) }
