package recommend

import (
	"context"

	"feedgate/feed"
)

// The bounds of filling up: all that a session holds and a reader may have
// viewed, and then some. Entries cost little; posts are loaded of those only
// that are wanted.
const (
	fillEntries = 12_000 // of the newest posts, looked at by id
	fillPosts   = 2_000  // loaded
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

// recent reads the newest posts in time order.
func (r *request) recent(ctx context.Context, p *pool, want int) ([]*candidate, error) {
	var out, engaged []*candidate
	below := feed.Newest()
	loaded := 0
	for range fillEntries / fillPage {
		page, err := r.e.Recent.RecentPosts(ctx, below, fillPage)
		if err != nil {
			r.lost(ctx, SourceRecent, err)
			return out, err
		}
		var batch []*candidate
		for _, entry := range page {
			if r.q.Skip != nil && r.q.Skip(entry.ID) {
				continue
			}
			if _, ok := r.engaged[entry.ID]; ok {
				engaged = append(engaged, &candidate{id: entry.ID})
			} else if _, had := p.byID[entry.ID]; !had && loaded+len(batch) < fillPosts {
				batch = append(batch, &candidate{id: entry.ID})
			}
		}
		if err := r.load(ctx, batch); err != nil {
			r.lost(ctx, SourceRecent, err)
			return out, err
		}
		loaded += len(batch)
		out = append(out, r.following(batch, feed.ReasonFresh, want-len(out))...)
		if len(out) >= want || loaded >= fillPosts {
			return out, nil
		}
		if len(page) < fillPage {
			break
		}
		below = page[len(page)-1].Position()
	}
	if err := r.load(ctx, engaged); err != nil {
		return out, err
	}
	return append(out, r.following(engaged, feed.ReasonFresh, want-len(out))...), nil
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
