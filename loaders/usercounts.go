package loaders

import (
	"context"

	"feedgate/feed"
)

func loadUserCounts(ctx context.Context, s *Set, ids []feed.ID) ([]*feed.UserCounts, error) {
	return s.service.UserCounts(ctx, ids)
}
