package feed

import (
	"context"
	"regexp"
)

// NoticeKind says what somebody did that concerns another.
type NoticeKind string

// The kinds of notice.
const (
	NoticeLiked     NoticeKind = "LIKED"
	NoticeCommented NoticeKind = "COMMENTED"
	NoticeFollowed  NoticeKind = "FOLLOWED"
	NoticeReposted  NoticeKind = "REPOSTED"
	NoticeMentioned NoticeKind = "MENTIONED"
)

// NoticeActors is how many actors a notice keeps by name, the newest first.
const NoticeActors = 100

// Notice gathers who did one kind of thing to one subject: "A, B and 3 others
// liked your post".
type Notice struct {
	ID      ID
	To      ID
	Kind    NoticeKind
	Subject ID   // the post; 0 for FOLLOWED
	Actors  []ID // newest first, at most [NoticeActors]
	Total   int64
	At      int64 // ms, of the newest
}

// Position gives the place of n in time order.
func (n *Notice) Position() Position { return Position{At: n.At, ID: n.ID} }

// NoticeEdge is one actor's part in a notice.
type NoticeEdge struct {
	ID      ID // of the notice, if it is the first
	To      ID
	Kind    NoticeKind
	Subject ID
	Actor   ID
	At      int64
}

// NoticeRecord holds the notices. At most one is kept for each person, kind and subject.
type NoticeRecord interface {
	// AddNotice adds an actor to a notice, or makes it, and moves it to At. It
	// returns false, and changes nothing, when the actor is in it already.
	AddNotice(ctx context.Context, e NoticeEdge) (Notice, bool, error)
	// RemoveNotice takes an actor out; a notice without actors goes. It returns
	// false when the actor was not in it.
	RemoveNotice(ctx context.Context, to ID, kind NoticeKind, subject, actor ID) (bool, error)
	// Notices returns a person's notices strictly below a position, newest first.
	Notices(ctx context.Context, to ID, below Position, limit int) ([]Notice, error)
	// NoticeByID returns one. NOT_FOUND.
	NoticeByID(ctx context.Context, id ID) (Notice, error)
}

// NoticePage is one page of notices.
type NoticePage struct {
	Notices []Notice
	End     Position
	HasEnd  bool
	HasNext bool
}

// Notices returns a page of r's notices, newest first, without hidden actors;
// a notice all of whose actors are hidden is left out.
func (s *Service) Notices(ctx context.Context, r *Reader, first int, below Position) (*NoticePage, error) {
	if _, err := s.RequireProfile(ctx, r); err != nil {
		return nil, err
	}
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	p := &NoticePage{}
	for refill := 0; ; refill++ {
		limit := max(first-len(p.Notices)+1, refill*50)
		batch, err := s.notices.Notices(ctx, r.id, below, limit)
		if err != nil {
			return nil, err
		}
		for i := range batch {
			if len(p.Notices) == first {
				p.HasNext = true
				return p, nil
			}
			p.End, p.HasEnd = batch[i].Position(), true
			if v.notice(&batch[i]) {
				p.Notices = append(p.Notices, batch[i])
			}
		}
		if len(batch) < limit {
			return p, nil
		}
		if len(p.Notices) == first || refill == maxRefills {
			p.HasNext = true
			return p, nil
		}
		below = p.End
	}
}

// NewestNotices returns the places of r's newest notices, at most limit, newest
// first, whoever may be seen in them.
func (s *Service) NewestNotices(ctx context.Context, r *Reader, limit int) ([]Position, error) {
	batch, err := s.notices.Notices(ctx, r.id, Newest(), limit)
	if err != nil {
		return nil, err
	}
	places := make([]Position, len(batch))
	for i := range batch {
		places[i] = batch[i].Position()
	}
	return places, nil
}

// Notice returns one of r's notices without hidden actors. NOT_FOUND.
func (s *Service) Notice(ctx context.Context, r *Reader, id ID) (*Notice, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	n, err := s.notices.NoticeByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if n.To != r.id || !v.notice(&n) {
		return nil, NotFound("notice")
	}
	return &n, nil
}

// notice takes hidden actors out of n, and reports whether any are left.
func (v view) notice(n *Notice) bool {
	shown := n.Actors[:0:0]
	for _, id := range n.Actors {
		if v.noticed(id) {
			shown = append(shown, id)
		}
	}
	n.Total -= int64(len(n.Actors) - len(shown))
	n.Actors = shown
	return len(shown) > 0
}

// noticed reports whether what id does is worth a notice to the reader.
func (v view) noticed(id ID) bool { return v.seesContentOf(id) && !v.rel.Mutes.Has(id) }

// newNotices counts the notices since a time, at most MaxUnseen.
func (s *Service) newNotices(ctx context.Context, v view, since int64) (int, error) {
	batch, err := s.notices.Notices(ctx, v.reader, Newest(), MaxUnseen)
	if err != nil {
		return 0, err
	}
	n := 0
	for i := range batch {
		if batch[i].At > since && v.notice(&batch[i]) {
			n++
		}
	}
	return n, nil
}

// notify writes notices of what actor did, and returns the events that tell of
// them. Nobody is noticed by themselves, nor by whom they mute or block.
func (s *Service) notify(ctx context.Context, edges ...NoticeEdge) ([]GatewayEvent, error) {
	var events []GatewayEvent
	for _, e := range edges {
		if e.To == e.Actor {
			continue
		}
		v, err := s.view(ctx, s.Reader(e.To))
		if err != nil {
			return nil, err
		}
		if !v.noticed(e.Actor) {
			continue
		}
		if e.ID, err = s.ids.NextID(); err != nil {
			return nil, err
		}
		e.At = s.now()
		n, added, err := s.notices.AddNotice(ctx, e)
		if err != nil {
			return nil, err
		}
		if added {
			events = append(events, GatewayEvent{Kind: EventNoticed, User: e.To, Post: n.ID, At: n.At})
		}
	}
	return events, nil
}

// unnotify takes back what notify wrote.
func (s *Service) unnotify(ctx context.Context, e NoticeEdge) ([]GatewayEvent, error) {
	if e.To == e.Actor {
		return nil, nil
	}
	removed, err := s.notices.RemoveNotice(ctx, e.To, e.Kind, e.Subject, e.Actor)
	if err != nil || !removed {
		return nil, err
	}
	return []GatewayEvent{{Kind: EventNoticed, User: e.To}}, nil
}

// maxMentions bounds the people that one text makes notices to.
const maxMentions = 10

// mentions finds the people that a text names by @handle, at most maxMentions.
func (s *Service) mentions(ctx context.Context, text string) ([]ID, error) {
	var ids []ID
	named := make(map[string]bool)
	for _, m := range mentionPattern().FindAllStringSubmatch(text, 4*maxMentions) {
		handle := m[1]
		if named[handle] || len(handle) > MaxHandle || len(named) == maxMentions {
			continue
		}
		named[handle] = true
		row, err := s.record.UserByHandle(ctx, handle)
		switch {
		case err == nil:
			ids = append(ids, row.ID)
		case CodeOf(err) != CodeNotFound:
			return nil, err
		}
	}
	return ids, nil
}

// mentionPattern is an @ that no word touches, and a handle.
func mentionPattern() *regexp.Regexp { return regexp.MustCompile(`(?:^|[^\w@])@([a-z0-9_]+)`) }
