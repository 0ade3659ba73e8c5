package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"feedgate/feed"
	"feedgate/store/internal/intake"
)

// set runs a query for ids and gives them as a set.
func set(ctx context.Context, tx transaction, text string, ids []feed.ID) (map[feed.ID]bool, error) {
	found, err := collect(ctx, tx, scanID, text, idArray(distinct(ids)))
	if err != nil {
		return nil, err
	}
	known := make(map[feed.ID]bool, len(found))
	for _, id := range found {
		known[id] = true
	}
	return known, nil
}

const (
	usersThere = "SELECT u.id FROM json_each(?) AS j CROSS JOIN users AS u ON u.id = j.value"
	postsThere = "SELECT p.id FROM json_each(?) AS j CROSS JOIN posts AS p ON p.id = j.value"
)

// edges reads which of some pairs are there.
func edges(ctx context.Context, tx transaction, text string, pairs [][2]feed.ID) (map[intake.Edge]bool, error) {
	b, err := json.Marshal(pairs)
	if err != nil {
		return nil, err
	}
	found, err := collect(ctx, tx, func(rows *sql.Rows) (e intake.Edge, err error) {
		return e, rows.Scan(&e.From, &e.To)
	}, text, string(b))
	if err != nil {
		return nil, err
	}
	there := make(map[intake.Edge]bool, len(found)+len(pairs))
	for _, e := range found {
		there[e] = true
	}
	return there, nil
}

// values turns accepted rows into the columns of an insert.
func values[T any](rows []T, columns func(T) []any) [][]any {
	out := make([][]any, len(rows))
	for i, row := range rows {
		out[i] = columns(row)
	}
	return out
}

// column picks one id of each row.
func column[T any](rows []T, pick func(T) feed.ID) []feed.ID {
	out := make([]feed.ID, len(rows))
	for i, row := range rows {
		out[i] = pick(row)
	}
	return out
}

// ImportUsers implements [feed.ImportRecord].
func (r *Record) ImportUsers(ctx context.Context, rows []feed.User) ([]feed.Outcome, error) {
	handles := make([]string, len(rows))
	for i, u := range rows {
		handles[i] = u.Handle
	}
	handleArray, err := json.Marshal(handles)
	if err != nil {
		return nil, unavailable("ImportUsers", err)
	}
	ids := idArray(column(rows, func(u feed.User) feed.ID { return u.ID }))

	var outcomes []feed.Outcome
	err = r.change(ctx, "ImportUsers", func(tx transaction) error {
		found, err := collect(ctx, tx, func(rows *sql.Rows) (u feed.User, err error) {
			return u, rows.Scan(&u.ID, &u.Handle)
		}, `SELECT u.id, u.handle FROM json_each(?1) AS j CROSS JOIN users AS u ON u.id = j.value
			UNION ALL SELECT u.id, u.handle FROM json_each(?2) AS j CROSS JOIN users AS u ON u.handle = j.value`,
			ids, string(handleArray))
		if err != nil {
			return err
		}
		there := intake.Handles{ByID: make(map[feed.ID]string), ByHandle: make(map[string]feed.ID)}
		for _, u := range found {
			there.ByID[u.ID], there.ByHandle[u.Handle] = u.Handle, u.ID
		}
		outcomes = intake.Users(rows, there)
		return tx.insert(ctx, insertUsers, values(intake.Accepted(rows, outcomes), userValues))
	})
	return outcomes, err
}

// ImportPosts implements [feed.ImportRecord].
func (r *Record) ImportPosts(ctx context.Context, rows []feed.Post) ([]feed.Outcome, error) {
	rows = slices.Clone(rows) // OriginalAuthor is set below
	authors := column(rows, func(p feed.Post) feed.ID { return p.Author })
	ids := append(column(rows, func(p feed.Post) feed.ID { return p.ID }),
		column(rows, func(p feed.Post) feed.ID { return p.RepostOf })...)

	var outcomes []feed.Outcome
	err := r.change(ctx, "ImportPosts", func(tx transaction) error {
		users, err := set(ctx, tx, usersThere, authors)
		if err != nil {
			return err
		}
		found, err := collect(ctx, tx, func(rows *sql.Rows) (p feed.Post, err error) {
			return p, rows.Scan(&p.ID, &p.Author, &p.At, &p.Text, &p.RepostOf)
		}, "SELECT p.id, p.author, p.at, p.text, p.repost_of FROM json_each(?) AS j CROSS JOIN posts AS p ON p.id = j.value",
			idArray(distinct(ids)))
		if err != nil {
			return err
		}
		there := make(map[feed.ID]intake.Known, len(rows))
		for _, p := range found {
			there[p.ID] = intake.Known{Author: p.Author, At: p.At, Text: p.Text, RepostOf: p.RepostOf}
		}
		outcomes = intake.Posts(rows, users, there)
		return insertImported(ctx, tx, intake.Accepted(rows, outcomes))
	})
	return outcomes, err
}

// insertImported writes posts without a duty and marks the counters that they change.
func insertImported(ctx context.Context, tx transaction, posts []feed.Post) error {
	columns := make([][]any, len(posts))
	var originals []feed.ID
	for i, p := range posts {
		var err error
		if columns[i], err = postValues(p, nil); err != nil {
			return err
		}
		if p.RepostOf != 0 {
			originals = append(originals, p.RepostOf)
		}
	}
	if err := tx.insert(ctx, insertPosts, columns); err != nil {
		return err
	}
	if err := markDirty(ctx, tx, feed.NodePost, originals); err != nil {
		return err
	}
	return markDirty(ctx, tx, feed.NodeUser, column(posts, func(p feed.Post) feed.ID { return p.Author }))
}

// ImportFollows implements [feed.ImportRecord].
func (r *Record) ImportFollows(ctx context.Context, rows []feed.Follow) ([]feed.Outcome, error) {
	pairs := make([][2]feed.ID, len(rows))
	both := make([]feed.ID, 0, 2*len(rows))
	for i, f := range rows {
		pairs[i] = [2]feed.ID{f.Follower, f.Followee}
		both = append(both, f.Follower, f.Followee)
	}
	var outcomes []feed.Outcome
	err := r.change(ctx, "ImportFollows", func(tx transaction) error {
		users, err := set(ctx, tx, usersThere, both)
		if err != nil {
			return err
		}
		there, err := edges(ctx, tx, `SELECT f.follower, f.followee FROM json_each(?) AS j
			CROSS JOIN follows AS f ON f.follower = j.value ->> 0 AND f.followee = j.value ->> 1`, pairs)
		if err != nil {
			return err
		}
		outcomes = intake.Follows(rows, users, there)
		accepted := intake.Accepted(rows, outcomes)
		if err := tx.insert(ctx, insertFollows, values(accepted, func(f feed.Follow) []any {
			return []any{f.Follower, f.Followee, f.At}
		})); err != nil {
			return err
		}
		if err := markDirty(ctx, tx, feed.NodeUser, column(accepted, func(f feed.Follow) feed.ID { return f.Follower })); err != nil {
			return err
		}
		return markDirty(ctx, tx, feed.NodeUser, column(accepted, func(f feed.Follow) feed.ID { return f.Followee }))
	})
	return outcomes, err
}

// ImportLikes implements [feed.ImportRecord].
func (r *Record) ImportLikes(ctx context.Context, rows []feed.Like) ([]feed.Outcome, error) {
	pairs := make([][2]feed.ID, len(rows))
	for i, l := range rows {
		pairs[i] = [2]feed.ID{l.User, l.Post}
	}
	userIDs := column(rows, func(l feed.Like) feed.ID { return l.User })
	postIDs := column(rows, func(l feed.Like) feed.ID { return l.Post })

	var outcomes []feed.Outcome
	err := r.change(ctx, "ImportLikes", func(tx transaction) error {
		users, err := set(ctx, tx, usersThere, userIDs)
		if err != nil {
			return err
		}
		posts, err := set(ctx, tx, postsThere, postIDs)
		if err != nil {
			return err
		}
		there, err := edges(ctx, tx, `SELECT l.user, l.post FROM json_each(?) AS j
			CROSS JOIN likes AS l ON l.user = j.value ->> 0 AND l.post = j.value ->> 1`, pairs)
		if err != nil {
			return err
		}
		outcomes = intake.Likes(rows, users, posts, there)
		accepted := intake.Accepted(rows, outcomes)
		if err := tx.insert(ctx, insertLikes, values(accepted, func(l feed.Like) []any {
			return []any{l.User, l.Post, l.At, l.Weight}
		})); err != nil {
			return err
		}
		return markDirty(ctx, tx, feed.NodePost, column(accepted, func(l feed.Like) feed.ID { return l.Post }))
	})
	return outcomes, err
}

// Empty implements [feed.ImportRecord].
func (r *Record) Empty(ctx context.Context) (bool, error) {
	found, err := list(ctx, r, "Empty", scanInt, "SELECT 1 FROM users LIMIT 1")
	return len(found) == 0, err
}
