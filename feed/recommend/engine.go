package recommend

import (
	"context"
	"log/slog"
	"sync/atomic"

	"feedgate/feed"
)

// RecentRecord tells which posts are the newest. It is part of [feed.TasteRecord].
type RecentRecord interface {
	RecentPosts(ctx context.Context, below feed.Position, limit int) ([]feed.Entry, error)
}

// AuthorRecord tells which posts of authors are the newest. It is part of
// [feed.PostRecord].
type AuthorRecord interface {
	Entries(ctx context.Context, authors []feed.ID, below feed.Position, limit int) ([]feed.Entry, error)
}

// Config is what an Engine is made of. Count is optional.
type Config struct {
	Hot      feed.Hot
	Recent   RecentRecord
	Authors  AuthorRecord
	Clock    feed.Clock
	Log      *slog.Logger
	Settings Settings
	// Count is told the name of each source that could not be asked: those of
	// [SourceNames]. It is called from many goroutines and must not block.
	Count func(source string)
}

// The names of the sources, as Count is told them.
const (
	SourceSimilar  = "similar"
	SourceSocial   = "social"
	SourceTopic    = "topic"
	SourceAuthor   = "author"
	SourceTrending = "trending"
	SourceFresh    = "fresh"
	SourceRecent   = "recent" // the record's newest posts, which fill up what the others leave
	SourceLearning = "learning"
	SourceSeeds    = "seeds" // the posts that the reader engaged with
)

// SourceNames returns the names that Count may be told.
func SourceNames() []string {
	return []string{
		SourceSimilar, SourceSocial, SourceTopic, SourceAuthor, SourceTrending, SourceFresh,
		SourceRecent, SourceLearning, SourceSeeds,
	}
}

// Engine recommends posts. It holds no state but the epoch that it saw last.
type Engine struct {
	Config
	epoch atomic.Int64
}

var _ feed.Recommender = (*Engine)(nil)

// New makes an Engine.
func New(c Config) *Engine {
	if c.Count == nil {
		c.Count = func(string) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Engine{Config: c}
}

// Recommend implements [feed.Recommender]. What could not be asked is left out
// and counted; when no source answers, the newest posts come in time order. It
// fails, with UNAVAILABLE, only when posts can be loaded neither way.
func (e *Engine) Recommend(ctx context.Context, q feed.RecommendQuery) ([]feed.Recommendation, error) {
	if q.Limit <= 0 {
		return nil, nil
	}
	r := e.newRequest(q)
	if !r.gather(ctx) {
		return r.recentOnly(ctx)
	}
	p := newPool()
	for _, s := range r.sources {
		s.recall(r, p)
	}
	if err := r.load(ctx, p.all); err != nil {
		return nil, err
	}
	ranked := r.rank(p)
	if len(ranked) < q.Limit {
		more, err := r.fill(ctx, p, q.Limit-len(ranked))
		if err != nil && len(ranked)+len(more) == 0 {
			return nil, err
		}
		ranked = append(ranked, more...)
	}
	spaced := e.Settings.space(ranked, q.Limit)
	out := make([]feed.Recommendation, len(spaced))
	for i, c := range spaced {
		out[i] = feed.Recommendation{Post: c.id, Reason: c.reason}
	}
	return out, nil
}
