package recommend

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"sync"

	"feedgate/feed"
)

// seed is one post that the reader engaged with lately.
type seed struct {
	id   feed.ID // the post, or the original of a repost without words
	was  feed.ID // what the reader engaged with
	post *feed.Post
	n    float64 // engagements
}

// request is one reader's question on its way.
type request struct {
	e          *Engine
	q          feed.RecommendQuery
	rest       *feed.Rest
	set        Settings
	now        int64
	epoch      int64 // of the boards that are asked, 0 while nothing is learned
	seeds      []seed
	engaged    map[feed.ID]struct{} // all that the reader engaged with
	loaded     bool                 // the seeds' posts are known
	sources    []source
	followees  []feed.ID
	tastes     []*feed.Tastes // of the followees
	confidence float64
	popularN   float64 // the engagements of the most popular post that is known
	popularMax float64 // its score
}

func (e *Engine) newRequest(q feed.RecommendQuery) *request {
	rest := q.Rest
	if rest == nil {
		rest = &feed.Rest{Below: feed.Newest()}
	}
	r := &request{
		e: e, q: q, rest: rest, set: e.Settings, now: e.Clock.Now().UnixMilli(), epoch: e.epoch.Load(),
		engaged: make(map[feed.ID]struct{}, len(q.Tastes.Engaged)),
	}
	for _, g := range q.Tastes.Engaged {
		r.engaged[g.Post] = struct{}{}
		if len(r.seeds) < r.set.Seeds {
			r.seeds = append(r.seeds, seed{id: g.Post, was: g.Post, n: 1})
		}
	}
	r.followees = r.chooseFollowees()
	r.sources = []source{
		&similar{}, &topical{}, &social{}, &authors{}, &trending{}, &fresh{},
	}
	return r
}

// chooseFollowees gives those whose tastes are read: of many, always the same.
func (r *request) chooseFollowees() []feed.ID {
	if r.set.Social == 0 {
		return nil
	}
	var all []feed.ID
	for _, f := range r.q.Relations.Following {
		if r.q.Relations.Follows(f) {
			all = append(all, f)
		}
	}
	if len(all) > r.set.Followees {
		slices.SortFunc(all, func(a, b feed.ID) int { return compare(order(r.q.Reader, a), order(r.q.Reader, b)) })
		all = all[:r.set.Followees]
	}
	return all
}

// gather asks all sources. It returns false when the hot data answered none.
func (r *request) gather(ctx context.Context) bool {
	var all sync.WaitGroup
	var posts []*feed.Post
	var stats []*feed.Stats
	var errSeeds, errTastes error
	if len(r.seeds) > 0 {
		ids := make([]feed.ID, len(r.seeds))
		for i := range r.seeds {
			ids[i] = r.seeds[i].was
		}
		all.Go(func() { posts, stats, errSeeds = r.q.Load.LoadPosts(ctx, ids) })
	}
	if len(r.followees) > 0 {
		all.Go(func() { r.tastes, errTastes = r.q.Load.LoadTastes(ctx, r.followees) })
	}
	alive := r.askFirst(ctx)
	all.Wait()
	if errTastes != nil {
		r.lost(ctx, SourceSocial, errTastes)
		r.tastes = nil
	}
	if errSeeds != nil {
		r.lost(ctx, SourceSeeds, errSeeds)
	} else {
		r.takeSeeds(posts, stats)
	}
	if !alive {
		return false
	}
	s := float64(len(r.seeds))
	r.confidence = r.set.Confidence * s / (s + r.set.ConfidenceSeeds)
	r.askMore(ctx)
	return true
}

// takeSeeds notes what the seeds are. The reader's own posts are none.
func (r *request) takeSeeds(posts []*feed.Post, stats []*feed.Stats) {
	r.loaded = true
	kept := r.seeds[:0]
	had := make(map[feed.ID]struct{}, len(r.seeds))
	for i, s := range r.seeds {
		if p := posts[i]; p != nil {
			if p.Author == r.q.Reader {
				continue
			}
			s.post, s.n = p, engagements(stats[i])
			if p.RepostOf != 0 && !p.Quotes() {
				s.id, s.n = p.RepostOf, 1
				r.engaged[s.id] = struct{}{}
			}
		}
		if _, twice := had[s.id]; !twice {
			had[s.id] = struct{}{}
			kept = append(kept, s)
		}
	}
	r.seeds = kept
}

// counted is how many likes, comments and reposts a post has.
func counted(s *feed.Stats) float64 {
	if s == nil {
		return 0
	}
	return float64(max(0, s.Likes+s.Comments+s.Reposts))
}

// engagements is n: what is counted, but at least 1, to divide by.
func engagements(s *feed.Stats) float64 { return max(1, counted(s)) }

// askFirst is the first round trip. When the boards turn out to be others than
// those that were asked, it asks once more.
func (r *request) askFirst(ctx context.Context) bool {
	for try := 0; ; try++ {
		learning := &feed.ReadLearning{}
		asked := &state{op: learning}
		alive := r.ask(ctx, append([]asker{asked}, askers(r.sources)...))
		if asked.failed {
			return alive
		}
		epoch := learning.Learning.Serving
		if epoch == 0 {
			epoch = learning.Learning.Building // a part is better than nothing
		}
		was := r.epoch
		r.epoch = epoch
		r.e.epoch.Store(epoch)
		if epoch == was || epoch == 0 || try > 0 {
			return alive
		}
	}
}

// askMore is the second round trip: what only the seeds' posts tell.
func (r *request) askMore(ctx context.Context) {
	var more []asker
	for _, s := range r.sources {
		if m, ok := s.(further); ok {
			more = append(more, &second{of: s, further: m})
		}
	}
	r.ask(ctx, more)
	for _, s := range r.sources {
		if a, ok := s.(*authors); ok {
			a.fromRecord(ctx, r)
		}
	}
}

// asker is somebody with questions for a round trip.
type asker interface {
	name() string
	ask(r *request) []feed.Op
	fail() // what was asked has no answers
}

// ask sends the questions of all together, and when that fails each one's by
// themselves. It returns false when none had an answer.
func (r *request) ask(ctx context.Context, all []asker) bool {
	var ops []feed.Op
	for _, a := range all {
		ops = append(ops, a.ask(r)...)
	}
	if len(ops) == 0 || r.e.Hot.Do(ctx, ops...) == nil {
		return true
	}
	errs := make([]error, len(all))
	asked := make([]bool, len(all))
	var wg sync.WaitGroup
	for i, a := range all {
		if ops := a.ask(r); len(ops) > 0 {
			asked[i] = true
			wg.Go(func() { errs[i] = r.e.Hot.Do(ctx, ops...) })
		}
	}
	wg.Wait()
	alive := false
	for i, a := range all {
		switch {
		case errs[i] != nil:
			a.fail()
			r.lost(ctx, a.name(), errs[i])
		case asked[i]:
			alive = true
		}
	}
	return alive
}

// lost tells of a source that could not be asked.
func (r *request) lost(ctx context.Context, source string, err error) {
	r.e.Count(source)
	r.e.Log.DebugContext(ctx, "a source of recommendations could not be asked",
		slog.String("source", source), slog.Any("error", err))
}

// state asks which boards are in use.
type state struct {
	op     *feed.ReadLearning
	failed bool
}

func (*state) name() string             { return SourceLearning }
func (s *state) ask(*request) []feed.Op { return []feed.Op{s.op} }
func (s *state) fail()                  { s.failed = true }

// second is a source in the second round trip.
type second struct {
	further further
	of      source
}

func (s *second) name() string             { return s.of.name() }
func (s *second) ask(r *request) []feed.Op { return s.further.askMore(r) }
func (s *second) fail()                    { s.further.failMore() }

func askers(sources []source) []asker {
	all := make([]asker, len(sources))
	for i, s := range sources {
		all[i] = s
	}
	return all
}

// wanted reports whether a post may be recommended, as far as its id tells.
func (r *request) wanted(id feed.ID) bool {
	if _, ok := r.engaged[id]; ok {
		return false
	}
	return id != sentinel && (r.q.Skip == nil || !r.q.Skip(id))
}

// shows reports whether the reader may be shown p.
func (r *request) shows(p *feed.Post) bool {
	rel := r.q.Relations
	return p != nil && p.DeletedAt == 0 && p.Author != r.q.Reader &&
		!rel.Blocks.Has(p.Author) && !rel.BlockedBy.Has(p.Author) && !rel.Mutes.Has(p.Author) &&
		(p.RepostOf == 0 || p.Quotes() && !rel.Mutes.Has(p.OriginalAuthor))
}

// load loads the posts of candidates, and leaves those without one that may not be shown.
func (r *request) load(ctx context.Context, all []*candidate) error {
	if len(all) == 0 {
		return nil
	}
	ids := make([]feed.ID, len(all))
	for i, c := range all {
		ids[i] = c.id
	}
	posts, stats, err := r.q.Load.LoadPosts(ctx, ids)
	if err != nil {
		return err
	}
	for i, c := range all {
		if posts[i] != nil {
			c.counted, c.n = counted(stats[i]), engagements(stats[i])
			r.popularN = math.Max(r.popularN, c.n)
		}
		if r.shows(posts[i]) {
			c.post = posts[i]
		}
	}
	return nil
}
