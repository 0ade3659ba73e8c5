package sqlite

import (
	"context"
	"database/sql"

	"feedgate/feed"
)

const dutyColumns = "id, author, at, lane, op, mark, total, delivered, duty, state, repost_of, original_author, " +
	"latitude, longitude, precision"

func scanDuty(rows *sql.Rows) (d feed.Duty, err error) {
	var place feed.Place
	err = rows.Scan(&d.Post, &d.Author, &d.At, &d.Lane, &d.Op, &d.Mark, &d.Total, &d.Delivered, &d.Until, &d.State,
		&d.Repost, &d.Original, &place.Latitude, &place.Longitude, &place.Precision)
	if place.Precision != "" {
		d.Place = &place
	}
	return d, err
}

// AuthorsInFlight implements [feed.FlightRecord].
func (r *Record) AuthorsInFlight(ctx context.Context) ([]feed.ID, error) {
	return list(ctx, r, "AuthorsInFlight", scanID, "SELECT DISTINCT author FROM posts WHERE duty IS NOT NULL")
}

// UnfinishedAmong implements [feed.FlightRecord].
func (r *Record) UnfinishedAmong(ctx context.Context, authors []feed.ID) ([]feed.ID, error) {
	return listByID(ctx, r, "UnfinishedAmong", distinct(authors), scanID,
		`SELECT j.value FROM json_each(?) AS j WHERE EXISTS (
			SELECT 1 FROM posts AS p WHERE p.author = j.value AND p.duty IS NOT NULL)`)
}

// BeginDuty implements [feed.DutyRecord].
func (r *Record) BeginDuty(ctx context.Context, post feed.ID, now, until int64) (feed.Duty, error) {
	var duty feed.Duty
	err := r.change(ctx, "BeginDuty", func(tx transaction) error {
		was, ok, err := first(ctx, tx, scanDuty, "SELECT "+dutyColumns+" FROM posts WHERE id = ? AND duty IS NOT NULL", post)
		switch {
		case err != nil:
			return err
		case !ok:
			return feed.NotFound("duty")
		case was.Until > now:
			return feed.Conflict("", "another worker holds this duty")
		}
		duty = was
		duty.Op, duty.Until, duty.State = was.Op+1, until, feed.DeliveryRunning
		_, err = tx.exec(ctx, "UPDATE posts SET op = ?, duty = ?, state = ? WHERE id = ?",
			duty.Op, duty.Until, string(duty.State), post)
		return err
	})
	if err != nil {
		return feed.Duty{}, err
	}
	return duty, nil
}

// SaveDuty implements [feed.DutyRecord].
func (r *Record) SaveDuty(ctx context.Context, d feed.Duty) error {
	return r.change(ctx, "SaveDuty", func(tx transaction) error {
		op, ok, err := first(ctx, tx, scanInt, "SELECT op FROM posts WHERE id = ? AND duty IS NOT NULL", d.Post)
		switch {
		case err != nil:
			return err
		case !ok:
			return feed.NotFound("duty")
		case op != d.Op:
			return feed.Conflict("", "another worker has taken this duty over")
		}
		until := sql.NullInt64{Int64: d.Until, Valid: d.State != feed.DeliveryDone}
		_, err = tx.exec(ctx, "UPDATE posts SET mark = ?, total = ?, delivered = ?, state = ?, duty = ? WHERE id = ?",
			d.Mark, d.Total, d.Delivered, string(d.State), until, d.Post)
		return err
	})
}

// DueDuties implements [feed.DutyRecord].
func (r *Record) DueDuties(ctx context.Context, now int64, limit int) ([]feed.Duty, error) {
	return list(ctx, r, "DueDuties", scanDuty,
		"SELECT "+dutyColumns+" FROM posts WHERE duty IS NOT NULL AND duty <= ? ORDER BY duty, at, id LIMIT ? + 0", now, max(0, limit))
}
