package resolvers

import (
	"context"

	"feedgate/graph/model"
)

type comment struct{ *Root }

// Post fetches the post that a comment stands under.
func (r comment) Post(ctx context.Context, c *model.Comment) (*model.Post, error) {
	return r.postByID(ctx, c.Data.Post)
}
