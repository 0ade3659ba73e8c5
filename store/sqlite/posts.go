package sqlite

import (
	"context"
	"database/sql"

	"feedgate/feed"
)

const postColumns = `p.id, p.author, p.at, p.kind, p.text, p.detail, p.repost_of, p.original_author,
	p.latitude, p.longitude, p.precision, p.attributes, p.deleted_at,
	p.likes, p.comments, p.reposts, p.first, p.state, p.total, p.delivered`

func scanPost(rows *sql.Rows) (feed.PostRow, error) {
	var (
		p                   feed.PostRow
		details, firstOnes  sql.RawBytes
		attributes          []byte
		latitude, longitude float64
		precision           feed.Precision
	)
	err := rows.Scan(&p.ID, &p.Author, &p.At, &p.Kind, &p.Text, &details, &p.RepostOf, &p.OriginalAuthor,
		&latitude, &longitude, &precision, &attributes, &p.DeletedAt,
		&p.Likes, &p.Comments, &p.Reposts, &firstOnes, &p.State, &p.Total, &p.Delivered)
	if err != nil {
		return p, err
	}
	if precision != "" {
		p.Place = &feed.Place{Latitude: latitude, Longitude: longitude, Precision: precision}
	}
	if len(attributes) > 0 {
		p.Attributes = attributes
	}
	if len(details) > 0 {
		if err := decodeDetails(details, &p.Post); err != nil {
			return p, err
		}
	}
	if len(firstOnes) > 0 {
		if p.First, err = decodeFirst(firstOnes, p.ID); err != nil {
			return p, err
		}
	}
	return p, nil
}

const insertPosts = `INSERT INTO posts (id, author, at, kind, text, detail, repost_of, original_author,
	latitude, longitude, precision, place_cell, attributes, state, lane, total, duty) VALUES `

// postValues gives the columns of insertPosts; a nil duty is none.
func postValues(p feed.Post, d *feed.Duty) ([]any, error) {
	details, err := encodeDetails(p)
	if err != nil {
		return nil, err
	}
	place := feed.Place{}
	if p.Place != nil {
		place = *p.Place
	}
	attributes := []byte(p.Attributes)
	if attributes == nil {
		attributes = []byte{}
	}
	state, lane, total, due := feed.DeliveryDone, feed.Lane(""), int64(0), any(nil)
	if d != nil {
		state, lane, total, due = feed.DeliveryPending, d.Lane, d.Total, d.Until
	}
	return []any{
		p.ID, p.Author, p.At, p.Kind, p.Text, details, p.RepostOf, p.OriginalAuthor,
		place.Latitude, place.Longitude, string(place.Precision), string(p.Cell()), attributes,
		string(state), string(lane), total, due,
	}, nil
}

// StampPost implements [feed.PostRecord].
func (r *Record) StampPost(ctx context.Context, author feed.ID, now int64) (feed.Stamp, error) {
	var stamp feed.Stamp
	err := r.change(ctx, "StampPost", func(tx transaction) error {
		var ok bool
		var err error
		stamp, ok, err = first(ctx, tx, func(rows *sql.Rows) (s feed.Stamp, err error) {
			return s, rows.Scan(&s.At, &s.Followers)
		}, "UPDATE users SET last_post_at = max(?1, last_post_at + 1) WHERE id = ?2 RETURNING last_post_at, followers", now, author)
		if err == nil && !ok {
			return feed.NotFound("user")
		}
		return err
	})
	return stamp, err
}

// InsertPost implements [feed.PostRecord].
func (r *Record) InsertPost(ctx context.Context, p feed.Post, d feed.Duty) (bool, error) {
	values, err := postValues(p, &d)
	if err != nil {
		return false, unavailable("InsertPost", err)
	}
	inserted := false
	err = r.change(ctx, "InsertPost", func(tx transaction) error {
		n, err := tx.exec(ctx, insertPosts+"(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING", values...)
		if err != nil || n == 0 {
			return err
		}
		inserted = true
		return countPost(ctx, tx, p.Author, p.RepostOf, 1)
	})
	return inserted && err == nil, err
}

// countPost counts a post with its author and its original.
func countPost(ctx context.Context, tx transaction, author, original feed.ID, by int64) error {
	if err := bump(ctx, tx, userPosts, author, by); err != nil || original == 0 {
		return err
	}
	return bump(ctx, tx, postReposts, original, by)
}

// PostsByID implements [feed.PostRecord].
func (r *Record) PostsByID(ctx context.Context, ids []feed.ID) ([]feed.PostRow, error) {
	return listByID(ctx, r, "PostsByID", distinct(ids), scanPost,
		"SELECT "+postColumns+" FROM json_each(?) AS j CROSS JOIN posts AS p ON p.id = j.value")
}

// DeletePost implements [feed.PostRecord].
func (r *Record) DeletePost(ctx context.Context, id feed.ID, at int64) (bool, error) {
	deleted := false
	err := r.change(ctx, "DeletePost", func(tx transaction) error {
		type owner struct{ author, original, deletedAt int64 }
		was, ok, err := first(ctx, tx, func(rows *sql.Rows) (o owner, err error) {
			return o, rows.Scan(&o.author, &o.original, &o.deletedAt)
		}, "SELECT author, repost_of, deleted_at FROM posts WHERE id = ?", id)
		switch {
		case err != nil:
			return err
		case !ok:
			return feed.NotFound("post")
		case was.deletedAt != 0:
			return nil
		}
		if _, err := tx.exec(ctx, "UPDATE posts SET deleted_at = ?, duty = NULL WHERE id = ?", at, id); err != nil {
			return err
		}
		deleted = true
		return countPost(ctx, tx, feed.ID(was.author), feed.ID(was.original), -1)
	})
	return deleted && err == nil, err
}

// RepostedAmong implements [feed.PostRecord].
func (r *Record) RepostedAmong(ctx context.Context, user feed.ID, originals []feed.ID) ([]feed.ID, error) {
	return listByID(ctx, r, "RepostedAmong", distinct(originals), scanID,
		`SELECT j.value FROM json_each(?2) AS j WHERE j.value <> 0 AND EXISTS (
			SELECT 1 FROM posts AS p WHERE p.repost_of = j.value AND p.repost_of <> 0 AND p.author = ?1 AND p.deleted_at = 0)`, user)
}
