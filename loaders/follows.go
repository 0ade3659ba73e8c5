package loaders

import (
	"context"

	"feedgate/feed"
)

// loadFollowsMe tells who follows the reader. Whom the reader follows needs no
// loader: the reader knows it.
func loadFollowsMe(ctx context.Context, s *Set, ids []feed.ID) ([]bool, error) {
	followers, err := s.service.FollowsReader(ctx, s.Reader, ids)
	return members(followers, ids), err
}
