package resolvers

import (
	"context"

	"feedgate/feed"
	"feedgate/feed/live"
	"feedgate/graph/model"
	"feedgate/graph/plan"
	"feedgate/loaders"
)

type redDot struct{ *Root }

// FeedCount gives how many posts are new.
func (redDot) FeedCount(_ context.Context, d *live.State) (int, error) {
	return d.Count, model.DotError(d)
}

// FeedCountCapped tells whether there are more.
func (redDot) FeedCountCapped(_ context.Context, d *live.State) (bool, error) {
	return d.Capped, model.DotError(d)
}

// NoticeCount gives how many notices are new.
func (redDot) NoticeCount(_ context.Context, d *live.State) (int, error) {
	return d.Notices, model.DotError(d)
}

// ChangedAt gives when the state came about, in ms.
func (redDot) ChangedAt(_ context.Context, d *live.State) (int64, error) {
	return d.At, model.DotError(d)
}

// NewestPost shows the newest new post; nil when there is none.
func (r redDot) NewestPost(ctx context.Context, d *live.State) (*model.Post, error) {
	if d.Err != nil {
		return nil, model.DotError(d)
	}
	return r.ShowNewest(ctx, d, r.Plans.Of(ctx, plan.Post))
}

// deriveDot derives the reader's red dot.
func (r *Root) deriveDot(ctx context.Context) (*live.State, error) {
	d, err := r.Service.RedDot(ctx, reader(ctx))
	if err != nil {
		return nil, err
	}
	n, capped := d.Count()
	state := &live.State{Count: n, Capped: capped, Notices: d.Notices, At: r.now()}
	if n > 0 {
		state.Newest = unread(d.Unseen[0])
	}
	return state, nil
}

// dotBeside derives the red dot beside something else, if it is asked for. The
// function that it returns waits for it.
func (r *Root) dotBeside(ctx context.Context, asked *plan.Selection) func() model.RedDot {
	var d model.RedDot
	if asked.RedDot() == nil {
		return func() model.RedDot { return d }
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Err = guarded(func() (err error) {
			d.State, err = r.deriveDot(ctx)
			return err
		})
	}()
	return func() model.RedDot {
		<-done
		return d
	}
}

// unread is a page that names a post and holds nothing of it, not even who is
// in it: it is loaded when somebody asks for it.
func unread(u feed.Unseen) *feed.Page {
	return &feed.Page{Items: []feed.Item{{Post: &feed.Post{ID: u.ID, Author: u.Author, At: u.At}}}}
}

func isUnread(p *feed.Page) bool { return p.Users == nil }

// ShowNewest shows the newest post of a red dot. States of subscriptions come
// with a card that is loaded once for all: what never changes is shown from
// it, and what may have changed since is loaded, for all that ask at the same
// time together.
func (r *Root) ShowNewest(ctx context.Context, d *live.State, asked *plan.Selection) (*model.Post, error) {
	if d.Newest == nil || len(d.Newest.Items) == 0 {
		return nil, nil //nolint:nilnil // GraphQL's null
	}
	id := d.Newest.Items[0].Post.ID
	if isUnread(d.Newest) {
		return r.visiblePost(ctx, id, asked.Need)
	}
	card := d.Newest
	if !asked.Lasting() {
		var err error
		if card, err = r.Cards.Load(ctx, id); err != nil {
			return nil, unless(feed.CodeNotFound, err)
		}
	}
	return r.showCard(ctx, card, asked.Need), nil
}

// cardParts are what a card holds.
const cardParts = model.PartUsers | model.PartStats | model.PartOriginal

// showCard shows the post of a card, and loads what the card does not hold.
func (r *Root) showCard(ctx context.Context, card *feed.Page, need model.Part) *model.Post {
	if need.Has(model.PartComments) { // their authors may be hidden from this reader
		return r.showPosts(ctx, card.Items[:1], need)[0]
	}
	shelf := r.shelf(ctx)
	shelf.Users = card.Users
	shelf.Loaded = need & cardParts
	if rest := need &^ cardParts; rest != 0 {
		it := &card.Items[0]
		ids, people := []feed.ID{it.Post.ID}, []feed.ID{it.Post.Author}
		if it.Original != nil {
			ids, people = append(ids, it.Original.ID), append(people, it.Original.Author)
		}
		l := &load{Root: r, shelf: shelf, need: rest, set: loaders.From(ctx), alone: alone(ctx)}
		l.relations(ctx)
		l.opinions(ctx, feed.NewIDSet(ids))
		l.people(ctx, feed.NewIDSet(people))
		l.wg.Wait()
	}
	return posts(card.Items[:1], shelf)[0].Post
}
