package recommend_test

import (
	"slices"
	"testing"

	"feedgate/feed"
	"feedgate/feed/recommend"
)

// everywhere runs a test on the in-process Redis and on a real one.
func everywhere(t *testing.T, set recommend.Settings, test func(t *testing.T, w *world)) {
	t.Helper()
	for name, start := range map[string]backend{"embedded": onEmbedded, "redis": onRedis} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, set, start))
		})
	}
}

// twoGroups are two groups of readers, each of which likes the posts of its own.
type twoGroups struct {
	authors [2][]feed.ID
	fans    [2][]feed.ID
	posts   [2][]feed.ID
}

// groups makes them: each reader likes two thirds of the posts of the group.
func groups(w *world) twoGroups {
	var g twoGroups
	for k, topic := range []string{"sea", "hills"} {
		g.authors[k] = w.persons(12)
		g.fans[k] = w.persons(9)
		for range 2 {
			for _, author := range g.authors[k] {
				g.posts[k] = append(g.posts[k], w.post(author, topic))
			}
		}
		for i, fan := range g.fans[k] {
			for j, p := range g.posts[k] {
				if (i+j)%3 != 0 {
					w.like(fan, p)
				}
			}
		}
	}
	return g
}

func TestDisjointTastesHaveDisjointFeeds(t *testing.T) {
	t.Parallel()
	everywhere(t, recommend.DefaultSettings(), func(t *testing.T, w *world) {
		g := groups(w)
		w.learnAll()
		var tops [2][]feed.ID
		for k := range tops {
			reader := w.persons(1)[0]
			w.like(reader, g.posts[k][:6]...)
			tops[k], _ = w.page(reader, 10)
			if len(tops[k]) != 10 {
				t.Fatalf("got %d posts, want 10", len(tops[k]))
			}
		}
		shared := 0
		for _, id := range tops[0] {
			if slices.Contains(tops[1], id) {
				shared++
			}
		}
		if shared > 3 {
			t.Errorf("the top 10 of two groups share %d posts, want at most 3:\n%v\n%v", shared, tops[0], tops[1])
		}
	})
}
