package feed

import "context"

// The bounds of one request for recommendations.
const (
	// MaxViewed is how many posts one recordViews may name.
	MaxViewed = 100
	// freshKept and freshSlack bound the board of posts that nobody has viewed.
	freshKept  = 1_000
	freshSlack = 200
)

// Fresh is the board of posts that nobody has viewed yet.
func Fresh() Board { return Board{Kind: BoardFresh} }

// soloLoad is the loading of one kind of detail that has rows of its own.
type soloLoad[T Detail] struct {
	*detailLoad[T]
	fetch func(context.Context, []ID) (map[ID]*T, error)
}

// finish takes what was read and loads the rest from the record.
func (l *soloLoad[T]) finish(ctx context.Context, t *trip, hot bool) error {
	missing := l.take(hot)
	if len(missing) == 0 {
		return nil
	}
	asked := l.lease(missing)
	if asked != nil {
		t.do(ctx, asked)
	}
	rows, err := l.fetch(ctx, pick(l.get.IDs, missing))
	if err != nil {
		return err
	}
	for _, i := range missing {
		l.values[i] = rows[l.get.IDs[i]]
	}
	l.fill(t, missing, asked)
	return nil
}

// newTastesLoad loads the tastes of users; of those without any, empty ones.
func (s *Service) newTastesLoad(users []ID) *soloLoad[Tastes] {
	return &soloLoad[Tastes]{newLoad[Tastes](users, false), func(ctx context.Context, ids []ID) (map[ID]*Tastes, error) {
		rows, err := s.tastes.TastesOf(ctx, ids, MaxTastes)
		found := make(map[ID]*Tastes, len(ids))
		for _, id := range ids {
			found[id] = &Tastes{User: id}
		}
		for i := range rows {
			found[rows[i].User] = &rows[i]
		}
		return found, err
	}}
}

// newViewsLoad loads what one reader has viewed.
func (s *Service) newViewsLoad(reader ID) *soloLoad[Views] {
	return &soloLoad[Views]{newLoad[Views]([]ID{reader}, false), func(ctx context.Context, _ []ID) (map[ID]*Views, error) {
		posts, err := s.views.ViewsOf(ctx, reader, s.now()-ViewsKept, MaxViews)
		return map[ID]*Views{reader: {Posts: posts}}, err
	}}
}

// LoadPosts implements [Loader].
func (s *Service) LoadPosts(ctx context.Context, ids []ID) ([]*Post, []*Stats, error) {
	t := s.trip()
	load := newPostLoad(ids, true, false)
	if err := load.load(ctx, t); err != nil {
		return nil, nil, err
	}
	t.flush(ctx)
	posts := load.first.values
	if len(ids) == 0 {
		return nil, nil, nil
	}
	for i, p := range posts {
		if p != nil && p.DeletedAt != 0 {
			posts[i] = nil
		}
	}
	return posts, load.second.values, nil
}

// LoadTastes implements [Loader].
func (s *Service) LoadTastes(ctx context.Context, users []ID) ([]*Tastes, error) {
	if len(users) == 0 {
		return nil, nil
	}
	t := s.trip()
	load := s.newTastesLoad(users)
	if err := load.finish(ctx, t, t.do(ctx, &load.get)); err != nil {
		return nil, err
	}
	t.flush(ctx)
	return load.values, nil
}

// RecordViews notes that r has viewed posts, which recommendFeed then leaves
// out, and returns how many of them r may see. Whoever views a repost without
// words has viewed its original. BAD_USER_INPUT (field "postIds") above
// [MaxViewed] of them.
func (s *Service) RecordViews(ctx context.Context, r *Reader, ids []ID) (int, error) {
	if _, err := s.RequireProfile(ctx, r); err != nil {
		return 0, err
	}
	if len(ids) > MaxViewed {
		return 0, BadInput("postIds", "recordViews takes at most 100 posts: send the rest in another one")
	}
	ids = NewIDSet(append([]ID(nil), ids...))
	if len(ids) == 0 {
		return 0, nil
	}
	items, err := s.Posts(ctx, r, ids)
	if err != nil {
		return 0, err
	}
	viewed := make([]ID, 0, 2*len(ids))
	recorded := 0
	for i := range items {
		p := items[i].Post
		if p == nil {
			continue // deleted or hidden meanwhile: not recommended anyway
		}
		recorded++
		viewed = append(viewed, p.ID)
		if p.RepostOf != 0 && !p.Quotes() {
			viewed = append(viewed, p.RepostOf)
		}
	}
	if recorded == 0 {
		return 0, nil
	}
	viewed = NewIDSet(viewed)
	token := newToken()
	return recorded, s.mutate(ctx, mutation{
		hold: []Op{&HoldDetails[Views]{IDs: []ID{r.id}, Token: token}},
		write: func(ctx context.Context) error {
			now := s.now()
			return s.views.AddViews(ctx, r.id, viewed, now, MaxViews, now-ViewsKept)
		},
		release: func(bool) []Op {
			return []Op{&ReleaseDetails[Views]{IDs: []ID{r.id}, Token: token}, &TakeOffBoard{Board: Fresh(), Posts: viewed}}
		},
	})
}

// engaging is a mutation's claim on the tastes that it changes.
type engaging struct {
	users []ID
	token Token
}

func (e engaging) hold() []Op {
	if len(e.users) == 0 {
		return nil
	}
	return []Op{&HoldDetails[Tastes]{IDs: e.users, Token: e.token}}
}

// release ends the claim, and has the boards learn.
func (e engaging) release(now int64) []Op {
	if len(e.users) == 0 {
		return nil
	}
	return []Op{&ReleaseDetails[Tastes]{IDs: e.users, Token: e.token}, &MarkUnlearned{Users: e.users, Now: now}}
}
