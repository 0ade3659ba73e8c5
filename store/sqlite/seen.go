package sqlite

import (
	"context"
	"database/sql"

	"feedgate/feed"
)

const selectSeen = "SELECT position_at, position_id, at, notices_at FROM seen WHERE user = ?"

func scanSeen(rows *sql.Rows) (s feed.Seen, err error) {
	return s, rows.Scan(&s.Position.At, &s.Position.ID, &s.At, &s.Notices)
}

// Seen implements [feed.SeenRecord].
func (r *Record) Seen(ctx context.Context, user feed.ID) (feed.Seen, error) {
	r.hook("Seen")
	s, _, err := first(ctx, r.read, scanSeen, selectSeen, user)
	if err != nil {
		return feed.Seen{}, unavailable("Seen", err)
	}
	return s, nil
}

// MarkSeen implements [feed.SeenRecord].
func (r *Record) MarkSeen(ctx context.Context, user feed.ID, to feed.Seen) (feed.Seen, error) {
	var now feed.Seen
	err := r.change(ctx, "MarkSeen", func(tx transaction) error {
		n, err := tx.exec(ctx, `INSERT INTO seen (user, position_at, position_id, at, notices_at)
			SELECT id, ?2, ?3, ?4, ?5 FROM users WHERE id = ?1
			ON CONFLICT (user) DO UPDATE SET
				position_at = CASE WHEN (excluded.position_at, excluded.position_id) > (position_at, position_id)
					THEN excluded.position_at ELSE position_at END,
				position_id = CASE WHEN (excluded.position_at, excluded.position_id) > (position_at, position_id)
					THEN excluded.position_id ELSE position_id END,
				at = max(at, excluded.at), notices_at = max(notices_at, excluded.notices_at)`,
			user, to.Position.At, to.Position.ID, to.At, to.Notices)
		if err != nil {
			return err
		}
		if n == 0 {
			return feed.NotFound("user")
		}
		now, _, err = first(ctx, tx, scanSeen, selectSeen, user)
		return err
	})
	return now, err
}

// FollowedAt implements [feed.SeenRecord].
func (r *Record) FollowedAt(ctx context.Context, follower feed.ID, followees []feed.ID) (map[feed.ID]int64, error) {
	type since struct {
		followee feed.ID
		at       int64
	}
	rows, err := listByID(ctx, r, "FollowedAt", distinct(followees), func(rows *sql.Rows) (s since, err error) {
		return s, rows.Scan(&s.followee, &s.at)
	}, "SELECT f.followee, f.at FROM json_each(?2) AS j CROSS JOIN follows AS f ON f.follower = ?1 AND f.followee = j.value", follower)
	if err != nil {
		return nil, err
	}
	at := make(map[feed.ID]int64, len(rows))
	for _, s := range rows {
		at[s.followee] = s.at
	}
	return at, nil
}
