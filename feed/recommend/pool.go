package recommend

import (
	"cmp"
	"slices"

	"feedgate/feed"
)

// candidate is a post that may be recommended, with what the sources know of it.
type candidate struct {
	id   feed.ID
	post *feed.Post // nil: it may not be shown
	n    float64    // engagements, as the record counts them, at least 1

	counted float64 // the same, without the least

	features [features]float64
	subjects [features]feed.Reason // why, if the feature decides

	fresh    bool // nobody has viewed it
	explored bool // placed because it is fresh
	score    float64
	order    uint64
	reason   feed.Reason
}

// pool holds what was recalled, each post once.
type pool struct {
	byID map[feed.ID]*candidate
	all  []*candidate
}

func newPool() *pool { return &pool{byID: make(map[feed.ID]*candidate, 512)} }

// add returns the candidate of a post, a new one if there is none.
func (p *pool) add(id feed.ID) *candidate {
	c := p.byID[id]
	if c == nil {
		c = &candidate{id: id}
		p.byID[id] = c
		p.all = append(p.all, c)
	}
	return c
}

// hint is a post with what a source holds of it before the post is known.
type hint struct {
	id    feed.ID
	score float64
}

// best gives the posts with the highest scores that r may be shown, at most
// limit, ties in r's own order.
func best(r *request, hints []hint, limit int) []hint {
	kept := hints[:0]
	for _, h := range hints {
		if h.score > 0 && r.wanted(h.id) {
			kept = append(kept, h)
		}
	}
	better := func(a, b hint) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return compare(order(r.q.Reader, a.id), order(r.q.Reader, b.id))
	}
	kept = first(kept, limit, better)
	slices.SortFunc(kept, better)
	return kept
}

// first gives the n of a list that an order puts first, in no order. It looks
// at most of a long list once: those chosen form a heap with the last on top.
func first[T any](list []T, n int, order func(a, b T) int) []T {
	if len(list) <= n {
		return list
	}
	heap := list[:n]
	sink := func(i int) {
		for {
			last := i
			for c := 2*i + 1; c <= 2*i+2 && c < n; c++ {
				if order(heap[c], heap[last]) > 0 {
					last = c
				}
			}
			if last == i {
				return
			}
			heap[i], heap[last] = heap[last], heap[i]
			i = last
		}
	}
	for i := n/2 - 1; i >= 0; i-- {
		sink(i)
	}
	for _, x := range list[n:] {
		if n > 0 && order(x, heap[0]) < 0 {
			heap[0] = x
			sink(0)
		}
	}
	return heap
}

func compare(a, b uint64) int { return cmp.Compare(a, b) }
