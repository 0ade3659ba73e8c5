package feed

import "feedgate/feed/geo"

// view is what one reader may see. It is the one place that decides
// visibility, for every feed, list and single object.
//
// A block works both ways: for the blocked person the blocker is absent, for
// the blocker the blocked person's profile remains, without content. A mute
// hides the author's posts, and others' reposts of them, from feeds only.
type view struct {
	reader ID // 0 for nobody
	rel    *Relations
}

// Follows reports whether the reader follows id; a follow that a block
// suspends does not count.
func (r *Relations) Follows(id ID) bool {
	return r.Following.Has(id) && !r.Blocks.Has(id) && !r.BlockedBy.Has(id)
}

// seesUser reports whether the reader may see a profile.
func (v view) seesUser(id ID) bool { return !v.rel.BlockedBy.Has(id) }

// seesContentOf reports whether the reader may see what id writes.
func (v view) seesContentOf(id ID) bool {
	return !v.rel.BlockedBy.Has(id) && !v.rel.Blocks.Has(id)
}

// seesPost reports whether the reader may see p. A repost without words of its
// own needs its original to be seen.
func (v view) seesPost(p, original *Post) bool {
	if p == nil || p.DeletedAt != 0 || !v.seesContentOf(p.Author) {
		return false
	}
	return p.RepostOf == 0 || p.Quotes() || v.seesOriginal(original)
}

// seesOriginal reports whether the reader may see what a repost shows: nil is
// what is not on the record.
func (v view) seesOriginal(p *Post) bool {
	return p != nil && p.DeletedAt == 0 && v.seesContentOf(p.Author)
}

// inFollowFeed reports whether a post that the reader sees belongs into the
// reader's follow feed.
func (v view) inFollowFeed(p *Post) bool {
	if p.Author == v.reader {
		return true
	}
	return v.rel.Following.Has(p.Author) && !v.muted(p)
}

// inNearbyFeed reports whether a post that the reader sees belongs into the
// reader's nearby feed, given that it is near.
func (v view) inNearbyFeed(p *Post) bool { return p.Author == v.reader || !v.muted(p) }

// muted reports whether a mute keeps somebody's post out of the reader's feeds.
func (v view) muted(p *Post) bool {
	return v.rel.Mutes.Has(p.Author) || (p.RepostOf != 0 && v.rel.Mutes.Has(p.OriginalAuthor))
}

// inRecommendFeed reports whether a post that the reader sees may be
// recommended to them.
func (v view) inRecommendFeed(p *Post) bool {
	return p.Author != v.reader && !v.muted(p) && (p.RepostOf == 0 || p.Quotes())
}

// reason is why a post was recommended, as it may be told now: somebody whom
// the reader does not follow any more is not named.
func (v view) reason(why Reason) Reason {
	if why.Kind == ReasonFolloweeLiked && !v.rel.Follows(why.User) {
		return Reason{Kind: ReasonTrending}
	}
	return why
}

// authors are all whose posts an inbox of the reader holds, hidden ones
// included, so that to unmute or unblock brings their posts back at once.
func (v view) authors() []ID {
	ids := make([]ID, 0, len(v.rel.Following)+1)
	ids = append(ids, v.rel.Following...)
	if !v.rel.Following.Has(v.reader) {
		ids = append(ids, v.reader)
	}
	return ids
}

// shownAuthors are those of authors whose posts the reader sees now.
func (v view) shownAuthors() []ID {
	ids := make([]ID, 0, len(v.rel.Following)+1)
	for _, id := range v.rel.Following {
		if id != v.reader && v.seesContentOf(id) && !v.rel.Mutes.Has(id) {
			ids = append(ids, id)
		}
	}
	return append(ids, v.reader)
}

// PublicPlace gives what r may know of where p was written. The author sees
// the place as given; others see the published position.
func (s *Service) PublicPlace(r *Reader, p *Post) (Place, bool) {
	if p.Place == nil {
		return Place{}, false
	}
	if r.ID() == p.Author {
		return *p.Place, true
	}
	return p.Place.Published()
}

// Published is the position that others may know: EXACT as given,
// NEIGHBOURHOOD the centre of its geohash-6 cell, CITY that of its geohash-4
// cell, HIDDEN none.
func (p Place) Published() (Place, bool) {
	switch p.Precision {
	case PrecisionHidden:
		return Place{}, false
	case PrecisionNeighbourhood:
		return p.centre(6), true
	case PrecisionCity:
		return p.centre(4), true
	case PrecisionExact:
		return p, true
	default:
		return Place{}, false // what is not known is not shown
	}
}

func (p Place) centre(precision int) Place {
	c := geo.Centre(geo.Point{Latitude: p.Latitude, Longitude: p.Longitude}, precision)
	p.Latitude, p.Longitude = c.Latitude, c.Longitude
	return p
}

// Point is the position of p that others may know; false when there is none.
// It has no negative zeros, which records don't keep: an entry of a cell has to
// be the same whoever makes it.
func (p *Post) Point() (geo.Point, bool) {
	if p.Place == nil {
		return geo.Point{}, false
	}
	known, ok := p.Place.Published()
	return geo.Point{Latitude: known.Latitude + 0, Longitude: known.Longitude + 0}, ok // -0 + 0 = 0
}

// Cell is the cell of the nearby index in which the published position of p
// lies, "" for none.
func (p *Post) Cell() geo.Cell {
	at, ok := p.Point()
	if !ok {
		return ""
	}
	return geo.CellOf(at)
}
