package loaders

import (
	"context"

	"feedgate/feed"
)

// loadStats brings counters and first comments, which are kept together.
func loadStats(ctx context.Context, s *Set, ids []feed.ID) ([]*feed.Stats, error) {
	return s.service.Stats(ctx, ids)
}
