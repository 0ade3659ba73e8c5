package recommend

import (
	"math"

	"feedgate/feed"
)

// source is one reason to recommend posts. It asks its questions together with
// the others, names its best posts, and then says of each candidate, whoever
// named it, what it holds of it. A source serves one request.
type source interface {
	asker
	// recall adds the source's best posts to the pool.
	recall(r *request, p *pool)
	// describe sets the source's feature of a candidate whose post is known.
	describe(r *request, c *candidate)
}

// further is a source that has more questions once the seeds' posts are known.
type further interface {
	askMore(r *request) []feed.Op
	failMore()
}

// ----- posts that the same people engage with -----

type similar struct {
	boards []*feed.ReadBoard // of the seeds as the reader knows them
	more   []*feed.ReadBoard // of the originals of reposts without words
	found  []likeness
	index  map[feed.ID]int32 // into found
}

// likeness is what the seeds say of one post.
type likeness struct {
	post             feed.ID
	sum, part, count float64
	seed             feed.ID // the one with the largest part
}

func (*similar) name() string { return SourceSimilar }
func (s *similar) fail()      { s.boards = nil }
func (s *similar) failMore()  { s.more = nil }

func (s *similar) ask(r *request) []feed.Op {
	s.boards = nil
	if r.epoch == 0 {
		return nil
	}
	for i := range r.seeds {
		s.boards = append(s.boards, &feed.ReadBoard{Board: similarTo(r.epoch, r.seeds[i].was), Limit: r.set.SimilarRead})
	}
	return ops(s.boards)
}

func (s *similar) askMore(r *request) []feed.Op {
	s.more = nil
	if r.epoch == 0 {
		return nil
	}
	for i := range r.seeds {
		if s2 := &r.seeds[i]; s2.id != s2.was {
			s.more = append(s.more, &feed.ReadBoard{Board: similarTo(r.epoch, s2.id), Limit: r.set.SimilarRead})
		}
	}
	return ops(s.more)
}

func (s *similar) recall(r *request, p *pool) {
	boards := make(map[feed.ID]*feed.ReadBoard, len(s.boards)+len(s.more))
	said := 0
	for _, b := range append(s.boards, s.more...) {
		boards[b.Board.Post] = b
		said += len(b.Ranked)
	}
	s.found = make([]likeness, 0, said/2) // posts are on several boards
	s.index = make(map[feed.ID]int32, said/2)
	for i := range r.seeds {
		if b := boards[r.seeds[i].id]; b != nil {
			s.add(&r.seeds[i], b, math.Pow(r.seeds[i].n, -r.set.SeedExponent))
		}
	}
	hints := make([]hint, len(s.found))
	for i := range s.found {
		l := &s.found[i]
		// How popular the post is shows in its counts until it is loaded.
		hints[i] = hint{id: l.post, score: l.sum * math.Pow(max(1, l.count), -r.set.PostExponent)}
	}
	for _, h := range best(r, hints, r.set.SimilarRecall) {
		p.add(h.id)
	}
}

// add takes what one seed says, each count held back by a factor.
func (s *similar) add(sd *seed, b *feed.ReadBoard, held float64) {
	for _, x := range b.Ranked {
		i, ok := s.index[x.Post]
		if !ok {
			i = int32(len(s.found)) //nolint:gosec // bounded by what is read
			s.index[x.Post] = i
			s.found = append(s.found, likeness{post: x.Post})
		}
		l := &s.found[i]
		part := math.Sqrt(max(0, x.Score)) * held
		l.sum += part
		l.count = max(l.count, x.Score)
		if part > l.part {
			l.part, l.seed = part, sd.was
		}
	}
}

func (s *similar) describe(r *request, c *candidate) {
	if i, ok := s.index[c.id]; ok {
		l := &s.found[i]
		c.features[featureSimilar] = l.sum * math.Pow(c.n, -r.set.PostExponent)
		c.subjects[featureSimilar] = feed.Reason{Kind: feed.ReasonLikedSimilar, Post: l.seed}
	}
}

// ----- what is engaged with most, now -----

type trending struct {
	board  *feed.ReadBoard
	scores map[feed.ID]float64
}

func (*trending) name() string { return SourceTrending }
func (s *trending) fail()      { s.board = nil }

func (s *trending) ask(r *request) []feed.Op {
	s.board = nil
	if r.epoch == 0 {
		return nil
	}
	s.board = &feed.ReadBoard{Board: trendingIn(r.epoch), Limit: r.set.TrendingRead}
	return []feed.Op{s.board}
}

func (s *trending) recall(r *request, p *pool) {
	if s.board == nil {
		return
	}
	s.scores = make(map[feed.ID]float64, len(s.board.Ranked))
	hints := make([]hint, 0, len(s.board.Ranked))
	for _, x := range s.board.Ranked {
		if x.Post != sentinel {
			s.scores[x.Post] = x.Score
			hints = append(hints, hint{id: x.Post, score: x.Score})
		}
	}
	if len(hints) > 0 { // the measure of all, also when the reader is not shown it
		r.popularMax = hints[0].score
		p.add(hints[0].id)
	}
	for _, h := range best(r, hints, r.set.TrendingRecall) {
		p.add(h.id)
	}
}

// describe gives the score that is left of a post's engagements. Of one that is
// not on the part of the board that was read, it takes them to be as old as the
// post itself.
func (s *trending) describe(r *request, c *candidate) {
	c.features[featurePopular] = max(s.scores[c.id], c.counted*weight(c.post.At, r.epoch, r.set.TrendingHalfLife))
	c.subjects[featurePopular] = feed.Reason{Kind: feed.ReasonTrending}
}

// ----- what nobody has viewed -----

const hour = 3600_000 // ms

type fresh struct {
	board *feed.ReadBoard
	on    map[feed.ID]struct{}
}

func (*fresh) name() string { return SourceFresh }
func (s *fresh) fail()      { s.board = nil }

func (s *fresh) ask(r *request) []feed.Op {
	s.board = &feed.ReadBoard{Board: feed.Fresh(), Limit: r.set.FreshRead}
	return []feed.Op{s.board}
}

// recall takes different ones for each reader, so that each is tried by some.
func (s *fresh) recall(r *request, p *pool) {
	if s.board == nil {
		return
	}
	s.on = make(map[feed.ID]struct{}, len(s.board.Ranked))
	var hints []hint
	for _, x := range s.board.Ranked {
		if float64(r.now)-x.Score <= float64(r.set.FreshAge.Milliseconds()) {
			s.on[x.Post] = struct{}{}
			hints = append(hints, hint{id: x.Post, score: 1})
		}
	}
	for _, h := range best(r, hints, r.set.FreshRecall) {
		p.add(h.id)
	}
}

func (s *fresh) describe(r *request, c *candidate) {
	_, on := s.on[c.id]
	c.fresh = on && c.n <= float64(r.set.FreshEngagements)
	// By whole hours: an order that changes by the millisecond helps nobody.
	age := (r.now - c.post.At) / hour * hour
	c.features[featureFresh] = fade(age, r.set.FreshHalfLife)
	c.subjects[featureFresh] = feed.Reason{Kind: feed.ReasonFresh}
}

func ops[T feed.Op](of []T) []feed.Op {
	all := make([]feed.Op, len(of))
	for i, op := range of {
		all[i] = op
	}
	return all
}
