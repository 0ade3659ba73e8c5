package sqlite

import (
	"context"

	"feedgate/feed"
)

// trimViews removes what comes after the newest ?2 views of a user.
const trimViews = `DELETE FROM views WHERE user = ?1 AND (at, post) <= (
	SELECT at, post FROM views WHERE user = ?1 ORDER BY at DESC, post DESC LIMIT 1 OFFSET ?2 + 0)`

const selectViews = "SELECT post FROM views WHERE user = ? AND at >= ? ORDER BY at DESC, post DESC LIMIT ? + 0"

// AddViews implements [feed.ViewRecord].
func (r *Record) AddViews(ctx context.Context, user feed.ID, posts []feed.ID, at int64, keep int, since int64) error {
	return r.change(ctx, "AddViews", func(tx transaction) error {
		for _, post := range distinct(posts) {
			if _, err := tx.exec(ctx, `INSERT INTO views (user, post, at) VALUES (?, ?, ?)
				ON CONFLICT (user, post) DO UPDATE SET at = excluded.at WHERE excluded.at > at`, user, post, at); err != nil {
				return err
			}
		}
		if _, err := tx.exec(ctx, "DELETE FROM views WHERE user = ? AND at < ?", user, since); err != nil {
			return err
		}
		_, err := tx.exec(ctx, trimViews, user, max(0, keep))
		return err
	})
}

// ViewsOf implements [feed.ViewRecord].
func (r *Record) ViewsOf(ctx context.Context, user feed.ID, since int64, limit int) ([]feed.ID, error) {
	return list(ctx, r, "ViewsOf", scanID, selectViews, user, since, max(0, limit))
}
