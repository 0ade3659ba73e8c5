package recommend

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
)

// TestSpacing holds the order to its rules, each with its exception: there was
// no better one left.
func TestSpacing(t *testing.T) {
	t.Parallel()
	set := DefaultSettings()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 80).Draw(rt, "posts")
		authors := rapid.IntRange(1, 12).Draw(rt, "authors")
		ranked := make([]*candidate, n)
		for i := range ranked {
			p := &feed.Post{ID: feed.ID(i + 1), Author: feed.ID(rapid.IntRange(1, authors).Draw(rt, "author"))}
			if topic := rapid.SampledFrom([]string{"", "a", "a", "b"}).Draw(rt, "topic"); topic != "" {
				p.Topics = []string{topic, "z"}
			}
			ranked[i] = &candidate{id: p.ID, post: p, fresh: rapid.IntRange(0, 9).Draw(rt, "fresh") == 0}
		}
		limit := rapid.IntRange(0, 100).Draw(rt, "limit")
		out := set.space(ranked, limit)
		if len(out) != min(n, limit) {
			rt.Fatalf("got %d of %d posts, want %d", len(out), n, min(n, limit))
		}
		placed := make(map[*candidate]bool)
		for i, c := range out {
			if placed[c] {
				rt.Fatalf("post %s is there twice", c.id)
			}
			var left []*candidate // in rank order, c among them
			for _, o := range ranked {
				if !placed[o] {
					left = append(left, o)
				}
			}
			checkPlace(rt, &set, out[:i], c, left)
			placed[c] = true
		}
	})
}

func TestWithoutRulesRanksStay(t *testing.T) {
	t.Parallel()
	var set Settings
	ranked := make([]*candidate, 30)
	for i := range ranked {
		p := &feed.Post{ID: feed.ID(i + 1), Author: 1, Topics: []string{"a"}}
		ranked[i] = &candidate{id: p.ID, post: p, fresh: i == 29}
	}
	if out := set.space(ranked, len(ranked)); !slices.Equal(out, ranked) {
		t.Errorf("got %v, want the order of the ranks", out)
	}
}

func checkPlace(rt *rapid.T, set *Settings, before []*candidate, c *candidate, left []*candidate) {
	near := func(o *candidate) bool {
		for back := 1; back < set.AuthorSpacing && back <= len(before); back++ {
			if before[len(before)-back].post.Author == o.post.Author {
				return true
			}
		}
		return false
	}
	main := func(o *candidate) string {
		if len(o.post.Topics) == 0 {
			return ""
		}
		return o.post.Topics[0]
	}
	fourth := func(o *candidate) bool {
		if len(before) < set.TopicRun || main(o) == "" {
			return false
		}
		for back := 1; back <= set.TopicRun; back++ {
			if main(before[len(before)-back]) != main(o) {
				return false
			}
		}
		return true
	}
	exploring := (len(before)+1)%set.ExploreEvery == 0
	best := -1
	for i, o := range left {
		if near(o) {
			continue
		}
		if near(c) {
			rt.Fatalf("place %d: an author within %d places, and post %s was there", len(before), set.AuthorSpacing, o.id)
		}
		if exploring && o.fresh {
			if o != c {
				rt.Fatalf("place %d: got post %s, want the fresh post %s", len(before), c.id, o.id)
			}
			return
		}
		if best < 0 {
			best = i
		}
	}
	for i, o := range left {
		if o == c || best < 0 || i > best+set.LookAhead {
			break
		}
		if !near(o) && !fourth(o) {
			rt.Fatalf("place %d: got post %s, and the better post %s was there", len(before), c.id, o.id)
		}
	}
}
