package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"feedgate/feed"
)

const userColumns = "u.id, u.handle, u.name, u.avatar_url, u.bio, u.created_at, u.followers, u.followees, u.posts"

func scanUser(rows *sql.Rows) (feed.UserRow, error) {
	var u feed.UserRow
	err := rows.Scan(&u.ID, &u.Handle, &u.Name, &u.AvatarURL, &u.Bio, &u.CreatedAt,
		&u.Followers, &u.Followees, &u.Posts)
	return u, err
}

const insertUsers = "INSERT INTO users (id, handle, name, avatar_url, bio, created_at) VALUES "

func userValues(u feed.User) []any {
	return []any{u.ID, u.Handle, u.Name, u.AvatarURL, u.Bio, u.CreatedAt}
}

// CreateUser implements [feed.UserRecord].
func (r *Record) CreateUser(ctx context.Context, u feed.User) error {
	return r.change(ctx, "CreateUser", func(tx transaction) error {
		n, err := tx.exec(ctx, insertUsers+"(?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", userValues(u)...)
		if err == nil && n == 0 {
			return feed.Conflict("handle", "this handle is taken, or you have a profile already: choose another handle")
		}
		return err
	})
}

// UpdateUser implements [feed.UserRecord].
func (r *Record) UpdateUser(ctx context.Context, id feed.ID, p feed.ProfilePatch) (feed.User, error) {
	var row feed.UserRow
	err := r.change(ctx, "UpdateUser", func(tx transaction) error {
		var ok bool
		var err error
		row, ok, err = first(ctx, tx, scanUser,
			`UPDATE users AS u SET name = coalesce(?1, name), avatar_url = coalesce(?2, avatar_url), bio = coalesce(?3, bio)
			WHERE id = ?4 RETURNING id, handle, name, avatar_url, bio, created_at, followers, followees, posts`,
			p.Name, p.AvatarURL, p.Bio, id)
		if err == nil && !ok {
			return feed.NotFound("user")
		}
		return err
	})
	return row.User, err
}

// UsersByID implements [feed.UserRecord].
func (r *Record) UsersByID(ctx context.Context, ids []feed.ID) ([]feed.UserRow, error) {
	return listByID(ctx, r, "UsersByID", distinct(ids), scanUser,
		"SELECT "+userColumns+" FROM json_each(?) AS j CROSS JOIN users AS u ON u.id = j.value")
}

// UserByHandle implements [feed.UserRecord].
func (r *Record) UserByHandle(ctx context.Context, handle string) (feed.UserRow, error) {
	rows, err := list(ctx, r, "UserByHandle", scanUser, "SELECT "+userColumns+" FROM users AS u WHERE u.handle = ?", handle)
	if err != nil {
		return feed.UserRow{}, err
	}
	if len(rows) == 0 {
		return feed.UserRow{}, feed.NotFound("user")
	}
	return rows[0], nil
}

// bump adds to a counter of one row.
func bump(ctx context.Context, tx transaction, counter counter, id feed.ID, by int64) error {
	if _, err := tx.exec(ctx, string(counter), by, id); err != nil {
		return fmt.Errorf("count: %w", err)
	}
	return nil
}

// counter is the statement that adds ?1 to one counter of the row ?2.
type counter string

const (
	userFollowers counter = "UPDATE users SET followers = followers + ?1 WHERE id = ?2"
	userFollowees counter = "UPDATE users SET followees = followees + ?1 WHERE id = ?2"
	userPosts     counter = "UPDATE users SET posts = posts + ?1 WHERE id = ?2"
	postLikes     counter = "UPDATE posts SET likes = likes + ?1 WHERE id = ?2"
	postComments  counter = "UPDATE posts SET comments = comments + ?1 WHERE id = ?2"
	postReposts   counter = "UPDATE posts SET reposts = reposts + ?1 WHERE id = ?2"
)
