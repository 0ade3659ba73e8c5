package sqlite

import (
	"context"

	"feedgate/feed"
)

const insertLikes = "INSERT INTO likes (user, post, at, weight) VALUES "

// Like implements [feed.LikeRecord].
func (r *Record) Like(ctx context.Context, l feed.Like) (bool, error) {
	return r.edge(ctx, "Like", func(tx transaction) (int64, error) {
		return tx.exec(ctx, insertLikes+"(?, ?, ?, ?) ON CONFLICT DO NOTHING", l.User, l.Post, l.At, l.Weight)
	}, func(tx transaction) error { return bump(ctx, tx, postLikes, l.Post, 1) })
}

// Unlike implements [feed.LikeRecord].
func (r *Record) Unlike(ctx context.Context, user, post feed.ID) (bool, error) {
	return r.edge(ctx, "Unlike", func(tx transaction) (int64, error) {
		return tx.exec(ctx, "DELETE FROM likes WHERE user = ? AND post = ?", user, post)
	}, func(tx transaction) error { return bump(ctx, tx, postLikes, post, -1) })
}

// LikedAmong implements [feed.LikeRecord].
func (r *Record) LikedAmong(ctx context.Context, user feed.ID, posts []feed.ID) ([]feed.ID, error) {
	return listByID(ctx, r, "LikedAmong", distinct(posts), scanID,
		"SELECT l.post FROM json_each(?2) AS j CROSS JOIN likes AS l ON l.user = ?1 AND l.post = j.value", user)
}
