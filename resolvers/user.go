package resolvers

import (
	"context"

	"feedgate/feed"
	"feedgate/graph/model"
	"feedgate/graph/plan"
)

type user struct{ *Root }

// Posts reads a page of a person's own posts.
func (r user) Posts(ctx context.Context, u *model.User, first *int, after *string) (*model.PostConnection, error) {
	n, below, err := page(feed.CursorPosts, first, after)
	if err != nil {
		return nil, err
	}
	need := r.needs(ctx, plan.PostConnection)
	c, _, err := r.connection(ctx, list{feed.CursorPosts, after, func(w feed.Want) (*feed.Page, error) {
		return r.Service.UserPosts(ctx, reader(ctx), u.Data.ID, n, below, w)
	}}, need)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Followers reads a page of those who follow a person.
func (r user) Followers(ctx context.Context, u *model.User, first *int, after *string) (*model.UserConnection, error) {
	n, below, err := page(feed.CursorFollowers, first, after)
	if err != nil {
		return nil, err
	}
	p, err := r.Service.Followers(ctx, reader(ctx), u.Data.ID, n, below)
	if err != nil {
		return nil, err
	}
	return r.people(ctx, feed.CursorFollowers, p, after), nil
}

// Followees reads a page of those whom a person follows.
func (r user) Followees(ctx context.Context, u *model.User, first *int, after *string) (*model.UserConnection, error) {
	n, below, err := page(feed.CursorFollowees, first, after)
	if err != nil {
		return nil, err
	}
	p, err := r.Service.Followees(ctx, reader(ctx), u.Data.ID, n, below)
	if err != nil {
		return nil, err
	}
	return r.people(ctx, feed.CursorFollowees, p, after), nil
}

func (r user) people(ctx context.Context, kind feed.CursorKind, p *feed.UserPage, after *string) *model.UserConnection {
	c := &model.UserConnection{
		Page: model.Page{
			Kind: kind, ServerTime: r.now(), After: after != nil,
			HasNext: p.HasNext, End: p.End, HasEnd: p.HasEnd,
		},
		Users: make([]model.UserEdge, len(p.Users)),
	}
	var shelf *model.Shelf
	if asked := r.Plans.Of(ctx, plan.UserConnection); asked.AsksForNodes() {
		shelf = r.showUsers(ctx, p.Users, asked.Need)
	}
	for i, id := range p.Users {
		c.Users[i] = model.UserEdge{At: p.Ends[i], ID: id, Page: &c.Page, Shelf: shelf}
	}
	return c
}
