package recommend

import "feedgate/feed"

// space puts candidates into their final order, at most limit: best first, but
// authors and topics spaced, and a place now and then for a fresh post.
func (s *Settings) space(ranked []*candidate, limit int) []*candidate {
	out := make([]*candidate, 0, min(limit, len(ranked)))
	left := make([]*candidate, len(ranked))
	copy(left, ranked)
	for len(left) > 0 && len(out) < limit {
		i := s.next(left, out)
		out = append(out, left[i])
		copy(left[1:i+1], left[:i]) // the front moves back by one: ranks stay
		left = left[1:]
	}
	return out
}

// next gives the index of the candidate for the next place.
func (s *Settings) next(left, out []*candidate) int {
	if s.ExploreEvery > 0 && (len(out)+1)%s.ExploreEvery == 0 {
		for i, c := range left {
			if c.fresh && s.spaced(c, out) {
				if i > 0 {
					c.explored, c.reason = true, feed.Reason{Kind: feed.ReasonFresh}
				}
				return i
			}
		}
	}
	first := -1 // the best one whose author is far enough away
	for i, c := range left {
		if first >= 0 && i > first+s.LookAhead {
			break
		}
		if !s.spaced(c, out) {
			continue
		}
		if first < 0 {
			first = i
		}
		if !s.runs(c, out) {
			return i
		}
	}
	return max(first, 0)
}

// spaced reports whether an author is not among those placed last.
func (s *Settings) spaced(c *candidate, out []*candidate) bool {
	for _, o := range out[max(0, len(out)-max(0, s.AuthorSpacing-1)):] {
		if o.post.Author == c.post.Author {
			return false
		}
	}
	return true
}

// runs reports whether c would make a run of one main topic too long.
func (s *Settings) runs(c *candidate, out []*candidate) bool {
	if s.TopicRun <= 0 || len(out) < s.TopicRun || len(c.post.Topics) == 0 {
		return false
	}
	for _, o := range out[len(out)-s.TopicRun:] {
		if len(o.post.Topics) == 0 || o.post.Topics[0] != c.post.Topics[0] {
			return false
		}
	}
	return true
}
