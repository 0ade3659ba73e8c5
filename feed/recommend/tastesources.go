package recommend

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"feedgate/feed"
)

// ----- topics -----

// topical recalls posts about the topics of the seeds. Posts and profile are
// vectors over topics; rare topics say more: idf = ln(1 + all/with), counted in
// engagements, from the directory.
type topical struct {
	directory *feed.ReadBoard
	counts    map[feed.ID]float64
	total     float64
	rare      float64 // engagements of a topic that the directory does not name
	boards    []*feed.ReadBoard
	weights   map[string]float64 // the profile
	length    float64            // of the profile
}

func (*topical) name() string { return SourceTopic }
func (s *topical) fail()      { s.directory = nil }
func (s *topical) failMore()  { s.boards = nil }

func (s *topical) ask(r *request) []feed.Op {
	s.directory = nil
	if r.epoch == 0 || len(r.seeds) == 0 {
		return nil
	}
	s.directory = &feed.ReadBoard{Board: directory(r.epoch), Limit: r.set.DirectoryRead + 1}
	return []feed.Op{s.directory}
}

// idf is how much a topic says.
func (s *topical) idf(topic string) float64 {
	with, ok := s.counts[topicNumber(topic)]
	if !ok {
		with = s.rare
	}
	return math.Log1p(s.total / max(1, with))
}

func (s *topical) readDirectory() {
	s.counts, s.total, s.rare = make(map[feed.ID]float64), 1, 1
	if s.directory == nil {
		return
	}
	for _, x := range s.directory.Ranked {
		if x.Post == allTopics {
			s.total = max(1, x.Score)
			continue
		}
		s.counts[x.Post] = x.Score
		if len(s.directory.Ranked) == s.directory.Limit {
			s.rare = max(1, x.Score/2)
		}
	}
}

// unit gives the vector of a post, by the indexes of its topics, of length 1.
func (s *topical) unit(topics []string) []float64 {
	v := make([]float64, len(topics))
	sum := 0.0
	for i, t := range topics {
		if !slices.Contains(topics[:i], t) {
			v[i] = s.idf(t)
			sum += v[i] * v[i]
		}
	}
	if sum > 0 {
		length := math.Sqrt(sum)
		for i := range v {
			v[i] /= length
		}
	}
	return v
}

func (s *topical) askMore(r *request) []feed.Op {
	s.boards = nil
	if s.directory == nil || !r.loaded {
		return nil
	}
	s.readDirectory()
	s.weights = make(map[string]float64)
	for i := range r.seeds {
		if p := r.seeds[i].post; p != nil {
			for k, x := range s.unit(p.Topics) {
				s.weights[p.Topics[k]] += x
			}
		}
	}
	topics := slices.Sorted(maps.Keys(s.weights)) // sums of the same order are the same
	sum := 0.0
	for _, t := range topics {
		sum += s.weights[t] * s.weights[t]
	}
	s.length = math.Sqrt(sum)
	slices.SortStableFunc(topics, func(a, b string) int {
		return cmp.Compare(s.weights[b]*s.idf(b), s.weights[a]*s.idf(a))
	})
	for _, t := range topics[:min(r.set.TopicsRead, len(topics))] {
		s.boards = append(s.boards, &feed.ReadBoard{Board: ofTopic(r.epoch, t), Limit: r.set.TopicRead})
	}
	return ops(s.boards)
}

// recall prefers posts of several of the reader's topics, and popular ones.
func (s *topical) recall(r *request, p *pool) {
	type found struct{ sum, most float64 }
	posts := make(map[feed.ID]found)
	for _, b := range s.boards {
		says := s.weights[b.Board.Topic] * s.idf(b.Board.Topic)
		for _, x := range b.Ranked {
			f := posts[x.Post]
			f.sum += says
			f.most = max(f.most, x.Score)
			posts[x.Post] = f
		}
	}
	hints := make([]hint, 0, len(posts))
	for id, f := range posts {
		hints = append(hints, hint{id: id, score: f.sum * math.Sqrt(f.most)})
	}
	for _, h := range best(r, hints, r.set.TopicRecall) {
		p.add(h.id)
	}
}

func (s *topical) describe(_ *request, c *candidate) {
	if s.length == 0 {
		return
	}
	sum, most, topic := 0.0, 0.0, ""
	for i, x := range s.unit(c.post.Topics) {
		part := x * s.weights[c.post.Topics[i]]
		sum += part
		if part > most {
			most, topic = part, c.post.Topics[i]
		}
	}
	c.features[featureTopic] = sum / s.length
	c.subjects[featureTopic] = feed.Reason{Kind: feed.ReasonTopic, Topic: topic}
}

// ----- followees -----

// social recalls what followees engaged with, those with like tastes first.
type social struct {
	sums  map[feed.ID]*liking
	total float64
}

// liking is what the followees say of one post.
type liking struct {
	sum, part float64
	followee  feed.ID // the one with the largest part
}

func (*social) name() string           { return SourceSocial }
func (*social) ask(*request) []feed.Op { return nil }
func (*social) fail()                  {}

func (s *social) recall(r *request, p *pool) {
	s.sums = make(map[feed.ID]*liking)
	counts := make(map[feed.ID]float64)
	seeds := make(map[feed.ID]struct{}, len(r.seeds))
	for i := range r.seeds {
		seeds[r.seeds[i].id] = struct{}{}
	}
	for i, t := range r.tastes {
		if t == nil {
			continue
		}
		list := t.Engaged[:min(r.set.FolloweeTastes, len(t.Engaged))]
		common := 1.0
		for _, g := range list {
			if _, ok := seeds[g.Post]; ok {
				common++
			}
		}
		w := common / math.Sqrt(float64(max(1, len(list)))*float64(max(1, len(seeds))))
		s.total += w
		for _, g := range list {
			l := s.sums[g.Post]
			if l == nil {
				l = &liking{}
				s.sums[g.Post] = l
			}
			l.sum += w
			counts[g.Post]++
			if w > l.part {
				l.part, l.followee = w, r.followees[i]
			}
		}
	}
	hints := make([]hint, 0, len(s.sums))
	for id, l := range s.sums {
		hints = append(hints, hint{id: id, score: l.sum * math.Pow(counts[id], -r.set.SocialExponent)})
	}
	for _, h := range best(r, hints, r.set.SocialRecall) {
		p.add(h.id)
	}
}

func (s *social) describe(r *request, c *candidate) {
	if l := s.sums[c.id]; l != nil {
		c.features[featureSocial] = l.sum * math.Pow(c.n, -r.set.SocialExponent) / (s.total + 1)
		c.subjects[featureSocial] = feed.Reason{Kind: feed.ReasonFolloweeLiked, User: l.followee}
	}
}

// ----- authors -----

// authors recalls other posts of those whose posts the reader engaged with most.
type authors struct {
	shares map[feed.ID]float64 // of the seeds, by author
	seeds  map[feed.ID]feed.ID // the newest seed of each author
	best   []feed.ID
	lists  []*feed.ReadList
	posts  []feed.ID
}

func (*authors) name() string           { return SourceAuthor }
func (*authors) ask(*request) []feed.Op { return nil }
func (*authors) fail()                  {}
func (s *authors) failMore()            { s.lists = nil }

func (s *authors) askMore(r *request) []feed.Op {
	s.shares, s.seeds = make(map[feed.ID]float64), make(map[feed.ID]feed.ID)
	s.best, s.lists = nil, nil
	for i := range r.seeds {
		p := r.seeds[i].post
		if p == nil {
			continue
		}
		author := p.Author
		if r.seeds[i].id != r.seeds[i].was {
			author = p.OriginalAuthor
		}
		s.shares[author] += 1 / float64(len(r.seeds))
		if _, ok := s.seeds[author]; !ok {
			s.seeds[author] = r.seeds[i].was
			s.best = append(s.best, author)
		}
	}
	if r.set.Author == 0 {
		s.best = nil
	}
	// The sort is stable: of equals those engaged with last come first.
	slices.SortStableFunc(s.best, func(a, b feed.ID) int { return cmp.Compare(s.shares[b], s.shares[a]) })
	s.best = s.best[:min(r.set.Authors, len(s.best))]
	for _, author := range s.best {
		s.lists = append(s.lists, &feed.ReadList{
			List: feed.List{Kind: feed.Outbox, Owner: author}, Below: feed.Newest(), Limit: r.set.AuthorPosts,
		})
	}
	return ops(s.lists)
}

// fromRecord takes the posts of the authors, from the record where the hot data
// has no outbox that may be believed.
func (s *authors) fromRecord(ctx context.Context, r *request) {
	missing := slices.Clone(s.best)
	for _, l := range s.lists {
		if l.Valid(0) && (len(l.Entries) >= l.Limit || l.Floor.At == feed.Beginning) {
			for _, entry := range l.Entries {
				s.posts = append(s.posts, entry.ID)
			}
			missing = slices.DeleteFunc(missing, func(id feed.ID) bool { return id == l.List.Owner })
		}
	}
	if len(missing) == 0 {
		return
	}
	entries, err := r.e.Authors.Entries(ctx, missing, feed.Newest(), r.set.AuthorPosts*len(missing))
	if err != nil {
		r.lost(ctx, SourceAuthor, err)
		return
	}
	for _, entry := range entries {
		s.posts = append(s.posts, entry.ID)
	}
}

func (s *authors) recall(r *request, p *pool) {
	for _, id := range s.posts {
		if r.wanted(id) {
			p.add(id)
		}
	}
}

func (s *authors) describe(_ *request, c *candidate) {
	if share := s.shares[c.post.Author]; share > 0 {
		c.features[featureAuthor] = math.Sqrt(share)
		c.subjects[featureAuthor] = feed.Reason{Kind: feed.ReasonLikedSimilar, Post: s.seeds[c.post.Author]}
	}
}
