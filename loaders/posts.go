package loaders

import (
	"context"

	"feedgate/feed"
)

func loadPosts(ctx context.Context, s *Set, ids []feed.ID) ([]*feed.Item, error) {
	items, err := s.service.Posts(ctx, s.Reader, ids)
	if err != nil {
		return nil, err
	}
	values := make([]*feed.Item, len(items))
	for i := range items {
		values[i] = &items[i]
	}
	return values, nil
}
