package loaders

import (
	"context"

	"feedgate/feed"
)

func loadComments(ctx context.Context, s *Set, ids []feed.ID) ([]*feed.Comment, error) {
	return s.service.CommentsByID(ctx, s.Reader, ids)
}
