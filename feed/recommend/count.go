package recommend

import (
	"cmp"
	"slices"

	"feedgate/feed"
)

// vote is one post that counts for a user, as it stands for the boards.
type vote struct {
	post   feed.ID
	at     int64
	topics []string
}

// votes are what a user's engagements say, newest first: of a repost without
// words the original counts, nobody votes for their own posts, and each post
// counts once. They depend on nothing else, so that whoever counts them again
// takes away exactly what was added.
func votes(user feed.ID, engaged []feed.Engagement, posts map[feed.ID]known) []vote {
	all := make([]vote, 0, len(engaged))
	had := make(map[feed.ID]struct{}, len(engaged))
	for _, g := range engaged {
		k := posts[g.Post]
		id, author := g.Post, k.author
		if k.target != 0 {
			id, author = k.target, k.targetAuthor
			k = posts[id]
		}
		if _, twice := had[id]; twice || author == user {
			continue
		}
		had[id] = struct{}{}
		all = append(all, vote{post: id, at: g.At, topics: k.topics})
	}
	return all
}

// pair is two posts that one user engaged with, the lower id first.
type pair struct{ a, b feed.ID }

// pairs gives the pairs of posts at most window places apart.
func pairs(all []vote, window int, each func(pair)) {
	for i := range all {
		for j := i + 1; j < min(len(all), i+window+1); j++ {
			p := pair{all[i].post, all[j].post}
			if p.b < p.a {
				p.a, p.b = p.b, p.a
			}
			each(p)
		}
	}
}

// apart is what one pair counts on the board of a post: 1 and a little, below
// 2^-12, that is different for each other post. Most counts are low and equal, and
// a board that is cut would otherwise keep the highest ids of them. In steps of
// 2^-32 it keeps sums below 2^20 exact.
func apart(board, post feed.ID) float64 {
	return 1 + float64(order(board, post)>>44)/(1<<32)
}

// tally sums up changes of boards of one epoch.
type tally struct {
	set     *Settings
	epoch   int64
	changes map[feed.Board]map[feed.ID]float64
	size    int // upper bound of the changes
}

func newTally(set *Settings, epoch int64) *tally {
	return &tally{set: set, epoch: epoch, changes: make(map[feed.Board]map[feed.ID]float64)}
}

func (t *tally) add(b feed.Board, post feed.ID, by float64) {
	m := t.changes[b]
	if m == nil {
		m = make(map[feed.ID]float64)
		t.changes[b] = m
	}
	if _, ok := m[post]; !ok {
		t.size++
	}
	m[post] += by
}

// replace counts a user's votes instead of those that are counted.
func (t *tally) replace(then, now []vote) {
	together := make(map[pair]int8)
	pairs(now, t.set.Window, func(p pair) { together[p]++ })
	pairs(then, t.set.Window, func(p pair) { together[p]-- })
	for p, by := range together {
		if by != 0 {
			t.add(similarTo(t.epoch, p.a), p.b, float64(by)*apart(p.a, p.b))
			t.add(similarTo(t.epoch, p.b), p.a, float64(by)*apart(p.b, p.a))
		}
	}
	was := make(map[feed.ID]*vote, len(then))
	for i := range then {
		was[then[i].post] = &then[i]
	}
	for i := range now {
		v := &now[i]
		if old := was[v.post]; old != nil {
			delete(was, v.post)
			if old.at == v.at {
				continue
			}
			t.vote(old, -1)
		}
		t.vote(v, 1)
	}
	for _, old := range was {
		t.vote(old, -1)
	}
}

// vote adds one vote to the boards that rank by number.
func (t *tally) vote(v *vote, by float64) {
	t.add(trendingIn(t.epoch), v.post, by*weight(v.at, t.epoch, t.set.TrendingHalfLife))
	for i, topic := range v.topics {
		if slices.Contains(v.topics[:i], topic) {
			continue
		}
		t.add(ofTopic(t.epoch, topic), v.post, by*weight(v.at, t.epoch, t.set.TopicHalfLife))
		t.add(directory(t.epoch), topicNumber(topic), by)
		t.add(directory(t.epoch), allTopics, by)
	}
}

// flush gives the changes in batches of at most limit, and forgets them.
func (t *tally) flush(limit int) [][]feed.Op {
	var batches [][]feed.Op
	var batch []feed.Op
	room := limit
	for b, m := range t.changes {
		list := make([]feed.Ranked, 0, len(m))
		for id, by := range m {
			if by != 0 {
				list = append(list, feed.Ranked{Post: id, Score: by})
			}
		}
		slices.SortFunc(list, func(a, b feed.Ranked) int { return cmp.Compare(a.Post, b.Post) })
		for len(list) > 0 {
			n := min(room, len(list))
			op := &feed.ChangeBoard{Board: b, Changes: list[:n]}
			op.Keep, op.Slack = t.bounds(b)
			batch, list, room = append(batch, op), list[n:], room-n
			if room == 0 {
				batches, batch, room = append(batches, batch), nil, limit
			}
		}
	}
	if len(batch) > 0 {
		batches = append(batches, batch)
	}
	t.changes, t.size = make(map[feed.Board]map[feed.ID]float64), 0
	return batches
}

func (t *tally) bounds(b feed.Board) (keep, slack int) {
	switch {
	case b.Kind == feed.BoardSimilar:
		return t.set.SimilarKeep, t.set.SimilarSlack
	case b.Kind == feed.BoardTrending:
		return t.set.TrendingKeep, t.set.TrendingSlack
	case b.Topic == "":
		return t.set.DirectoryKeep, t.set.DirectorySlack
	default:
		return t.set.TopicKeep, t.set.TopicSlack
	}
}
