package evaluate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"feedgate/feed"
)

// Part is one of the parts that likes are split into.
type Part uint8

// The parts.
const (
	Train Part = iota // what is learned from
	Valid             // for choosing weights
	Test              // for the figures
	parts
)

// pair is a like.
type pair struct{ user, post feed.ID }

// Split says which likes are hidden from the learner.
type Split struct {
	Hidden map[pair]Part
	Sizes  [parts]int
	likes  map[feed.ID]feed.IDSet
}

// NewSplit splits the likes of each person at random, 8 : 1 : 1. The same
// seed gives the same split, whatever the order of the lines.
func NewSplit(b *Bundle, seed uint64) *Split {
	s := &Split{Hidden: make(map[pair]Part), likes: b.Likes}
	for _, user := range slices.Sorted(maps.Keys(b.Likes)) {
		posts := slices.Clone(b.Likes[user])
		dice := rand.New(rand.NewPCG(seed, uint64(user))) //nolint:gosec // repeatable, not secret
		dice.Shuffle(len(posts), func(i, j int) { posts[i], posts[j] = posts[j], posts[i] })
		sizes := sizesOf(len(posts))
		for part := range sizes {
			s.Sizes[part] += sizes[part]
		}
		for i, post := range posts[sizes[Train]:] {
			part := Valid
			if i >= sizes[Valid] {
				part = Test
			}
			s.Hidden[pair{user, post}] = part
		}
	}
	return s
}

// sizesOf gives the sizes of the parts of n likes, as RecBole does: a tenth each
// for test and valid, rounded down, but at least one where train keeps one: for
// test first.
func sizesOf(n int) [parts]int {
	sizes := [parts]int{Valid: n / 10, Test: n / 10}
	sizes[Train] = n - sizes[Valid] - sizes[Test]
	for _, part := range []Part{Test, Valid} {
		if sizes[Train] > 1 && sizes[part] == 0 {
			sizes[part]++
			sizes[Train]--
		}
	}
	return sizes
}

// question is what is asked about one person.
type question struct {
	user   feed.ID
	hidden feed.IDSet // of the part that is asked for
	skip   feed.IDSet // likes of the other parts
}

// questions gives those who have likes in a part, by id.
func (s *Split) questions(part Part) []question {
	var all []question
	for _, user := range slices.Sorted(maps.Keys(s.likes)) {
		q := question{user: user}
		for _, post := range s.likes[user] {
			if s.Hidden[pair{user, post}] == part {
				q.hidden = append(q.hidden, post)
			} else {
				q.skip = append(q.skip, post)
			}
		}
		if len(q.hidden) > 0 {
			all = append(all, q)
		}
	}
	return all
}

// sampled picks n of the questions at random, in their order; 0 is all.
func sampled(all []question, n int, seed uint64) []question {
	if n <= 0 || n >= len(all) {
		return all
	}
	dice := rand.New(rand.NewPCG(seed, uint64(len(all)))) //nolint:gosec // repeatable, not secret
	chosen := dice.Perm(len(all))[:n]
	slices.Sort(chosen)
	few := make([]question, n)
	for i, at := range chosen {
		few[i] = all[at]
	}
	return few
}

// String gives the sizes of train, valid and test.
func (s *Split) String() string {
	return fmt.Sprintf("%d / %d / %d", s.Sizes[Train], s.Sizes[Valid], s.Sizes[Test])
}
