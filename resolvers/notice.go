package resolvers

import (
	"context"

	"feedgate/feed"
	"feedgate/graph/model"
	"feedgate/graph/plan"
)

// maxActors is how many people a notice names.
const maxActors = 10

type notice struct{ *Root }

// Actors gives the newest of those whom a notice is about.
func (r notice) Actors(ctx context.Context, n *model.Notice) ([]model.User, error) {
	ids := n.Data.Actors[:min(len(n.Data.Actors), maxActors)]
	shelf := r.showUsers(ctx, ids, r.needs(ctx, plan.User))
	users := make([]model.User, 0, len(ids))
	for _, id := range ids {
		u, err := shelf.User(id)
		if err != nil {
			return nil, err
		}
		if u != nil {
			users = append(users, *u)
		}
	}
	return users, nil
}

// Post gives the post that a notice is about; nil when the reader can't see it.
func (r notice) Post(ctx context.Context, n *model.Notice) (*model.Post, error) {
	if n.Data.Kind == feed.NoticeFollowed {
		return nil, nil //nolint:nilnil // GraphQL's null
	}
	return r.postByID(ctx, n.Data.Subject)
}
