package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"feedgate/feed"
)

// comment is a comment as it is kept with its post.
type comment struct {
	ID     feed.ID `json:"id"`
	Author feed.ID `json:"author"`
	At     int64   `json:"at"`
	Text   string  `json:"text"`
}

func encodeFirst(comments []feed.Comment) (string, error) {
	if len(comments) == 0 {
		return "", nil
	}
	kept := make([]comment, len(comments))
	for i, c := range comments {
		kept[i] = comment{ID: c.ID, Author: c.Author, At: c.At, Text: c.Text}
	}
	b, err := json.Marshal(kept)
	if err != nil {
		return "", fmt.Errorf("first comments: %w", err)
	}
	return string(b), nil
}

func decodeFirst(b []byte, post feed.ID) ([]feed.Comment, error) {
	var kept []comment
	if err := json.Unmarshal(b, &kept); err != nil {
		return nil, fmt.Errorf("post %s: first comments: %w", post, err)
	}
	comments := make([]feed.Comment, len(kept))
	for i, c := range kept {
		comments[i] = feed.Comment{ID: c.ID, Post: post, Author: c.Author, At: c.At, Text: c.Text}
	}
	return comments, nil
}

func scanComment(rows *sql.Rows) (c feed.Comment, err error) {
	return c, rows.Scan(&c.ID, &c.Post, &c.Author, &c.At, &c.Text)
}

const commentsAbove = `SELECT id, post, author, at, text FROM comments
	WHERE post = ? AND deleted_at = 0 AND (at, id) > (?, ?) ORDER BY at, id LIMIT ? + 0`

// firstComments reads a post's oldest comments as they are kept with it.
func firstComments(ctx context.Context, from source, post feed.ID) (string, error) {
	oldest, err := collect(ctx, from, scanComment, commentsAbove, post, 0, 0, feed.FirstComments)
	if err != nil {
		return "", err
	}
	return encodeFirst(oldest)
}

// countComment counts a comment with its post and refreshes the first ones.
func countComment(ctx context.Context, tx transaction, post feed.ID, by int64) error {
	if err := bump(ctx, tx, postComments, post, by); err != nil {
		return err
	}
	oldest, err := firstComments(ctx, tx, post)
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, "UPDATE posts SET first = ?1 WHERE id = ?2 AND first <> ?1", oldest, post)
	return err
}

// InsertComment implements [feed.CommentRecord].
func (r *Record) InsertComment(ctx context.Context, c feed.Comment) (bool, error) {
	return r.edge(ctx, "InsertComment", func(tx transaction) (int64, error) {
		return tx.exec(ctx, "INSERT INTO comments (id, post, author, at, text) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			c.ID, c.Post, c.Author, c.At, c.Text)
	}, func(tx transaction) error { return countComment(ctx, tx, c.Post, 1) })
}

// CommentsByID implements [feed.CommentRecord].
func (r *Record) CommentsByID(ctx context.Context, ids []feed.ID) ([]feed.Comment, error) {
	return listByID(ctx, r, "CommentsByID", distinct(ids), scanComment,
		`SELECT c.id, c.post, c.author, c.at, c.text FROM json_each(?) AS j
		CROSS JOIN comments AS c ON c.id = j.value WHERE c.deleted_at = 0`)
}

// DeleteComment implements [feed.CommentRecord].
func (r *Record) DeleteComment(ctx context.Context, id feed.ID, at int64) (bool, error) {
	deleted := false
	err := r.change(ctx, "DeleteComment", func(tx transaction) error {
		var post feed.ID
		post, ok, err := first(ctx, tx, scanID,
			"UPDATE comments SET deleted_at = ? WHERE id = ? AND deleted_at = 0 RETURNING post", at, id)
		if err != nil {
			return err
		}
		if ok {
			deleted = true
			return countComment(ctx, tx, post, -1)
		}
		if _, ok, err = first(ctx, tx, scanID, "SELECT id FROM comments WHERE id = ?", id); err == nil && !ok {
			return feed.NotFound("comment")
		}
		return err
	})
	return deleted && err == nil, err
}

// Comments implements [feed.CommentRecord].
func (r *Record) Comments(ctx context.Context, post feed.ID, above feed.Position, limit int) ([]feed.Comment, error) {
	return list(ctx, r, "Comments", scanComment, commentsAbove, post, above.At, above.ID, max(0, limit))
}
