package httpapi_test

import (
	"context"
	"sync"

	"feedgate/feed"
	"feedgate/store/sqlite"
)

// faults are what is to go wrong in the record.
type faults struct {
	mu   sync.Mutex
	with map[string]func(context.Context) error
}

// on makes an operation do something first; an error takes its place.
func (f *faults) on(op string, do func(context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.with == nil {
		f.with = make(map[string]func(context.Context) error)
	}
	f.with[op] = do
}

func (f *faults) strike(ctx context.Context, op string) error {
	f.mu.Lock()
	do := f.with[op]
	f.mu.Unlock()
	if do == nil {
		return nil
	}
	return do(ctx)
}

// faulty is a record in which things go wrong.
type faulty struct {
	*sqlite.Record
	faults *faults
}

func (f faulty) UserByHandle(ctx context.Context, handle string) (feed.UserRow, error) {
	if err := f.faults.strike(ctx, "UserByHandle"); err != nil {
		return feed.UserRow{}, err
	}
	return f.Record.UserByHandle(ctx, handle)
}

func (f faulty) LikedAmong(ctx context.Context, user feed.ID, posts []feed.ID) ([]feed.ID, error) {
	if err := f.faults.strike(ctx, "LikedAmong"); err != nil {
		return nil, err
	}
	return f.Record.LikedAmong(ctx, user, posts)
}

func (f faulty) FollowersAmong(ctx context.Context, followee feed.ID, users []feed.ID) ([]feed.ID, error) {
	if err := f.faults.strike(ctx, "FollowersAmong"); err != nil {
		return nil, err
	}
	return f.Record.FollowersAmong(ctx, followee, users)
}

func (f faulty) Comments(ctx context.Context, post feed.ID, above feed.Position, limit int) ([]feed.Comment, error) {
	if err := f.faults.strike(ctx, "Comments"); err != nil {
		return nil, err
	}
	return f.Record.Comments(ctx, post, above, limit)
}

func (f faulty) Followers(ctx context.Context, followee, after feed.ID, limit int) ([]feed.ID, error) {
	if err := f.faults.strike(ctx, "Followers"); err != nil {
		return nil, err
	}
	return f.Record.Followers(ctx, followee, after, limit)
}

func (f faulty) Seen(ctx context.Context, user feed.ID) (feed.Seen, error) {
	if err := f.faults.strike(ctx, "Seen"); err != nil {
		return feed.Seen{}, err
	}
	return f.Record.Seen(ctx, user)
}
