package feed

import "context"

// Posts returns the posts of the ids, at the same indexes. Post is nil where
// it is missing or r may not see it.
func (s *Service) Posts(ctx context.Context, r *Reader, ids []ID) ([]Item, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	t := s.trip()
	sc := &scan{s: s, t: t, v: v}
	entries := make([]Entry, len(ids))
	for i, id := range ids {
		entries[i].ID = id
	}
	batch, err := sc.hydrate(ctx, entries, nil)
	if err != nil {
		return nil, err
	}
	items, err := sc.judge(ctx, batch, func(*Post) bool { return true })
	if err != nil {
		return nil, err
	}
	t.flush(ctx)
	return items, nil
}

// visiblePost returns one post that r sees. NOT_FOUND.
func (s *Service) visiblePost(ctx context.Context, r *Reader, id ID) (*Post, error) {
	items, err := s.Posts(ctx, r, []ID{id})
	if err != nil {
		return nil, err
	}
	if items[0].Post == nil {
		return nil, NotFound("post")
	}
	return items[0].Post, nil
}

// Card returns a post with its original, stats and people, whoever asks:
// callers have decided that it may be seen. NOT_FOUND.
func (s *Service) Card(ctx context.Context, post ID) (*Page, error) {
	v := view{rel: &Relations{}}
	t := s.trip()
	sc := &scan{s: s, t: t, v: v, stats: true}
	batch, err := sc.hydrate(ctx, []Entry{{ID: post}}, nil)
	if err != nil {
		return nil, err
	}
	items, err := sc.judge(ctx, batch, func(*Post) bool { return true })
	if err != nil {
		return nil, err
	}
	if items[0].Post == nil {
		return nil, NotFound("post")
	}
	p := &Page{Items: items}
	if err := s.prime(ctx, t, v, p, Want{Stats: true, Users: true, Comments: true}, false, nil); err != nil {
		return nil, err
	}
	t.flush(ctx)
	return p, nil
}

// Generation is the hot generation in force, as this process knows it.
func (s *Service) Generation() int64 { return s.gen.Load() }

// Users returns the users of the ids, at the same indexes; nil where one is
// missing or hidden from r.
func (s *Service) Users(ctx context.Context, r *Reader, ids []ID) ([]*User, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	t := s.trip()
	load := newUserLoad(ids, false, false)
	if err := load.load(ctx, t); err != nil {
		return nil, err
	}
	t.flush(ctx)
	for i, id := range ids {
		if !v.seesUser(id) {
			load.first.values[i] = nil
		}
	}
	return load.first.values, nil
}

// UserByHandle returns the user of a handle. NOT_FOUND, also when hidden from r.
func (s *Service) UserByHandle(ctx context.Context, r *Reader, handle string) (*User, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	row, err := s.record.UserByHandle(ctx, handle)
	if err != nil {
		return nil, err
	}
	if !v.seesUser(row.ID) {
		return nil, NotFound("user")
	}
	return &row.User, nil
}

// Stats returns the changing facts of posts, at the same indexes; nil where a
// post is missing.
func (s *Service) Stats(ctx context.Context, ids []ID) ([]*Stats, error) {
	t := s.trip()
	load := newPostLoad(ids, true, false)
	if err := load.load(ctx, t); err != nil {
		return nil, err
	}
	t.flush(ctx)
	return load.second.values, nil
}

// UserCounts returns the counters of users, at the same indexes; nil where a
// user is missing.
func (s *Service) UserCounts(ctx context.Context, ids []ID) ([]*UserCounts, error) {
	t := s.trip()
	load := newUserLoad(ids, true, false)
	if err := load.load(ctx, t); err != nil {
		return nil, err
	}
	t.flush(ctx)
	return load.second.values, nil
}

// Liked returns those of the posts that r likes.
func (s *Service) Liked(ctx context.Context, r *Reader, posts []ID) (IDSet, error) {
	if r.id == 0 {
		return nil, nil
	}
	return s.likedAmong(ctx, r.id, posts)
}

// Reposted returns those of the posts that r has a standing repost of.
func (s *Service) Reposted(ctx context.Context, r *Reader, posts []ID) (IDSet, error) {
	if r.id == 0 {
		return nil, nil
	}
	return s.repostedAmong(ctx, r.id, posts)
}

// FollowsReader returns those of the users who follow r; a follow that a block
// suspends does not count.
func (s *Service) FollowsReader(ctx context.Context, r *Reader, users []ID) (IDSet, error) {
	if r.id == 0 {
		return nil, nil
	}
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	ids, err := s.record.FollowersAmong(ctx, r.id, users)
	if err != nil {
		return nil, err
	}
	var standing []ID
	for _, id := range ids {
		if v.seesContentOf(id) {
			standing = append(standing, id)
		}
	}
	return NewIDSet(standing), nil
}

// Delivery returns how far the fan-out of r's own post has come. FORBIDDEN for
// others' posts; NOT_FOUND.
func (s *Service) Delivery(ctx context.Context, r *Reader, post ID) (*Delivery, error) {
	rows, err := s.record.PostsByID(ctx, []ID{post})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || rows[0].DeletedAt != 0 {
		return nil, NotFound("post")
	}
	if rows[0].Author != r.id {
		return nil, Forbidden("only the author sees how far a post has been delivered")
	}
	return &rows[0].Delivery, nil
}

// UserPage is one page of a list of users.
type UserPage struct {
	Users   []ID
	At      []int64 // ms, when each followed or was followed; 0 when not known
	Ends    []Position
	End     Position
	HasEnd  bool
	HasNext bool
}

// Followers returns a page of those who follow user, in the order of their ids;
// below's ID is the last one seen, and the newest position means from the start.
func (s *Service) Followers(ctx context.Context, r *Reader, user ID, first int, below Position) (*UserPage, error) {
	after := below.ID
	if below.IsNewest() {
		after = 0
	}
	return s.userPage(ctx, r, user, first, func(limit int) ([]ID, []Position, error) {
		ids, err := s.record.Followers(ctx, user, after, limit)
		ends := make([]Position, len(ids))
		for i, id := range ids {
			ends[i] = Position{ID: id}
			after = id
		}
		return ids, ends, err
	})
}

// Followees returns a page of those whom user follows, the newest follow first.
func (s *Service) Followees(ctx context.Context, r *Reader, user ID, first int, below Position) (*UserPage, error) {
	return s.userPage(ctx, r, user, first, func(limit int) ([]ID, []Position, error) {
		follows, err := s.record.Followees(ctx, user, below, limit)
		ids := make([]ID, len(follows))
		ends := make([]Position, len(follows))
		for i, f := range follows {
			ids[i] = f.Followee
			ends[i] = Position{At: f.At, ID: f.Followee}
			below = ends[i]
		}
		return ids, ends, err
	})
}

// userPage reads users until the page is full, leaving out those hidden from r
// and, while either blocks the other, the list's owner.
func (s *Service) userPage(ctx context.Context, r *Reader, owner ID, first int, next func(limit int) ([]ID, []Position, error)) (*UserPage, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	p := &UserPage{}
	if !v.seesContentOf(owner) {
		return p, nil
	}
	for refill := 0; ; refill++ {
		limit := first - len(p.Users) + 1
		ids, ends, err := next(limit)
		if err != nil {
			return nil, err
		}
		for i, id := range ids {
			if len(p.Users) == first {
				p.HasNext = true
				return p, nil
			}
			p.End, p.HasEnd = ends[i], true
			if v.seesUser(id) {
				p.Users = append(p.Users, id)
				p.Ends = append(p.Ends, ends[i])
				p.At = append(p.At, ends[i].At)
			}
		}
		if len(ids) < limit {
			return p, nil
		}
		if len(p.Users) == first || refill == maxRefills {
			p.HasNext = true
			return p, nil
		}
	}
}
