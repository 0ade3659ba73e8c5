package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"feedgate/feed"
)

const selectNotices = "SELECT id, to_user, kind, subject, at, total, actors FROM notices "

func scanNotice(rows *sql.Rows) (n feed.Notice, err error) {
	var actors string
	if err := rows.Scan(&n.ID, &n.To, &n.Kind, &n.Subject, &n.At, &n.Total, &actors); err != nil {
		return n, err
	}
	return n, json.Unmarshal([]byte(actors), &n.Actors)
}

// AddNotice implements [feed.NoticeRecord].
func (r *Record) AddNotice(ctx context.Context, e feed.NoticeEdge) (feed.Notice, bool, error) {
	var notice feed.Notice
	added := false
	err := r.change(ctx, "AddNotice", func(tx transaction) error {
		_, err := tx.exec(ctx, "INSERT INTO notices (id, to_user, kind, subject, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			e.ID, e.To, string(e.Kind), e.Subject, e.At)
		if err != nil {
			return err
		}
		id, found, err := noticeID(ctx, tx, e.To, e.Kind, e.Subject)
		if err != nil {
			return err
		}
		if !found {
			return feed.Conflict("id", "this id is another notice's")
		}
		n, err := tx.exec(ctx, "INSERT INTO notice_actors (notice, actor, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", id, e.Actor, e.At)
		if err != nil {
			return err
		}
		if added = n > 0; added {
			if err := gather(ctx, tx, id, e.At); err != nil {
				return err
			}
		}
		notice, _, err = first(ctx, tx, scanNotice, selectNotices+"WHERE id = ?", id)
		return err
	})
	return notice, added && err == nil, err
}

func noticeID(ctx context.Context, tx transaction, to feed.ID, kind feed.NoticeKind, subject feed.ID) (feed.ID, bool, error) {
	return first(ctx, tx, scanID, "SELECT id FROM notices WHERE to_user = ? AND kind = ? AND subject = ?", to, string(kind), subject)
}

// gather writes a notice's actors and their number anew, and moves it to at if that is later.
func gather(ctx context.Context, tx transaction, id feed.ID, at int64) error {
	_, err := tx.exec(ctx, `UPDATE notices SET at = max(at, ?2),
		total = (SELECT count(*) FROM notice_actors WHERE notice = ?1),
		actors = (SELECT json_group_array(actor) FROM
			(SELECT actor FROM notice_actors WHERE notice = ?1 ORDER BY at DESC, actor DESC LIMIT ?3 + 0))
		WHERE id = ?1`, id, at, feed.NoticeActors)
	return err
}

// RemoveNotice implements [feed.NoticeRecord].
func (r *Record) RemoveNotice(ctx context.Context, to feed.ID, kind feed.NoticeKind, subject, actor feed.ID) (bool, error) {
	removed := false
	err := r.change(ctx, "RemoveNotice", func(tx transaction) error {
		id, found, err := noticeID(ctx, tx, to, kind, subject)
		if err != nil || !found {
			return err
		}
		n, err := tx.exec(ctx, "DELETE FROM notice_actors WHERE notice = ? AND actor = ?", id, actor)
		if err != nil || n == 0 {
			return err
		}
		removed = true
		if err := gather(ctx, tx, id, 0); err != nil {
			return err
		}
		_, err = tx.exec(ctx, "DELETE FROM notices WHERE id = ? AND total = 0", id)
		return err
	})
	return removed && err == nil, err
}

// Notices implements [feed.NoticeRecord].
func (r *Record) Notices(ctx context.Context, to feed.ID, below feed.Position, limit int) ([]feed.Notice, error) {
	return list(ctx, r, "Notices", scanNotice,
		selectNotices+"WHERE to_user = ? AND (at, id) < (?, ?) ORDER BY at DESC, id DESC LIMIT ? + 0", to, below.At, below.ID, max(0, limit))
}

// NoticeByID implements [feed.NoticeRecord].
func (r *Record) NoticeByID(ctx context.Context, id feed.ID) (feed.Notice, error) {
	r.hook("NoticeByID")
	n, found, err := first(ctx, r.read, scanNotice, selectNotices+"WHERE id = ?", id)
	if err != nil {
		return feed.Notice{}, unavailable("NoticeByID", err)
	}
	if !found {
		return feed.Notice{}, feed.NotFound("notice")
	}
	return n, nil
}
