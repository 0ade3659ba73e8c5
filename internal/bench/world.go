package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"feedgate/feed"
	"feedgate/internal/config"
)

// Ids of a bench's world.
const (
	firstUser     feed.ID = 1
	firstFollower feed.ID = 10_000_000
	bigAuthor     feed.ID = 9_000_000
	firstPost     feed.ID = 20_000_000
	firstComment  feed.ID = 50_000_000
)

const (
	batchRows    = 2000
	likesPerPost = 2
	commented    = 100 // of the first reader's newest posts, two comments each
	span         = 30 * 24 * time.Hour
)

// world is the data that everything is measured on.
type world struct {
	conf  *config.Bench
	now   time.Time
	rand  *rand.Rand
	posts []feed.Post // oldest first
	likes []feed.Like
	edges []feed.Follow
	users []feed.User
}

func newWorld(conf *config.Bench, now time.Time) *world {
	w := &world{conf: conf, now: now, rand: rand.New(rand.NewPCG(1, 2))} //nolint:gosec // repeatable, not secret
	for i := range conf.Users {
		w.users = append(w.users, w.user(firstUser+feed.ID(i), "reader"))
	}
	step := span.Milliseconds() / int64(conf.Posts)
	for i := range conf.Posts {
		author := firstUser + feed.ID(w.rand.IntN(conf.Users))
		post := feed.Post{
			ID: firstPost + feed.ID(i), Author: author, Kind: feed.KindOriginal, Text: w.text(),
			At: now.UnixMilli() - span.Milliseconds() + int64(i)*step,
		}
		w.posts = append(w.posts, post)
		for range likesPerPost {
			w.likes = append(w.likes, feed.Like{
				User: firstUser + feed.ID(w.rand.IntN(conf.Users)), Post: post.ID, At: post.At, Weight: 1,
			})
		}
	}
	// An inbox is as long as wanted when its reader follows this many.
	follows := min(conf.Users-1, max(1, conf.Inbox*conf.Users/conf.Posts))
	for i := range conf.Users {
		for _, other := range w.rand.Perm(conf.Users)[:follows+1] {
			if other != i {
				w.edges = append(w.edges, feed.Follow{
					Follower: firstUser + feed.ID(i), Followee: firstUser + feed.ID(other), At: now.Add(-span).UnixMilli(),
				})
			}
		}
	}
	return w
}

func (w *world) user(id feed.ID, name string) feed.User {
	return feed.User{
		ID: id, Handle: fmt.Sprintf("%s%d", name, id), Name: fmt.Sprintf("The %s %d", name, id), CreatedAt: w.now.Add(-span).UnixMilli(),
	}
}

func (w *world) text() string {
	words := []string{"river", "stone", "early", "light", "across", "window", "north", "bread", "slowly", "märz", "train", "blue"}
	var b strings.Builder
	for b.Len() < w.conf.TextBytes {
		b.WriteString(words[w.rand.IntN(len(words))])
		b.WriteByte(' ')
	}
	return strings.ToValidUTF8(b.String()[:w.conf.TextBytes], "")
}

// readers are those who take turns.
func (w *world) readers() []feed.ID {
	ids := make([]feed.ID, min(w.conf.Readers, w.conf.Users))
	for i := range ids {
		ids[i] = firstUser + feed.ID(i)
	}
	return ids
}

// fill writes the world.
func (w *world) fill(ctx context.Context, record Record) error {
	return firstError(
		func() error { return put(ctx, w.users, record.ImportUsers) },
		func() error { return put(ctx, w.edges, record.ImportFollows) },
		func() error { return put(ctx, w.posts, record.ImportPosts) },
		func() error { return put(ctx, w.likes, record.ImportLikes) },
		func() error { return w.comment(ctx, record) },
		func() error { return record.RecountAll(ctx, func(int64, int64) {}) },
	)
}

// comment answers the newest posts that the first reader sees.
func (w *world) comment(ctx context.Context, record Record) error {
	followed := map[feed.ID]bool{firstUser: true}
	for _, e := range w.edges {
		if e.Follower == firstUser {
			followed[e.Followee] = true
		}
	}
	id, posts := firstComment, 0
	for _, post := range slices.Backward(w.posts) {
		if !followed[post.Author] {
			continue
		}
		for range 2 {
			c := feed.Comment{
				ID: id, Post: post.ID, Author: firstUser + feed.ID(w.rand.IntN(w.conf.Users)), At: post.At + 1, Text: "a comment of some words",
			}
			if _, err := record.InsertComment(ctx, c); err != nil {
				return err
			}
			id++
		}
		posts++
		if posts == commented {
			break
		}
	}
	return nil
}

// followers writes the author of many followers.
func (w *world) followers(ctx context.Context, record Record, n int) error {
	users := []feed.User{w.user(bigAuthor, "author")}
	edges := make([]feed.Follow, n)
	for i := range n {
		id := firstFollower + feed.ID(i)
		users = append(users, w.user(id, "follower"))
		edges[i] = feed.Follow{Follower: id, Followee: bigAuthor, At: w.now.Add(-span).UnixMilli()}
	}
	return firstError(
		func() error { return put(ctx, users, record.ImportUsers) },
		func() error { return put(ctx, edges, record.ImportFollows) },
		func() error { return record.RecountAll(ctx, func(int64, int64) {}) },
	)
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func put[T any](ctx context.Context, rows []T, to func(context.Context, []T) ([]feed.Outcome, error)) error {
	for part := range slices.Chunk(rows, batchRows) {
		outcomes, err := to(ctx, part)
		if err != nil {
			return err
		}
		for _, outcome := range outcomes {
			if outcome.State == feed.Refused {
				return fmt.Errorf("the record refused a row: %s", outcome.Reason)
			}
		}
	}
	return nil
}
