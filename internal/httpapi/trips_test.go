package httpapi_test

import (
	"context"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
)

// richQuery asks for everything that a page of a feed usually shows.
const richQuery = `query($first: Int) { followFeed(first: $first) {
  edges { cursor node { ...post repostOf { ...post } } }
  nodes { id }
  pageInfo { hasNextPage endCursor } completeSince
} }
fragment post on Post {
  id text publishedAt likeCount commentCount repostCount viewerHasLiked viewerHasReposted
  author { ...person }
  talk: comments(first: 2) { edges { node { id text author { ...person } } } }
}
fragment person on User { id handle name followerCount viewerFollows viewerMutes }`

// trips are round trips to the hot data and to the record.
type trips struct{ hot, record int64 }

func (t trips) sum() int64 { return t.hot + t.record }

// least gives the fewest round trips that f takes, prepared in the same way each
// time: what runs in the background beside it can only add to them.
func (w *world) least(prepare, f func()) trips {
	least := trips{1 << 30, 0}
	for range 6 {
		prepare()
		hot, record := w.hotTrips.Load(), w.recordTrips.Load()
		f()
		if took := (trips{w.hotTrips.Load() - hot, w.recordTrips.Load() - record}); took.sum() < least.sum() {
			least = took
		}
	}
	return least
}

func TestRoundTripsDoNotDependOnThePageSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.town(110)
	for name, query := range map[string]string{"feed": feedQuery, "rich": richQuery} {
		read := func(first int) func() {
			return func() {
				var got struct{ FollowFeed struct{ Edges []any } }
				w.as(reader, query, map[string]any{"first": first}).into(t, &got)
				if len(got.FollowFeed.Edges) != first {
					t.Errorf("%s: got %d posts, want %d", name, len(got.FollowFeed.Edges), first)
				}
			}
		}
		for state, c := range map[string]struct {
			prepare func()
			most    int64
		}{"warm": {func() {}, 6}, "cold": {w.flush, 12}} {
			short, long := w.least(c.prepare, read(20)), w.least(c.prepare, read(100))
			t.Logf("%s, %s: 20 posts %+v, 100 posts %+v", name, state, short, long)
			if short != long {
				t.Errorf("%s, %s: 20 posts took %+v, 100 posts %+v", name, state, short, long)
			}
			if long.sum() > c.most {
				t.Errorf("%s, %s: %+v, want at most %d", name, state, long, c.most)
			}
		}
	}
}

// flush loses all hot data.
func (w *world) flush() {
	w.tb.Helper()
	options, err := goredis.ParseURL(w.redis.URL())
	w.must(err)
	c := goredis.NewClient(options)
	defer c.Close()
	w.must(c.FlushAll(context.Background()).Err())
}

func TestSingleObjectsTakeFewRoundTrips(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.town(12)
	page, err := w.svc.FollowFeed(context.Background(), w.svc.Reader(reader), 12, feed.Newest(), feed.Want{})
	w.must(err)
	few, many := []string{}, []string{}
	for i, it := range page.Items {
		id := "post:" + it.Post.ID.String()
		many = append(many, id)
		if i < 2 {
			few = append(few, id)
		}
	}
	q := `query($ids: [ID!]!) { nodes(ids: $ids) { ... on Post { id text likeCount viewerHasLiked author { handle followsViewer } comments(first: 2) { nodes { text author { handle } } } } } }`
	read := func(ids []string) func() {
		return func() {
			var got struct {
				Nodes []struct{ Comments struct{ Nodes []any } }
			}
			w.as(reader, q, map[string]any{"ids": ids}).into(t, &got)
			if len(got.Nodes) != len(ids) || len(got.Nodes[0].Comments.Nodes) != 2 {
				t.Errorf("got %v", got)
			}
		}
	}
	short, long := w.least(func() {}, read(few)), w.least(func() {}, read(many))
	t.Logf("2 nodes %+v, 12 nodes %+v", short, long)
	if short != long || long.sum() > 8 {
		t.Errorf("2 nodes took %+v, 12 nodes %+v, want the same, at most 8", short, long)
	}
}
