package recommend

import (
	"cmp"
	"context"
	"slices"

	"feedgate/feed"
)

// The bounds of filling up once; the next time goes on below. Entries cost
// little; posts are loaded of those only that are wanted.
const (
	fillEntries = 12_000 // looked at by id
	fillPosts   = 2_000  // loaded, and at most a page more
	fillPage    = 1_000
)

// fill gives what follows the ranked posts: the trending board further down,
// then the newest posts in time order, and at the very end what the reader
// engaged with, at most want. With an error it gives what there is.
func (r *request) fill(ctx context.Context, p *pool, want int) ([]*candidate, error) {
	more := r.trendingOn(ctx, p, want)
	if len(more) >= want {
		return more, nil
	}
	recent, err := r.recent(ctx, p, want-len(more))
	return append(more, recent...), err
}

// trendingOn reads the whole trending board.
func (r *request) trendingOn(ctx context.Context, p *pool, want int) []*candidate {
	if r.epoch == 0 {
		return nil
	}
	board := &feed.ReadBoard{Board: trendingIn(r.epoch), Limit: r.set.TrendingKeep}
	if err := r.e.Hot.Do(ctx, board); err != nil {
		r.lost(ctx, SourceTrending, err)
		return nil
	}
	var more []*candidate
	for _, x := range board.Ranked {
		if _, had := p.byID[x.Post]; !had && r.wanted(x.Post) {
			more = append(more, p.add(x.Post))
		}
		if len(more) == 2*want { // some may not be shown
			break
		}
	}
	if err := r.load(ctx, more); err != nil {
		r.lost(ctx, SourceTrending, err)
		return nil
	}
	return r.following(more, feed.ReasonTrending, want)
}

// following are those of the candidates that may be shown, for a reason.
func (r *request) following(all []*candidate, kind feed.ReasonKind, want int) []*candidate {
	shown := make([]*candidate, 0, len(all))
	for _, c := range all {
		if c.post != nil && len(shown) < want {
			c.reason = feed.Reason{Kind: kind}
			shown = append(shown, c)
		}
	}
	return shown
}

// recent goes on with the record's posts in time order, newest first.
func (r *request) recent(ctx context.Context, p *pool, want int) ([]*candidate, error) {
	var out []*candidate
	rest, loaded := r.rest, 0
	for range fillEntries / fillPage {
		page, err := r.e.Recent.RecentPosts(ctx, rest.Below, fillPage)
		if err != nil {
			r.lost(ctx, SourceRecent, err)
			return out, err
		}
		last := len(page) < fillPage
		batch := make([]*candidate, 0, len(page))
		places := make([]feed.Position, 0, len(page))
		for _, entry := range page {
			if _, had := p.byID[entry.ID]; !had && r.wanted(entry.ID) {
				batch = append(batch, &candidate{id: entry.ID})
				places = append(places, entry.Position())
			}
		}
		if err := r.load(ctx, batch); err != nil {
			r.lost(ctx, SourceRecent, err)
			return out, err
		}
		for i, c := range batch {
			if more := r.following(batch[i:i+1], feed.ReasonFresh, 1); len(more) > 0 {
				out = append(out, c)
			}
			if len(out) == want {
				rest.Below = places[i]
				return out, nil
			}
		}
		if len(page) > 0 {
			rest.Below = page[len(page)-1].Position()
		}
		if last {
			known, err := r.known(ctx, want-len(out))
			rest.Done = err == nil && len(out)+len(known) < want
			return append(out, known...), err
		}
		if loaded += len(batch); loaded >= fillPosts {
			break
		}
	}
	return out, nil
}

// known gives what the reader engaged with, newest first: it comes at the very end.
func (r *request) known(ctx context.Context, want int) ([]*candidate, error) {
	var engaged []*candidate
	for id := range r.engaged {
		if r.q.Skip == nil || !r.q.Skip(id) {
			engaged = append(engaged, &candidate{id: id})
		}
	}
	slices.SortFunc(engaged, func(a, b *candidate) int { return cmp.Compare(b.id, a.id) })
	if err := r.load(ctx, engaged); err != nil {
		r.lost(ctx, SourceRecent, err)
		return nil, err
	}
	return r.following(engaged, feed.ReasonFresh, want), nil
}

// recentOnly is the answer when nothing else can be asked.
func (r *request) recentOnly(ctx context.Context) ([]feed.Recommendation, error) {
	posts, err := r.recent(ctx, newPool(), r.q.Limit)
	if err != nil && len(posts) == 0 {
		return nil, err
	}
	out := make([]feed.Recommendation, len(posts))
	for i, c := range posts {
		out[i] = feed.Recommendation{Post: c.id, Reason: c.reason}
	}
	return out, nil
}
