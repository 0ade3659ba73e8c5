package loaders

import (
	"context"

	"feedgate/feed"
)

func loadUsers(ctx context.Context, s *Set, ids []feed.ID) ([]*feed.User, error) {
	return s.service.Users(ctx, s.Reader, ids)
}
