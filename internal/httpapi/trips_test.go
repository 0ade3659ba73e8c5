package httpapi_test

import (
	"context"
	"testing"
	"time"

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

// tripsOf counts the round trips of f, once it was prepared. Nothing may run in
// the background.
func (w *world) tripsOf(prepare, f func()) trips {
	prepare()
	hot, record := w.hotTrips.Load(), w.recordTrips.Load()
	f()
	return trips{w.hotTrips.Load() - hot, w.recordTrips.Load() - record}
}

func TestRoundTripsDoNotDependOnThePageSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.town(110)
	read := func(query string, first int) func() {
		return func() {
			var got struct{ FollowFeed struct{ Edges []any } }
			w.as(reader, query, map[string]any{"first": first}).into(t, &got)
			if len(got.FollowFeed.Edges) != first {
				t.Errorf("got %d posts, want %d", len(got.FollowFeed.Edges), first)
			}
		}
	}
	// The first read leaves the older part of the inbox to the background.
	w.until("the inbox is filled", func() bool { return w.tripsOf(read(richQuery, 100), read(richQuery, 100)).sum() <= 6 })
	w.rest()
	for _, c := range []struct {
		name    string
		query   string
		prepare func()
		most    int64
	}{
		{"feed, warm", feedQuery, read(feedQuery, 100), 6},
		{"rich, warm", richQuery, read(richQuery, 100), 6},
		{"feed, cold", feedQuery, w.flush, 12},
		{"rich, cold", richQuery, w.flush, 12},
	} {
		short, long := w.tripsOf(c.prepare, read(c.query, 20)), w.tripsOf(c.prepare, read(c.query, 100))
		t.Logf("%s: 20 posts %+v, 100 posts %+v", c.name, short, long)
		if short != long {
			t.Errorf("%s: 20 posts took %+v, 100 posts %+v", c.name, short, long)
		}
		if long.sum() > c.most {
			t.Errorf("%s: %+v, want at most %d", c.name, long, c.most)
		}
	}
}

// until polls, for at most half a minute.
func (w *world) until(what string, done func() bool) {
	w.tb.Helper()
	for deadline := time.Now().Add(4 * wait); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.tb.Fatalf("waited in vain until %s", what)
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
	w.rest()
	short, long := w.tripsOf(read(many), read(few)), w.tripsOf(read(many), read(many))
	t.Logf("2 nodes %+v, 12 nodes %+v", short, long)
	if short != long || long.sum() > 8 {
		t.Errorf("2 nodes took %+v, 12 nodes %+v, want the same, at most 8", short, long)
	}
}
