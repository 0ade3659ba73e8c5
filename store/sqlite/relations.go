package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"feedgate/feed"
)

const insertFollows = "INSERT INTO follows (follower, followee, at) VALUES "

// Follow implements [feed.RelationRecord].
func (r *Record) Follow(ctx context.Context, f feed.Follow) (bool, error) {
	return r.edge(ctx, "Follow", func(tx transaction) (int64, error) {
		return tx.exec(ctx, insertFollows+"(?, ?, ?) ON CONFLICT DO NOTHING", f.Follower, f.Followee, f.At)
	}, func(tx transaction) error { return countFollow(ctx, tx, f.Follower, f.Followee, 1) })
}

// Unfollow implements [feed.RelationRecord].
func (r *Record) Unfollow(ctx context.Context, follower, followee feed.ID) (bool, error) {
	return r.edge(ctx, "Unfollow", func(tx transaction) (int64, error) {
		return tx.exec(ctx, "DELETE FROM follows WHERE follower = ? AND followee = ?", follower, followee)
	}, func(tx transaction) error { return countFollow(ctx, tx, follower, followee, -1) })
}

func countFollow(ctx context.Context, tx transaction, follower, followee feed.ID, by int64) error {
	if err := bump(ctx, tx, userFollowees, follower, by); err != nil {
		return err
	}
	return bump(ctx, tx, userFollowers, followee, by)
}

// edge writes or removes an edge and counts it if that changed anything.
func (r *Record) edge(ctx context.Context, command string, write func(tx transaction) (int64, error), count func(tx transaction) error) (bool, error) {
	changed := false
	err := r.change(ctx, command, func(tx transaction) error {
		n, err := write(tx)
		if err != nil || n == 0 {
			return err
		}
		changed = true
		return count(tx)
	})
	return changed && err == nil, err
}

// uncounted is for edges that nobody counts.
func uncounted(transaction) error { return nil }

// AddBar implements [feed.RelationRecord].
func (r *Record) AddBar(ctx context.Context, b feed.Bar) (bool, error) {
	return r.edge(ctx, "AddBar", func(tx transaction) (int64, error) {
		return tx.exec(ctx, "INSERT INTO bars (by_user, of_user, kind, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			b.By, b.Of, string(b.Kind), b.At)
	}, uncounted)
}

// RemoveBar implements [feed.RelationRecord].
func (r *Record) RemoveBar(ctx context.Context, kind feed.BarKind, by, of feed.ID) (bool, error) {
	return r.edge(ctx, "RemoveBar", func(tx transaction) (int64, error) {
		return tx.exec(ctx, "DELETE FROM bars WHERE by_user = ? AND of_user = ? AND kind = ?", by, of, string(kind))
	}, uncounted)
}

// The sorts of relation that RelationsOf reads in one go.
const (
	relFollows = "follows"
	relBlocks  = "blocks"
	relBlocked = "blocked"
	relMutes   = "mutes"
)

// RelationsOf implements [feed.RelationRecord].
func (r *Record) RelationsOf(ctx context.Context, user feed.ID) (feed.Relations, error) {
	type relation struct {
		sort string
		id   feed.ID
	}
	rows, err := list(ctx, r, "RelationsOf", func(rows *sql.Rows) (x relation, err error) {
		return x, rows.Scan(&x.sort, &x.id)
	}, `SELECT 'follows', followee FROM follows WHERE follower = ?1
		UNION ALL SELECT CASE kind WHEN 'block' THEN 'blocks' ELSE 'mutes' END, of_user FROM bars WHERE by_user = ?1
		UNION ALL SELECT 'blocked', by_user FROM bars WHERE of_user = ?1 AND kind = 'block'`, user)
	if err != nil {
		return feed.Relations{}, err
	}
	by := make(map[string][]feed.ID, 4)
	for _, x := range rows {
		by[x.sort] = append(by[x.sort], x.id)
	}
	return feed.Relations{
		Following: feed.NewIDSet(by[relFollows]),
		Blocks:    feed.NewIDSet(by[relBlocks]),
		BlockedBy: feed.NewIDSet(by[relBlocked]),
		Mutes:     feed.NewIDSet(by[relMutes]),
	}, nil
}

// Followers implements [feed.RelationRecord].
func (r *Record) Followers(ctx context.Context, followee, after feed.ID, limit int) ([]feed.ID, error) {
	lists, err := list(ctx, r, "Followers", scanIDs,
		`SELECT group_concat(follower) FROM (
			SELECT follower FROM follows WHERE followee = ? AND follower > ? ORDER BY follower LIMIT ? + 0)`, followee, after, max(0, limit))
	if err != nil || len(lists) == 0 {
		return nil, err
	}
	return lists[0], nil
}

// scanIDs reads ids that SQLite has put into one text: for many of them that
// takes half as long as a row for each. They come out sorted.
func scanIDs(rows *sql.Rows) ([]feed.ID, error) {
	var text sql.RawBytes
	if err := rows.Scan(&text); err != nil || len(text) == 0 {
		return nil, err
	}
	ids := make([]feed.ID, 0, bytes.Count(text, []byte{','})+1)
	for part := range bytes.SplitSeq(text, []byte{','}) {
		n, err := strconv.ParseInt(string(part), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("an id: %w", err)
		}
		ids = append(ids, feed.ID(n))
	}
	slices.Sort(ids) // as they are, though SQLite promises no order here
	return ids, nil
}

// Followees implements [feed.RelationRecord].
func (r *Record) Followees(ctx context.Context, user feed.ID, below feed.Position, limit int) ([]feed.Follow, error) {
	return list(ctx, r, "Followees", func(rows *sql.Rows) (f feed.Follow, err error) {
		return f, rows.Scan(&f.Follower, &f.Followee, &f.At)
	}, `SELECT follower, followee, at FROM follows WHERE follower = ? AND (at, followee) < (?, ?)
		ORDER BY at DESC, followee DESC LIMIT ? + 0`, user, below.At, below.ID, max(0, limit))
}

// FollowersAmong implements [feed.RelationRecord].
func (r *Record) FollowersAmong(ctx context.Context, followee feed.ID, users []feed.ID) ([]feed.ID, error) {
	return listByID(ctx, r, "FollowersAmong", distinct(users), scanID,
		"SELECT f.follower FROM json_each(?2) AS j CROSS JOIN follows AS f ON f.follower = j.value AND f.followee = ?1", followee)
}
