package resolvers

import (
	"context"
	"fmt"

	"feedgate/feed"
	"feedgate/graph/model"
	"feedgate/graph/plan"
)

// maxExcluded is how many posts recommendFeed leaves out on demand.
const maxExcluded = 100

// RecommendFeed reads a page of what may be worth the reader's while.
func (q query) RecommendFeed(ctx context.Context, first *int, after *string, exclude []string) (*model.RecommendFeedConnection, error) {
	n, err := feed.PageSize(first)
	if err != nil {
		return nil, err
	}
	var mark *feed.SessionMark
	if after != nil {
		m, err := feed.DecodeSessionMark(*after)
		if err != nil {
			return nil, err
		}
		mark = &m
	}
	out, err := postIDs("exclude", exclude, maxExcluded)
	if err != nil {
		return nil, err
	}
	var page *feed.RecommendPage
	c, _, err := q.connection(ctx, list{feed.CursorRecommend, after, func(w feed.Want) (*feed.Page, error) {
		var err error
		if page, err = q.Service.RecommendFeed(ctx, reader(ctx), n, mark, out, w); err != nil {
			return nil, err
		}
		return &page.Page, nil
	}}, q.needs(ctx, plan.RecommendFeedConnection))
	if err != nil {
		return nil, err
	}
	c.Page.Session = page.EndMark.Session
	c.Page.End = feed.Position{At: int64(page.EndMark.Offset)}
	for i := range c.Posts {
		c.Posts[i].At = feed.Position{At: int64(page.Marks[i].Offset)}
	}
	return &model.RecommendFeedConnection{PostConnection: c, Reasons: page.Reasons}, nil
}

// postIDs reads a list of posts' ids. BAD_USER_INPUT (with the field).
func postIDs(field string, ids []string, most int) ([]feed.ID, error) {
	if len(ids) > most {
		return nil, feed.BadInput(field, fmt.Sprintf("%s takes at most %d posts, these are %d", field, most, len(ids)))
	}
	posts := make([]feed.ID, len(ids))
	for i, id := range ids {
		var err error
		if posts[i], err = parseID(field, feed.NodePost, id); err != nil {
			return nil, err
		}
	}
	return posts, nil
}

// RecordViews notes which posts the reader has viewed.
func (m mutation) RecordViews(ctx context.Context, in model.RecordViewsInput) (*model.RecordViewsPayload, error) {
	ids, err := postIDs("postIds", in.PostIds, feed.MaxViewed)
	if err != nil {
		return nil, err
	}
	n, err := m.Service.RecordViews(ctx, reader(ctx), ids)
	if err != nil {
		return nil, err
	}
	return &model.RecordViewsPayload{Recorded: int64(n)}, nil
}

type recommendReason struct{ *Root }

// Post gives the post that a recommendation goes with; nil when there is none
// or the reader can't see it.
func (r recommendReason) Post(ctx context.Context, why *model.RecommendReason) (*model.Post, error) {
	if why.Data.Post == 0 {
		return nil, nil //nolint:nilnil // GraphQL's null
	}
	return r.postByID(ctx, why.Data.Post)
}

// User gives whose like made the recommendation; nil when there is none.
func (r recommendReason) User(ctx context.Context, why *model.RecommendReason) (*model.User, error) {
	if why.Data.User == 0 {
		return nil, nil //nolint:nilnil // GraphQL's null
	}
	return r.userByID(ctx, why.Data.User)
}
