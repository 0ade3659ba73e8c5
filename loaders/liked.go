package loaders

import (
	"context"

	"feedgate/feed"
)

func loadLiked(ctx context.Context, s *Set, ids []feed.ID) ([]bool, error) {
	liked, err := s.service.Liked(ctx, s.Reader, ids)
	return members(liked, ids), err
}
