// Package loaders collects what the fields of one response ask for one by one
// into few loads. A feed primes what it knows, and so does not come here at
// all; loaders serve single objects and lists within lists.
//
// A [Set] belongs to one response: it keeps what it has loaded, under the
// visibility of one reader.
package loaders

import (
	"context"
	"time"

	"feedgate/feed"
)

// Set is one response's loaders.
type Set struct {
	Reader *feed.Reader

	Users      Loader[*feed.User]       // nil: missing, or hidden from the reader
	Posts      Loader[*feed.Item]       // Post is nil when missing or hidden
	Comments   Loader[*feed.Comment]    // nil: missing, or hidden from the reader
	Stats      Loader[*feed.Stats]      // with first comments; nil: missing
	UserCounts Loader[*feed.UserCounts] // nil: missing
	Liked      Loader[bool]             // whether the reader likes the post
	Reposted   Loader[bool]             // whether the reader has reposted the post
	FollowsMe  Loader[bool]             // whether the user follows the reader

	service  *feed.Service
	detached func(time.Duration) (context.Context, context.CancelFunc)
	observe  func(loader string, size int)
}

// New makes the loaders of one response. Loads end with ctx, which is that of
// the response, not of one of its fields. Observe is told the name of the
// loader and the size of each batch.
func New(ctx context.Context, service *feed.Service, reader *feed.Reader, observe func(loader string, size int)) *Set {
	s := &Set{Reader: reader, service: service, observe: observe}
	s.detached = func(d time.Duration) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, d)
	}
	open(&s.Users, s, "users", loadUsers)
	open(&s.Posts, s, "posts", loadPosts)
	open(&s.Comments, s, "comments", loadComments)
	open(&s.Stats, s, "stats", loadStats)
	open(&s.UserCounts, s, "user_counts", loadUserCounts)
	open(&s.Liked, s, "liked", loadLiked)
	open(&s.Reposted, s, "reposted", loadReposted)
	open(&s.FollowsMe, s, "follows_me", loadFollowsMe)
	return s
}

func open[V any](l *Loader[V], s *Set, name string, fetch func(context.Context, *Set, []feed.ID) ([]V, error)) {
	l.set, l.name, l.fetch = s, name, fetch
}

type key struct{}

// With puts the loaders of a response into its context.
func With(ctx context.Context, s *Set) context.Context { return context.WithValue(ctx, key{}, s) }

// From gives the loaders of the response; nil when With was not called.
func From(ctx context.Context) *Set {
	s, _ := ctx.Value(key{}).(*Set)
	return s
}

// members tells for each id whether it is in the set.
func members(set feed.IDSet, ids []feed.ID) []bool {
	in := make([]bool, len(ids))
	for i, id := range ids {
		in[i] = set.Has(id)
	}
	return in
}
