package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"feedgate/feed"
)

// source is where rows can be asked for: the reading pool or a transaction.
type source interface {
	query(ctx context.Context, text string, args []any) (*sql.Rows, error)
}

// collect runs a query and scans every row.
func collect[T any](ctx context.Context, from source, scan func(*sql.Rows) (T, error), text string, args ...any) ([]T, error) {
	rows, err := from.query(ctx, text, args)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// first runs a query that gives at most one row.
func first[T any](ctx context.Context, from source, scan func(*sql.Rows) (T, error), text string, args ...any) (v T, ok bool, err error) {
	all, err := collect(ctx, from, scan, text, args...)
	if err != nil || len(all) == 0 {
		return v, false, err
	}
	return all[0], true, nil
}

func scanID(rows *sql.Rows) (feed.ID, error) {
	var id feed.ID
	err := rows.Scan(&id)
	return id, err
}

func scanInt(rows *sql.Rows) (int64, error) {
	var n int64
	err := rows.Scan(&n)
	return n, err
}

// list reads with one command.
func list[T any](ctx context.Context, r *Record, command string, scan func(*sql.Rows) (T, error), text string, args ...any) ([]T, error) {
	r.hook(command)
	out, err := collect(ctx, r.read, scan, text, args...)
	if err != nil {
		return nil, unavailable(command, err)
	}
	return out, nil
}

// listByID reads with one command for each chunk of ids. The text's last
// parameter is the chunk, a JSON array.
func listByID[T any](ctx context.Context, r *Record, command string, ids []feed.ID, scan func(*sql.Rows) (T, error), text string, args ...any) ([]T, error) {
	var out []T
	for part := range slices.Chunk(ids, chunk) {
		some, err := list(ctx, r, command, scan, text, append(slices.Clip(args), idArray(part))...)
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = some
		} else {
			out = append(out, some...)
		}
	}
	return out, nil
}

// distinct gives ids sorted and without repeats, and leaves the argument alone.
func distinct(ids []feed.ID) feed.IDSet { return feed.NewIDSet(slices.Clone(ids)) }

// idArray gives ids as a JSON array, for json_each.
func idArray(ids []feed.ID) string {
	b := make([]byte, 0, 1+len(ids)*20)
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return string(append(b, ']'))
}

// change writes with one command: fn in a transaction.
func (r *Record) change(ctx context.Context, command string, fn func(tx transaction) error) error {
	r.hook(command)
	if err := r.write.transact(ctx, fn); err != nil {
		return unavailable(command, err)
	}
	return nil
}

// unavailable translates an error of the driver; the domain's own stay.
func unavailable(command string, err error) error {
	if e, ok := errors.AsType[*feed.Error](err); ok {
		return e
	}
	return feed.Unavailable("the record cannot be asked now: try again in a moment", fmt.Errorf("sqlite: %s: %w", command, err))
}
