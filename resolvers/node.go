package resolvers

import (
	"context"

	"feedgate/feed"
	"feedgate/graph/model"
	"feedgate/graph/plan"
	"feedgate/loaders"
)

// fetch brings objects of any kind, at the indexes of their ids; nil for those
// that the reader can't see.
func (r *Root) fetch(ctx context.Context, ids []feed.NodeID) ([]model.Node, error) {
	byKind := make(map[feed.NodeKind][]feed.ID, 3)
	for _, n := range ids {
		byKind[n.Kind] = append(byKind[n.Kind], n.ID)
	}
	found := make(map[feed.NodeID]model.Node, len(ids))
	if err := r.fetchPosts(ctx, feed.NewIDSet(byKind[feed.NodePost]), found); err != nil {
		return nil, err
	}
	if err := r.fetchUsers(ctx, feed.NewIDSet(byKind[feed.NodeUser]), found); err != nil {
		return nil, err
	}
	if err := r.fetchComments(ctx, feed.NewIDSet(byKind[feed.NodeComment]), found); err != nil {
		return nil, err
	}
	nodes := make([]model.Node, len(ids))
	for i, n := range ids {
		nodes[i] = found[n]
	}
	return nodes, nil
}

func (r *Root) fetchPosts(ctx context.Context, ids []feed.ID, found map[feed.NodeID]model.Node) error {
	if len(ids) == 0 {
		return nil
	}
	loaded, err := loaders.From(ctx).Posts.All(ctx, ids)
	if err != nil {
		return err
	}
	items := make([]feed.Item, len(loaded))
	for i, it := range loaded {
		items[i] = *it
	}
	for _, p := range r.showPosts(ctx, items, r.needs(ctx, plan.Post)) {
		if p != nil {
			found[p.ID()] = p
		}
	}
	return nil
}

func (r *Root) fetchUsers(ctx context.Context, ids []feed.ID, found map[feed.NodeID]model.Node) error {
	if len(ids) == 0 {
		return nil
	}
	shelf := r.showUsers(ctx, ids, r.needs(ctx, plan.User))
	for _, id := range ids {
		u, err := shelf.User(id)
		if err != nil {
			return err
		}
		if u != nil {
			found[u.ID()] = u
		}
	}
	return nil
}

func (r *Root) fetchComments(ctx context.Context, ids []feed.ID, found map[feed.NodeID]model.Node) error {
	if len(ids) == 0 {
		return nil
	}
	loaded, err := loaders.From(ctx).Comments.All(ctx, ids)
	if err != nil {
		return err
	}
	var comments []feed.Comment
	for _, c := range loaded {
		if c != nil {
			comments = append(comments, *c)
		}
	}
	shelf := r.showAuthors(ctx, comments, r.needs(ctx, plan.Comment))
	for i := range comments {
		c := &model.Comment{Data: &comments[i], Shelf: shelf}
		found[c.ID()] = c
	}
	return nil
}
