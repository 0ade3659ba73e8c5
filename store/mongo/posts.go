package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"feedgate/feed"
)

// standing is for what is not deleted.
func standing() bson.E { return bson.E{Key: "deletedAt", Value: int64(0)} }

// StampPost implements [feed.PostRecord]. The first command moves the author's
// last stamp up to now. Where it stood there or above already, the second one
// raises it by one. Each value that the field takes is thus given out once.
func (r *Record) StampPost(ctx context.Context, author feed.ID, now int64) (feed.Stamp, error) {
	before, ok, err := decoded[userDoc](r.users.FindOneAndUpdate(ctx, byID(author),
		bson.D{{Key: "$max", Value: bson.D{{Key: "lastPostAt", Value: now}}}},
		options.FindOneAndUpdate().SetReturnDocument(options.Before)))
	if err == nil && ok && before.LastPostAt < now {
		return feed.Stamp{At: now, Followers: before.Counters.Followers}, nil
	}
	after := before
	if err == nil && ok {
		after, ok, err = decoded[userDoc](r.users.FindOneAndUpdate(ctx, byID(author),
			inc(bson.E{Key: "lastPostAt", Value: int64(1)}),
			options.FindOneAndUpdate().SetReturnDocument(options.After)))
	}
	switch {
	case err != nil:
		return feed.Stamp{}, unavailable("StampPost", err)
	case !ok:
		return feed.Stamp{}, feed.NotFound("user")
	}
	return feed.Stamp{At: after.LastPostAt, Followers: after.Counters.Followers}, nil
}

// InsertPost implements [feed.PostRecord].
func (r *Record) InsertPost(ctx context.Context, p feed.Post, d feed.Duty) (bool, error) {
	if err := r.markDirty(ctx, derivedFrom(p.Author, p.RepostOf)...); err != nil {
		return false, unavailable("InsertPost", err)
	}
	inserted, err := insert(ctx, r.posts, postDocOf(p, &d))
	if err == nil && inserted {
		err = r.countPost(ctx, p.Author, p.RepostOf, 1)
	}
	if err != nil {
		return false, unavailable("InsertPost", err)
	}
	return inserted, nil
}

// derivedFrom names whose counters a post changes.
func derivedFrom(author, original feed.ID) []feed.NodeID {
	nodes := []feed.NodeID{{Kind: feed.NodeUser, ID: author}}
	if original != 0 {
		nodes = append(nodes, feed.NodeID{Kind: feed.NodePost, ID: original})
	}
	return nodes
}

// countPost counts a post with its author and its original.
func (r *Record) countPost(ctx context.Context, author, original feed.ID, by int64) error {
	counts := []func() error{func() error {
		_, err := r.users.UpdateOne(ctx, byID(author), inc(bson.E{Key: countPosts, Value: by}))
		return err
	}}
	if original != 0 {
		counts = append(counts, func() error {
			_, err := r.posts.UpdateOne(ctx, byID(original), inc(bson.E{Key: countReposts, Value: by}))
			return err
		})
	}
	return together(counts...)
}

// PostsByID implements [feed.PostRecord].
func (r *Record) PostsByID(ctx context.Context, ids []feed.ID) ([]feed.PostRow, error) {
	docs, err := findByID[postDoc](ctx, r.posts, ids, nil)
	if err != nil {
		return nil, unavailable("PostsByID", err)
	}
	rows := make([]feed.PostRow, len(docs))
	for i := range docs {
		rows[i] = docs[i].row()
	}
	return rows, nil
}

// DeletePost implements [feed.PostRecord].
func (r *Record) DeletePost(ctx context.Context, id feed.ID, at int64) (bool, error) {
	post, ok, err := findOne[postDoc](ctx, r.posts, byID(id), only("author", "repostOf", "deletedAt"))
	switch {
	case err != nil:
		return false, unavailable("DeletePost", err)
	case !ok:
		return false, feed.NotFound("post")
	case post.DeletedAt != 0:
		return false, nil
	}
	if err := r.markDirty(ctx, derivedFrom(post.Author, post.RepostOf)...); err != nil {
		return false, unavailable("DeletePost", err)
	}
	done, err := r.posts.UpdateOne(ctx, append(byID(id), standing()),
		append(set(bson.E{Key: "deletedAt", Value: at}), bson.E{Key: "$unset", Value: bson.D{{Key: "duty", Value: ""}}}))
	if err == nil && done.MatchedCount == 1 {
		err = r.countPost(ctx, post.Author, post.RepostOf, -1)
	}
	if err != nil {
		return false, unavailable("DeletePost", err)
	}
	return done.MatchedCount == 1, nil
}

// RepostedAmong implements [feed.PostRecord].
func (r *Record) RepostedAmong(ctx context.Context, user feed.ID, originals []feed.ID) ([]feed.ID, error) {
	var found []feed.ID
	for part := range slices.Chunk(distinct(originals), chunk) {
		docs, err := find[postDoc](ctx, r.posts,
			bson.D{among("repostOf", part), {Key: "author", Value: user}, standing()}, everything().SetProjection(only("repostOf")))
		if err != nil {
			return nil, unavailable("RepostedAmong", err)
		}
		for i := range docs {
			found = append(found, docs[i].RepostOf)
		}
	}
	return feed.NewIDSet(found), nil
}
