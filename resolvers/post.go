package resolvers

import (
	"context"

	"feedgate/feed"
	"feedgate/graph/model"
	"feedgate/graph/plan"
)

type post struct{ *Root }

// Comments reads a page of a post's comments. A first page comes from the
// post's stats when they hold enough of it.
func (r post) Comments(ctx context.Context, p *model.Post, first *int, after *string) (*model.CommentConnection, error) {
	n, above, err := pageFrom(feed.CursorComments, first, after, feed.Position{})
	if err != nil {
		return nil, err
	}
	need := r.needs(ctx, plan.CommentConnection)
	if p.Stats != nil && after == nil {
		c, ok, err := r.Service.FirstComments(ctx, reader(ctx), p.Stats, n)
		if err != nil {
			return nil, err
		}
		if ok {
			return model.NewCommentConnection(c, p.Shelf, false), nil
		}
	}
	c, err := r.Service.Comments(ctx, reader(ctx), p.Data.ID, n, above)
	if err != nil {
		return nil, err
	}
	return model.NewCommentConnection(c, r.showAuthors(ctx, c.Comments, need), after != nil), nil
}

// Delivery tells the author how far the fan-out of the post has come.
func (r post) Delivery(ctx context.Context, p *model.Post) (*feed.Delivery, error) {
	var none *feed.Delivery
	if p.Data.Author != reader(ctx).ID() {
		return none, nil
	}
	return r.Service.Delivery(ctx, reader(ctx), p.Data.ID)
}

// showAuthors loads the authors of comments, with what the query needs of them.
func (r *Root) showAuthors(ctx context.Context, comments []feed.Comment, need model.Part) *model.Shelf {
	if need == 0 {
		return r.shelf(ctx)
	}
	ids := make([]feed.ID, len(comments))
	for i := range comments {
		ids[i] = comments[i].Author
	}
	return r.showUsers(ctx, ids, need)
}
