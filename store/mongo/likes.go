package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"feedgate/feed"
)

// likeDoc is a document of likes.
type likeDoc struct {
	ID     string  `bson:"_id"`
	User   feed.ID `bson:"user"`
	Post   feed.ID `bson:"post"`
	At     int64   `bson:"at"`
	Weight int64   `bson:"weight"`
}

func likeDocOf(l feed.Like) likeDoc {
	return likeDoc{ID: pair(l.User, l.Post), User: l.User, Post: l.Post, At: l.At, Weight: l.Weight}
}

func (r *Record) countLike(ctx context.Context, post feed.ID, by int64) error {
	_, err := r.posts.UpdateOne(ctx, byID(post), inc(bson.E{Key: countLikes, Value: by}))
	return err
}

// Like implements [feed.LikeRecord].
func (r *Record) Like(ctx context.Context, l feed.Like) (bool, error) {
	if err := r.markDirty(ctx, feed.NodeID{Kind: feed.NodePost, ID: l.Post}); err != nil {
		return false, unavailable("Like", err)
	}
	inserted, err := insert(ctx, r.likes, likeDocOf(l))
	if err == nil && inserted {
		err = r.countLike(ctx, l.Post, 1)
	}
	if err != nil {
		return false, unavailable("Like", err)
	}
	return inserted, nil
}

// Unlike implements [feed.LikeRecord].
func (r *Record) Unlike(ctx context.Context, user, post feed.ID) (bool, error) {
	if err := r.markDirty(ctx, feed.NodeID{Kind: feed.NodePost, ID: post}); err != nil {
		return false, unavailable("Unlike", err)
	}
	done, err := r.likes.DeleteOne(ctx, byID(pair(user, post)))
	if err == nil && done.DeletedCount == 1 {
		err = r.countLike(ctx, post, -1)
	}
	if err != nil {
		return false, unavailable("Unlike", err)
	}
	return done.DeletedCount == 1, nil
}

// LikedAmong implements [feed.LikeRecord].
func (r *Record) LikedAmong(ctx context.Context, user feed.ID, posts []feed.ID) ([]feed.ID, error) {
	var found []feed.ID
	for part := range slices.Chunk(distinct(posts), chunk) {
		ids := make([]string, len(part))
		for i, post := range part {
			ids[i] = pair(user, post)
		}
		docs, err := find[likeDoc](ctx, r.likes, bson.D{among("_id", ids)}, everything().SetProjection(only("post")))
		if err != nil {
			return nil, unavailable("LikedAmong", err)
		}
		for i := range docs {
			found = append(found, docs[i].Post)
		}
	}
	return found, nil
}
