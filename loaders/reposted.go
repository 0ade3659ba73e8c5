package loaders

import (
	"context"

	"feedgate/feed"
)

func loadReposted(ctx context.Context, s *Set, ids []feed.ID) ([]bool, error) {
	reposted, err := s.service.Reposted(ctx, s.Reader, ids)
	return members(reposted, ids), err
}
