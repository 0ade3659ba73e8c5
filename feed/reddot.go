package feed

import (
	"context"
	"slices"
)

// MaxUnseen is the highest count that a red dot shows.
const MaxUnseen = 99

// Seen is how far a reader has read. Both halves only move forward.
type Seen struct {
	Position Position // of the newest post seen; the zero position for none
	At       int64    // ms, when the page was made that showed it
	Notices  int64    // ms, when the notices were seen last
}

// SeenRecord holds how far readers have read.
type SeenRecord interface {
	// Seen returns the zero value for who never marked anything.
	Seen(ctx context.Context, user ID) (Seen, error)
	// MarkSeen moves each part forward to at least what is given, and returns the
	// marks in force. NOT_FOUND.
	MarkSeen(ctx context.Context, user ID, to Seen) (Seen, error)
	// FollowedAt returns since when (ms) follower follows each of the followees.
	FollowedAt(ctx context.Context, follower ID, followees []ID) (map[ID]int64, error)
}

// Unseen is one post that a red dot counts.
type Unseen struct {
	Position
	Author ID
	Repost ID // the original, 0 for none
}

// RedDot is what the badge shows, and what it is derived from.
type RedDot struct {
	Unseen  []Unseen // newest first, at most one more than [MaxUnseen]
	Notices int      // unseen notices, at most MaxUnseen
	Seen    Seen
	View    Relations // under which it was derived
}

// Count is the number that the badge shows, and whether there are more.
func (d *RedDot) Count() (n int, capped bool) {
	return min(len(d.Unseen), MaxUnseen), len(d.Unseen) > MaxUnseen
}

// RedDot derives the badge of r from the follow feed itself: others' visible
// posts above the mark, but not what a followee published before being
// followed. It covers every source that the feed is merged from.
func (s *Service) RedDot(ctx context.Context, r *Reader) (*RedDot, error) {
	if _, err := s.RequireProfile(ctx, r); err != nil {
		return nil, err
	}
	seen, err := s.seenBy.Seen(ctx, r.id)
	if err != nil {
		return nil, err
	}
	t := s.trip()
	sc := s.followScan(t, false)
	if _, err := sc.open(ctx, r.id, MaxUnseen+1, Newest()); err != nil {
		return nil, err
	}
	d := &RedDot{Seen: seen, View: *sc.v.rel}
	if err := sc.unseen(ctx, d); err != nil {
		return nil, err
	}
	if d.Notices, err = s.newNotices(ctx, sc.v, seen.Notices); err != nil {
		return nil, err
	}
	t.flush(ctx)
	return d, nil
}

// unseen walks down from the newest post to the mark.
func (sc *followScan) unseen(ctx context.Context, d *RedDot) error {
	others := func(p *Post) bool { return p.Author != sc.v.reader && sc.v.inFollowFeed(p) }
	pos := Newest()
	limit := MaxUnseen + 2
	for range maxUnseenPages {
		batch, f, err := sc.next(ctx, pos, limit)
		if err != nil {
			return err
		}
		items, err := sc.judge(ctx, batch, others)
		if err != nil {
			return err
		}
		above := len(batch)
		for i := range batch {
			if !d.Seen.Position.Below(batch[i].Position()) {
				above = i
				break
			}
		}
		if err := sc.count(ctx, d, items[:above]); err != nil {
			return err
		}
		if above < len(batch) || f.done || len(d.Unseen) > MaxUnseen {
			return nil
		}
		pos = batch[len(batch)-1].Position()
		limit = 4 * MaxUnseen
	}
	return nil // so much is hidden that the count stops short; it never says too much
}

// maxUnseenPages bounds the walk when almost everything is hidden.
const maxUnseenPages = 8

// count adds the visible posts, less those from before their author was followed.
func (sc *followScan) count(ctx context.Context, d *RedDot, items []Item) error {
	var authors []ID
	for i := range items {
		if items[i].Post != nil {
			authors = append(authors, items[i].Post.Author)
		}
	}
	if len(authors) == 0 {
		return nil
	}
	since, err := sc.s.seenBy.FollowedAt(ctx, sc.v.reader, NewIDSet(authors))
	if err != nil {
		return err
	}
	for i := range items {
		p := items[i].Post
		if p == nil || p.At < since[p.Author] {
			continue
		}
		if len(d.Unseen) > MaxUnseen {
			return nil
		}
		d.Unseen = append(d.Unseen, Unseen{Position: p.Position(), Author: p.Author, Repost: p.RepostOf})
	}
	return nil
}

// MarkFeedSeen moves r's mark up to a page's position and time, or, with
// neither, to the newest visible post and now. It never moves back.
func (s *Service) MarkFeedSeen(ctx context.Context, r *Reader, upTo *CursorMark) error {
	if _, err := s.RequireProfile(ctx, r); err != nil {
		return err
	}
	to := Seen{At: s.now()}
	if upTo != nil {
		to = Seen{Position: upTo.Position, At: min(upTo.ServerTime, s.now())}
	} else {
		p, err := s.FollowFeed(ctx, r, 1, Newest(), Want{})
		if err != nil {
			return err
		}
		if len(p.Items) > 0 {
			to.Position = p.Items[0].Post.Position()
		}
	}
	return s.markSeen(ctx, r, to)
}

// MarkNoticesSeen moves r's mark on the notices to now.
func (s *Service) MarkNoticesSeen(ctx context.Context, r *Reader) error {
	if _, err := s.RequireProfile(ctx, r); err != nil {
		return err
	}
	return s.markSeen(ctx, r, Seen{Notices: s.now()})
}

func (s *Service) markSeen(ctx context.Context, r *Reader, to Seen) error {
	return s.mutate(ctx, mutation{
		write: func(ctx context.Context) error {
			_, err := s.seenBy.MarkSeen(ctx, r.id, to)
			return err
		},
		release: func(bool) []Op {
			return []Op{&Announce{Events: []GatewayEvent{{Kind: EventSeen, User: r.id}}}}
		},
	})
}

// SeesUnseen reports whether a reader with these relations counts a post of
// author that reposts one of original (0 for none).
func (r *Relations) SeesUnseen(reader, author, original ID) bool {
	v := view{reader: reader, rel: r}
	return author != reader && v.seesContentOf(author) && (original == 0 || v.seesContentOf(original)) &&
		v.inFollowFeed(&Post{Author: author, OriginalAuthor: original, RepostOf: original})
}

// MayQuote reports whether a post that these relations seem to hide could show
// after all, as a repost with words of its own: only deriving can tell.
func (r *Relations) MayQuote(reader, author, original ID) bool {
	v := view{reader: reader, rel: r}
	return original != 0 && author != reader && v.seesContentOf(author) && !v.seesContentOf(original) &&
		v.inFollowFeed(&Post{Author: author, OriginalAuthor: original, RepostOf: original})
}

// Insert adds a post in its place, unless it is there, and reports whether it
// changed anything. The oldest goes when there are too many.
func (d *RedDot) Insert(u Unseen) bool {
	i, found := slices.BinarySearchFunc(d.Unseen, u, func(a, b Unseen) int { return a.Compare(b.Position) })
	if found || !d.Seen.Position.Below(u.Position) || i > MaxUnseen {
		return false
	}
	d.Unseen = slices.Insert(d.Unseen, i, u)
	d.Unseen = d.Unseen[:min(len(d.Unseen), MaxUnseen+1)]
	return true
}

// Knows reports whether a post is counted, or was seen, or is below what the
// bound keeps.
func (d *RedDot) Knows(p Position) bool {
	i, found := slices.BinarySearchFunc(d.Unseen, p, func(a Unseen, p Position) int { return a.Compare(p) })
	return found || !d.Seen.Position.Below(p) || i > MaxUnseen
}

// Remove takes out a post and reports whether it changed anything. Unsure means
// that reposts of it are counted, which stay if they have words of their own.
func (d *RedDot) Remove(post ID) (changed, unsure bool) {
	n := len(d.Unseen)
	d.Unseen = slices.DeleteFunc(d.Unseen, func(u Unseen) bool { return u.ID == post })
	return len(d.Unseen) != n, slices.ContainsFunc(d.Unseen, func(u Unseen) bool { return u.Repost == post })
}
