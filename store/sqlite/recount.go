package sqlite

import (
	"context"
	"database/sql"

	"feedgate/feed"
)

// recountAtOnce is how many rows one transaction recounts.
const recountAtOnce = 1_000

// markDirty notes that rows must be recounted.
func markDirty(ctx context.Context, tx transaction, kind feed.NodeKind, ids []feed.ID) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.exec(ctx, "INSERT OR IGNORE INTO dirty (kind, id) SELECT ?1, value FROM json_each(?2)",
		string(kind), idArray(distinct(ids)))
	return err
}

// Recount implements [feed.CounterRecord]. Only imports leave dirty counters
// here, and none is half done when this runs, so the time says only whether
// anything may be recounted at all.
func (r *Record) Recount(ctx context.Context, before int64, limit int) ([]feed.NodeID, error) {
	if before <= 0 || limit <= 0 {
		return nil, nil
	}
	_, changed, err := r.recount(ctx, "Recount", limit)
	return changed, err
}

// RecountAll implements [feed.ImportRecord].
func (r *Record) RecountAll(ctx context.Context, progress func(done, total int64)) error {
	counts, err := list(ctx, r, "RecountAll", scanInt, "SELECT count(*) FROM dirty")
	if err != nil {
		return err
	}
	total := counts[0]
	for done := int64(0); ; {
		n, _, err := r.recount(ctx, "RecountAll", recountAtOnce)
		if err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		done += int64(n)
		if progress != nil {
			progress(done, max(total, done))
		}
	}
}

// recount takes some dirty rows, corrects them and returns how many it took
// and which were wrong.
func (r *Record) recount(ctx context.Context, command string, limit int) (taken int, changed []feed.NodeID, err error) {
	err = r.change(ctx, command, func(tx transaction) error {
		taken, changed = 0, nil
		for _, kind := range []feed.NodeKind{feed.NodeUser, feed.NodePost} {
			ids, err := collect(ctx, tx, scanID, "SELECT id FROM dirty WHERE kind = ? ORDER BY id LIMIT ?", string(kind), limit-taken)
			if err != nil {
				return err
			}
			if len(ids) == 0 {
				continue
			}
			taken += len(ids)
			fix := recountUsers
			if kind == feed.NodePost {
				fix = recountPosts
			}
			wrong, err := fix(ctx, tx, ids)
			if err != nil {
				return err
			}
			for _, id := range wrong {
				changed = append(changed, feed.NodeID{Kind: kind, ID: id})
			}
			if _, err := tx.exec(ctx, "DELETE FROM dirty WHERE kind = ? AND id BETWEEN ? AND ?",
				string(kind), ids[0], ids[len(ids)-1]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	return taken, changed, nil
}

// recountUsers corrects users' counters and returns those that were wrong.
func recountUsers(ctx context.Context, tx transaction, ids []feed.ID) ([]feed.ID, error) {
	type row struct {
		id       feed.ID
		was, are feed.UserCounts
	}
	rows, err := collect(ctx, tx, func(rows *sql.Rows) (x row, err error) {
		return x, rows.Scan(&x.id, &x.was.Followers, &x.was.Followees, &x.was.Posts, &x.are.Followers, &x.are.Followees, &x.are.Posts)
	}, `SELECT u.id, u.followers, u.followees, u.posts,
			(SELECT count(*) FROM follows WHERE followee = u.id),
			(SELECT count(*) FROM follows WHERE follower = u.id),
			(SELECT count(*) FROM posts WHERE author = u.id AND deleted_at = 0)
		FROM json_each(?) AS j CROSS JOIN users AS u ON u.id = j.value`, idArray(ids))
	if err != nil {
		return nil, err
	}
	var wrong []feed.ID
	for _, x := range rows {
		if x.was == x.are {
			continue
		}
		wrong = append(wrong, x.id)
		if _, err := tx.exec(ctx, "UPDATE users SET followers = ?, followees = ?, posts = ? WHERE id = ?",
			x.are.Followers, x.are.Followees, x.are.Posts, x.id); err != nil {
			return nil, err
		}
	}
	return wrong, nil
}

// recountPosts corrects posts' counters and first comments and returns those that were wrong.
func recountPosts(ctx context.Context, tx transaction, ids []feed.ID) ([]feed.ID, error) {
	type facts struct {
		likes, comments, reposts int64
		first                    string
	}
	type row struct {
		id       feed.ID
		was, are facts
	}
	rows, err := collect(ctx, tx, func(rows *sql.Rows) (x row, err error) {
		return x, rows.Scan(&x.id, &x.was.likes, &x.was.comments, &x.was.reposts, &x.was.first, &x.are.likes, &x.are.comments, &x.are.reposts)
	}, `SELECT p.id, p.likes, p.comments, p.reposts, p.first,
			(SELECT count(*) FROM likes WHERE post = p.id),
			(SELECT count(*) FROM comments WHERE post = p.id AND deleted_at = 0),
			(SELECT count(*) FROM posts AS q WHERE q.repost_of = p.id AND q.repost_of <> 0 AND q.deleted_at = 0)
		FROM json_each(?) AS j CROSS JOIN posts AS p ON p.id = j.value`, idArray(ids))
	if err != nil {
		return nil, err
	}
	var wrong []feed.ID
	for _, x := range rows {
		if x.are.comments > 0 {
			if x.are.first, err = firstComments(ctx, tx, x.id); err != nil {
				return nil, err
			}
		}
		if x.was == x.are {
			continue
		}
		wrong = append(wrong, x.id)
		if _, err := tx.exec(ctx, "UPDATE posts SET likes = ?, comments = ?, reposts = ?, first = ? WHERE id = ?",
			x.are.likes, x.are.comments, x.are.reposts, x.are.first, x.id); err != nil {
			return nil, err
		}
	}
	return wrong, nil
}
