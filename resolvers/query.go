package resolvers

import (
	"context"
	"fmt"

	"feedgate/feed"
	"feedgate/feed/geo"
	"feedgate/feed/live"
	"feedgate/graph/model"
	"feedgate/graph/plan"
	"feedgate/loaders"
)

// maxNodes is how many ids Query.nodes takes.
const maxNodes = 100

type query struct{ *Root }

// Node fetches one object of any kind.
func (q query) Node(ctx context.Context, id string) (model.Node, error) {
	n, err := parseNodeID("id", id)
	if err != nil {
		return nil, err
	}
	nodes, err := q.fetch(ctx, []feed.NodeID{n})
	if err != nil {
		return nil, err
	}
	return nodes[0], nil
}

// Nodes fetches objects of any kind, in order.
func (q query) Nodes(ctx context.Context, ids []string) ([]model.Node, error) {
	if len(ids) > maxNodes {
		return nil, feed.BadInput("ids", fmt.Sprintf("nodes takes at most %d ids, these are %d", maxNodes, len(ids)))
	}
	parsed := make([]feed.NodeID, len(ids))
	for i, id := range ids {
		var err error
		if parsed[i], err = parseNodeID("ids", id); err != nil {
			return nil, err
		}
	}
	return q.fetch(ctx, parsed)
}

// Viewer fetches the reader's own profile.
func (q query) Viewer(ctx context.Context) (*model.User, error) {
	u, err := q.Service.RequireProfile(ctx, reader(ctx))
	return q.userOrNone(ctx, u, unless(feed.CodeUnauthenticated, err))
}

// User fetches a person by id or by handle.
func (q query) User(ctx context.Context, id, handle *string) (*model.User, error) {
	switch {
	case (id == nil) == (handle == nil):
		return nil, feed.BadInput("id", "pass either an id or a handle")
	case id != nil:
		n, err := parseID("id", feed.NodeUser, *id)
		if err != nil {
			return nil, err
		}
		return q.userByID(ctx, n)
	default:
		u, err := q.Service.UserByHandle(ctx, reader(ctx), *handle)
		return q.userOrNone(ctx, u, unless(feed.CodeNotFound, err))
	}
}

// unless gives err, but nil if it has the code: then what was asked for is null.
func unless(code feed.Code, err error) error {
	if err != nil && feed.CodeOf(err) == code {
		return nil
	}
	return err
}

func (q query) userOrNone(ctx context.Context, u *feed.User, err error) (*model.User, error) {
	var shown *model.User
	if u != nil && err == nil {
		shown = q.showUser(ctx, u, q.needs(ctx, plan.User))
	}
	return shown, err
}

// Post fetches a post.
func (q query) Post(ctx context.Context, id string) (*model.Post, error) {
	n, err := parseID("id", feed.NodePost, id)
	if err != nil {
		return nil, err
	}
	return q.postByID(ctx, n)
}

// RedDot tells what is new for the reader.
func (q query) RedDot(ctx context.Context) (*live.State, error) { return q.deriveDot(ctx) }

// Notices reads a page of the reader's notices.
func (q query) Notices(ctx context.Context, first *int, after *string) (*model.NoticeConnection, error) {
	n, below, err := page(feed.CursorNotices, first, after)
	if err != nil {
		return nil, err
	}
	now := q.now()
	p, err := q.Service.Notices(ctx, reader(ctx), n, below)
	if err != nil {
		return nil, err
	}
	return model.NewNoticeConnection(p, now, after != nil), nil
}

// FollowFeed reads a page of the reader's follow feed, and derives the red dot
// beside it if it is asked for.
func (q query) FollowFeed(ctx context.Context, first *int, after *string) (*model.FollowFeedConnection, error) {
	n, below, err := page(feed.CursorFollowFeed, first, after)
	if err != nil {
		return nil, err
	}
	asked := q.Plans.Of(ctx, plan.FollowFeedConnection)
	dot := q.dotBeside(ctx, asked)
	c, since, err := q.connection(ctx, list{feed.CursorFollowFeed, after, func(w feed.Want) (*feed.Page, error) {
		return q.Service.FollowFeed(ctx, reader(ctx), n, below, w)
	}}, asked.Need)
	derived := dot() // waits for it in any case
	if err != nil {
		return nil, err
	}
	f := model.NewFollowFeed(c, since)
	f.Dot = derived
	return f, nil
}

// NearbyFeed reads a page of the posts near a place.
func (q query) NearbyFeed(ctx context.Context, near geo.Point, radiusMeters, first *int, after *string) (*model.NearbyFeedConnection, error) {
	n, below, err := page(feed.CursorNearby, first, after)
	if err != nil {
		return nil, err
	}
	at := feed.Nearby{Point: near, Radius: feed.DefaultRadius}
	if radiusMeters != nil {
		at.Radius = *radiusMeters
	}
	c, _, err := q.connection(ctx, list{feed.CursorNearby, after, func(w feed.Want) (*feed.Page, error) {
		return q.Service.NearbyFeed(ctx, reader(ctx), at, n, below, w)
	}}, q.needs(ctx, plan.NearbyFeedConnection))
	if err != nil {
		return nil, err
	}
	return &model.NearbyFeedConnection{PostConnection: c, Near: near}, nil
}

// userByID gives nil for a person whom the reader can't see.
func (r *Root) userByID(ctx context.Context, id feed.ID) (*model.User, error) {
	return r.showUsers(ctx, []feed.ID{id}, r.needs(ctx, plan.User)).User(id)
}

// postByID gives nil for a post that the reader can't see.
func (r *Root) postByID(ctx context.Context, id feed.ID) (*model.Post, error) {
	return r.visiblePost(ctx, id, r.needs(ctx, plan.Post))
}

// visiblePost gives nil for a post that the reader can't see.
func (r *Root) visiblePost(ctx context.Context, id feed.ID, need model.Part) (*model.Post, error) {
	set := loaders.From(ctx)
	var it *feed.Item
	var err error
	if alone(ctx) {
		it, err = loaders.First(set.Posts.All(ctx, []feed.ID{id}))
	} else {
		it, err = set.Posts.One(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	return r.showPosts(ctx, []feed.Item{*it}, need)[0], nil
}
