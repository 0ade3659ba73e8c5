package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"feedgate/feed"
)

// commentDoc is a document of comments.
type commentDoc struct {
	ID        feed.ID `bson:"_id"`
	Post      feed.ID `bson:"post"`
	Author    feed.ID `bson:"author"`
	At        int64   `bson:"at"`
	Text      string  `bson:"text"`
	DeletedAt int64   `bson:"deletedAt"`
}

func comments(docs []commentDoc) []feed.Comment {
	all := make([]feed.Comment, len(docs))
	for i, d := range docs {
		all[i] = feed.Comment{ID: d.ID, Post: d.Post, Author: d.Author, At: d.At, Text: d.Text}
	}
	return all
}

// countComment counts a comment that was written or deleted, and refreshes
// the first ones. Of writers that race, each raises the revision after its own
// write and reads after that, and only the last one's reading is stored: it has
// seen them all.
func (r *Record) countComment(ctx context.Context, post feed.ID, by int64) error {
	doc, ok, err := decoded[postDoc](r.posts.FindOneAndUpdate(ctx, byID(post),
		inc(bson.E{Key: countComments, Value: by}, bson.E{Key: "firstRev", Value: int64(1)}),
		options.FindOneAndUpdate().SetReturnDocument(options.After)))
	if err != nil || !ok {
		return err
	}
	oldest, err := r.firstComments(ctx, post)
	if err != nil {
		return err
	}
	_, err = r.posts.UpdateOne(ctx, append(byID(post), bson.E{Key: "firstRev", Value: doc.FirstRev}),
		set(bson.E{Key: "first", Value: oldest}))
	return err
}

// firstComments reads a post's oldest comments as they are kept with it.
func (r *Record) firstComments(ctx context.Context, post feed.ID) ([]firstDoc, error) {
	docs, err := find[commentDoc](ctx, r.comments, bson.D{{Key: "post", Value: post}, standing()},
		firstOf(feed.FirstComments, oldestFirst()))
	if err != nil {
		return nil, err
	}
	oldest := make([]firstDoc, len(docs))
	for i, d := range docs {
		oldest[i] = firstDoc{ID: d.ID, Author: d.Author, At: d.At, Text: d.Text}
	}
	return oldest, nil
}

func oldestFirst() bson.D {
	return bson.D{{Key: "at", Value: int32(1)}, {Key: "_id", Value: int32(1)}}
}

// InsertComment implements [feed.CommentRecord].
func (r *Record) InsertComment(ctx context.Context, c feed.Comment) (bool, error) {
	if err := r.markDirty(ctx, feed.NodeID{Kind: feed.NodePost, ID: c.Post}); err != nil {
		return false, unavailable("InsertComment", err)
	}
	inserted, err := insert(ctx, r.comments, commentDoc{ID: c.ID, Post: c.Post, Author: c.Author, At: c.At, Text: c.Text})
	if err == nil && inserted {
		err = r.countComment(ctx, c.Post, 1)
	}
	if err != nil {
		return false, unavailable("InsertComment", err)
	}
	return inserted, nil
}

// CommentsByID implements [feed.CommentRecord].
func (r *Record) CommentsByID(ctx context.Context, ids []feed.ID) ([]feed.Comment, error) {
	docs, err := findByID[commentDoc](ctx, r.comments, ids, nil, standing())
	if err != nil {
		return nil, unavailable("CommentsByID", err)
	}
	return comments(docs), nil
}

// DeleteComment implements [feed.CommentRecord].
func (r *Record) DeleteComment(ctx context.Context, id feed.ID, at int64) (bool, error) {
	comment, ok, err := findOne[commentDoc](ctx, r.comments, byID(id), only("post", "deletedAt"))
	switch {
	case err != nil:
		return false, unavailable("DeleteComment", err)
	case !ok:
		return false, feed.NotFound("comment")
	case comment.DeletedAt != 0:
		return false, nil
	}
	if err := r.markDirty(ctx, feed.NodeID{Kind: feed.NodePost, ID: comment.Post}); err != nil {
		return false, unavailable("DeleteComment", err)
	}
	done, err := r.comments.UpdateOne(ctx, append(byID(id), standing()), set(bson.E{Key: "deletedAt", Value: at}))
	if err == nil && done.MatchedCount == 1 {
		err = r.countComment(ctx, comment.Post, -1)
	}
	if err != nil {
		return false, unavailable("DeleteComment", err)
	}
	return done.MatchedCount == 1, nil
}

// Comments implements [feed.CommentRecord].
func (r *Record) Comments(ctx context.Context, post feed.ID, above feed.Position, limit int) ([]feed.Comment, error) {
	if limit <= 0 {
		return nil, nil
	}
	read := func(docs *[]commentDoc, conditions ...bson.E) func() error {
		return func() (err error) {
			*docs, err = find[commentDoc](ctx, r.comments, append(bson.D{{Key: "post", Value: post}, standing()}, conditions...),
				firstOf(limit, oldestFirst()))
			return err
		}
	}
	var same, later []commentDoc
	err := together(
		read(&same, bson.E{Key: "at", Value: above.At}, bson.E{Key: "_id", Value: bson.D{{Key: "$gt", Value: above.ID}}}),
		read(&later, bson.E{Key: "at", Value: bson.D{{Key: "$gt", Value: above.At}}}))
	if err != nil {
		return nil, unavailable("Comments", err)
	}
	all := slices.Concat(same, later)
	return comments(all[:min(limit, len(all))]), nil
}
