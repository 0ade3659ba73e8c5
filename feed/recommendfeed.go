package feed

import "context"

// RecommendPage is a page of recommendFeed. Reasons and Marks stand at the
// indexes of the items; a mark is the place below its item.
type RecommendPage struct {
	Page
	Reasons []Reason
	Marks   []SessionMark
	EndMark SessionMark // below all that was examined
}

// RecommendFeed returns a page of posts that are worth r's while, best first.
// Without a mark it begins a session, within which nothing repeats and marks are
// repeatable for an hour. The mark of a session that is lost or over, or
// another reader's, begins a new one. What r has viewed, what is excluded and what
// r may not see is left out, also when it happened after the session began.
func (s *Service) RecommendFeed(ctx context.Context, r *Reader, first int, after *SessionMark, exclude []ID, want Want) (*RecommendPage, error) {
	rq := &recommending{s: s, t: s.trip(), reader: r.id, stats: want.Stats, exclude: NewIDSet(append([]ID(nil), exclude...))}
	own, err := rq.open(ctx, after)
	if err != nil {
		return nil, err
	}
	p := &RecommendPage{}
	if err := rq.read(ctx, p, first); err != nil {
		return nil, err
	}
	if rq.changed {
		rq.t.later(&SaveSession{Token: rq.session.token, Data: rq.session.encode(), TTL: sessionTTL})
	}
	if l := rq.lease; l != nil {
		rq.t.later(&DropLease{Name: l.Name, User: l.User, Token: l.Token})
	}
	if err := s.prime(ctx, rq.t, rq.v, &p.Page, want, false, own); err != nil {
		return nil, err
	}
	rq.t.flush(ctx)
	return p, nil
}

// recommending is one reading of recommendFeed.
type recommending struct {
	s       *Service
	t       *trip
	v       view
	reader  ID
	stats   bool
	exclude IDSet
	tastes  *Tastes
	viewed  IDSet
	session *session
	offset  int // of the next post to be examined
	changed bool
	lease   *TakeLease // of the session, nil when it is not held
}

// open reads the session together with all that is known of the reader.
func (rq *recommending) open(ctx context.Context, after *SessionMark) (*pairLoad[User, UserCounts], error) {
	var ops []Op
	kept := &ReadSession{}
	if after != nil {
		kept.Token = after.Session
		ops = append(ops, kept)
	}
	own, err := rq.openReader(ctx, ops)
	if err != nil {
		return nil, err
	}
	if after != nil {
		if s, ok := decodeSession(after.Session, kept.Data); ok && s.reader == rq.reader && after.Offset <= len(s.ranked) {
			rq.session, rq.offset = s, after.Offset
			return own, nil
		}
		rq.s.count(EventSessionLost)
	}
	rq.session = &session{token: newToken(), reader: rq.reader, rest: Rest{Below: Newest()}}
	return own, nil
}

// openReader reads relations, profile, tastes and views along with ops. It
// returns the loading of the profile; nil for nobody.
func (rq *recommending) openReader(ctx context.Context, ops []Op) (*pairLoad[User, UserCounts], error) {
	s, t := rq.s, rq.t
	rq.v, rq.tastes = view{reader: rq.reader, rel: &Relations{}}, &Tastes{}
	if rq.reader == 0 {
		if len(ops) > 0 {
			t.do(ctx, ops...)
		}
		return nil, nil //nolint:nilnil // nobody has no profile
	}
	rel := &ReadRelations{User: rq.reader}
	own := newUserLoad([]ID{rq.reader}, false, false)
	tastes, views := s.newTastesLoad([]ID{rq.reader}), s.newViewsLoad(rq.reader)
	hot := t.do(ctx, append(ops, rel, &own.first.get, &tastes.get, &views.get)...)
	own.first.take(hot)
	var err error
	if rq.v.rel, err = s.relations(ctx, t, rel, hot); err != nil {
		return nil, err
	}
	if err := tastes.finish(ctx, t, hot); err != nil {
		return nil, err
	}
	if err := views.finish(ctx, t, hot); err != nil {
		return nil, err
	}
	rq.tastes = tastes.values[0]
	rq.viewed = NewIDSet(append([]ID(nil), views.values[0].Posts...))
	return own, nil
}

// read examines what is ranked in order, and has more ranked when that is used
// up, until the page is full or there is nothing left.
func (rq *recommending) read(ctx context.Context, p *RecommendPage, first int) error {
	for refill := 0; ; refill++ {
		if rq.offset == len(rq.session.ranked) {
			if rq.session.rest.Done {
				break
			}
			more, err := rq.rank(ctx)
			if err != nil {
				return err
			}
			if !more {
				p.HasNext = true // another reading ranks them just now
				break
			}
		}
		limit := max(first+1-len(p.Items), 50<<refill)
		batch := rq.session.ranked[rq.offset:min(rq.offset+limit, len(rq.session.ranked))]
		items, err := rq.judge(ctx, batch)
		if err != nil {
			return err
		}
		for i := range batch {
			if items[i].Post == nil {
				rq.offset++
				continue
			}
			if len(p.Items) == first {
				p.HasNext = true
				rq.end(p)
				return nil
			}
			rq.offset++
			p.Items = append(p.Items, items[i])
			p.Reasons = append(p.Reasons, rq.v.reason(batch[i].Reason))
			p.Marks = append(p.Marks, SessionMark{Session: rq.session.token, Offset: rq.offset})
		}
		if refill == maxRefills {
			p.HasNext = rq.offset < len(rq.session.ranked) || !rq.session.rest.Done
			break
		}
	}
	rq.end(p)
	return nil
}

func (rq *recommending) end(p *RecommendPage) {
	p.EndMark = SessionMark{Session: rq.session.token, Offset: rq.offset}
	p.HasEnd = true
}

// rank has more posts ranked, and adds them to the session. Of several readings
// at the end of one session one does so; it returns false for the others.
func (rq *recommending) rank(ctx context.Context) (bool, error) {
	if len(rq.session.ranked) > 0 && rq.lease == nil {
		if !rq.takeSession(ctx) {
			return false, nil
		}
		if rq.offset < len(rq.session.ranked) {
			return true, nil // another one was here meanwhile
		}
	}
	ss := rq.session
	limit := min(sessionChunk, maxSession-len(ss.ranked))
	if limit <= 0 {
		ss.rest.Done = true
		return true, nil
	}
	before := make([]ID, len(ss.ranked))
	for i := range ss.ranked {
		before[i] = ss.ranked[i].Post
	}
	had := NewIDSet(before)
	more, err := rq.s.recommender.Recommend(ctx, RecommendQuery{
		Reader: rq.reader, Relations: rq.v.rel, Tastes: rq.tastes, Limit: limit, Load: rq.s,
		Skip: func(id ID) bool { return rq.viewed.Has(id) || had.Has(id) },
		Rest: &ss.rest,
	})
	if err != nil {
		return false, err
	}
	ss.ranked = append(ss.ranked, more...)
	rq.changed = true
	return true, nil
}

// takeSession takes the lease of the session, and reads it once more. It
// returns false when another one holds it.
func (rq *recommending) takeSession(ctx context.Context) bool {
	token := rq.session.token
	lease := &TakeLease{Name: "session:" + string(token), User: rq.reader, Token: newToken(), TTL: LeaseTTL}
	kept := &ReadSession{Token: token}
	if !rq.t.do(ctx, lease, kept) || !lease.Taken {
		return false
	}
	if s, ok := decodeSession(token, kept.Data); ok && s.reader == rq.reader && len(s.ranked) >= len(rq.session.ranked) {
		rq.session = s
	}
	rq.lease = lease
	return true
}

// judge hydrates what is ranked and decides what the reader is shown. The
// items stand at the indexes of the batch.
func (rq *recommending) judge(ctx context.Context, batch []Recommendation) ([]Item, error) {
	items := make([]Item, len(batch))
	entries := make([]Entry, 0, len(batch))
	indexes := make([]int, 0, len(batch))
	for i := range batch {
		if id := batch[i].Post; !rq.viewed.Has(id) && !rq.exclude.Has(id) {
			entries = append(entries, Entry{ID: id})
			indexes = append(indexes, i)
		}
	}
	sc := &scan{s: rq.s, t: rq.t, v: rq.v, stats: rq.stats}
	found, err := sc.hydrate(ctx, entries, nil)
	if err != nil {
		return nil, err
	}
	shown, err := sc.judge(ctx, found, rq.v.inRecommendFeed)
	if err != nil {
		return nil, err
	}
	for n, i := range indexes {
		items[i] = shown[n]
	}
	return items, nil
}
