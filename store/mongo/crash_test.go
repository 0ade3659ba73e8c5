package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"feedgate/feed"
	"feedgate/store/mongo"
)

const (
	a    = feed.ID(1) // follows, reposts, likes and comments
	b    = feed.ID(2) // wrote the post
	post = feed.ID(10)
	// later is after every mark that a test leaves.
	later = int64(1) << 50
)

// world makes two people and a post in a fresh record.
func world(t *testing.T, opts ...mongo.Option) (r *mongo.Record, database string) {
	t.Helper()
	database = fresh(t)
	r = open(t, database, opts...)
	ctx := t.Context()
	_, err := r.ImportUsers(ctx, []feed.User{{ID: a, Handle: "a"}, {ID: b, Handle: "b"}})
	if err == nil {
		_, err = r.ImportPosts(ctx, []feed.Post{{ID: post, Author: b, At: 1, Kind: "original"}})
	}
	if err == nil {
		_, err = r.Recount(ctx, later, 100)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, database
}

// mutation is a change and what must be there before it.
type mutation struct {
	prepare, change func(ctx context.Context, r *mongo.Record) error
}

func mutations() map[string]mutation {
	none := func(context.Context, *mongo.Record) error { return nil }
	follow := func(ctx context.Context, r *mongo.Record) error {
		_, err := r.Follow(ctx, feed.Follow{Follower: a, Followee: b, At: 1})
		return err
	}
	like := func(ctx context.Context, r *mongo.Record) error {
		_, err := r.Like(ctx, feed.Like{User: a, Post: post, At: 1, Weight: 1})
		return err
	}
	repost := func(ctx context.Context, r *mongo.Record) error {
		_, err := r.InsertPost(ctx, feed.Post{ID: 11, Author: a, At: 2, Kind: "repost", RepostOf: post, OriginalAuthor: b}, feed.Duty{})
		return err
	}
	comment := func(ctx context.Context, r *mongo.Record) error {
		_, err := r.InsertComment(ctx, feed.Comment{ID: 20, Post: post, Author: a, At: 3, Text: "x"})
		return err
	}
	return map[string]mutation{
		"follow": {none, follow}, "like": {none, like}, "repost": {none, repost}, "comment": {none, comment},
		"unfollow": {follow, func(ctx context.Context, r *mongo.Record) error { _, err := r.Unfollow(ctx, a, b); return err }},
		"unlike":   {like, func(ctx context.Context, r *mongo.Record) error { _, err := r.Unlike(ctx, a, post); return err }},
		"delete the repost": {repost, func(ctx context.Context, r *mongo.Record) error {
			_, err := r.DeletePost(ctx, 11, 5)
			return err
		}},
		"delete the comment": {comment, func(ctx context.Context, r *mongo.Record) error {
			_, err := r.DeleteComment(ctx, 20, 5)
			return err
		}},
	}
}

// verify compares everything derived with what it is derived from.
func verify(t *testing.T, r *mongo.Record) {
	t.Helper()
	ctx := t.Context()
	rel, err1 := r.RelationsOf(ctx, a)
	written, err2 := r.Entries(ctx, []feed.ID{a}, feed.Newest(), 10)
	users, err3 := r.UsersByID(ctx, []feed.ID{a, b})
	liked, err4 := r.LikedAmong(ctx, a, []feed.ID{post})
	reposted, err5 := r.RepostedAmong(ctx, a, []feed.ID{post})
	comments, err6 := r.Comments(ctx, post, feed.Position{}, 10)
	posts, err7 := r.PostsByID(ctx, []feed.ID{post})
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
		t.Fatal(err)
	}
	for _, u := range users {
		want := feed.UserCounts{Followees: int64(len(rel.Following)), Posts: int64(len(written))}
		if u.ID == b {
			want = feed.UserCounts{Followers: int64(len(rel.Following)), Posts: 1}
		}
		if u.UserCounts != want {
			t.Errorf("counters of user %d: got %+v, want %+v", u.ID, u.UserCounts, want)
		}
	}
	got := posts[0].Stats
	want := feed.Stats{Likes: int64(len(liked)), Reposts: int64(len(reposted)), Comments: int64(len(comments)), First: comments}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("stats of the post: got %+v, want %+v", got, want)
	}
}

func TestWhatACrashLeavesIsRepaired(t *testing.T) {
	t.Parallel()
	need(t)
	for name, m := range mutations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The process dies before its nth command, for each n, until the mutation
			// gets through.
			died := true
			for n := int64(1); died; n++ {
				if n > 10 {
					t.Fatal("the mutation takes more than 10 commands")
				}
				died = crashAt(t, m, n)
			}
		})
	}
}

// crashAt lets a mutation die before its nth command, and tells whether it did.
func crashAt(t *testing.T, m mutation, n int64) bool {
	t.Helper()
	ctx, die := context.WithCancel(t.Context())
	defer die()
	var armed atomic.Bool
	var commands atomic.Int64
	r, _ := world(t, mongo.WithHook(func(string) {
		if armed.Load() && commands.Add(1) == n {
			die()
		}
	}))
	if err := m.prepare(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	err := m.change(ctx, r)
	armed.Store(false)
	if died := ctx.Err() != nil; died != (err != nil) {
		t.Fatalf("command %d: died is %v, but the mutation returned %v", n, died, err)
	}
	if _, err := r.Recount(t.Context(), later, 100); err != nil {
		t.Fatal(err)
	}
	verify(t, r)
	// Whoever tries again finds the same world.
	if again := m.change(t.Context(), r); again != nil {
		t.Fatalf("command %d: trying again: %v", n, again)
	}
	if _, err := r.Recount(t.Context(), later, 100); err != nil {
		t.Fatal(err)
	}
	verify(t, r)
	return err != nil
}

func TestOnlyOldMarksAreRecounted(t *testing.T) {
	t.Parallel()
	need(t)
	r, database := world(t)
	if _, err := r.Like(t.Context(), feed.Like{User: a, Post: post, At: 1, Weight: 1}); err != nil {
		t.Fatal(err)
	}
	client, err := driver.Connect(options.Client().ApplyURI(server.URI))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	wrong := bson.D{{Key: "$set", Value: bson.D{{Key: "counters.likes", Value: int64(5)}}}}
	if _, err := client.Database(database).Collection("posts").UpdateByID(t.Context(), post, wrong); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		before  time.Time
		changed int
		likes   int64
	}{
		{time.Now().Add(-time.Hour), 0, 5}, // the mark is younger: its mutation may be under way
		{time.Now().Add(time.Hour), 1, 1},
		{time.Now().Add(time.Hour), 0, 1},
	} {
		changed, err := r.Recount(t.Context(), step.before.UnixMilli(), 10)
		if err != nil || len(changed) != step.changed {
			t.Errorf("changed %v, %v, want %d", changed, err, step.changed)
		}
		rows, err := r.PostsByID(t.Context(), []feed.ID{post})
		if err != nil || rows[0].Likes != step.likes {
			t.Errorf("got %v, %v, want %d likes", rows, err, step.likes)
		}
	}
	left, err := client.Database(database).Collection("dirty").CountDocuments(t.Context(), bson.D{})
	if err != nil || left != 0 {
		t.Errorf("%d marks are left, %v, want none", left, err)
	}
}

func TestMutationsTakeFewCommands(t *testing.T) {
	t.Parallel()
	need(t)
	var commands atomic.Int64
	r, _ := world(t, mongo.WithHook(func(string) { commands.Add(1) }))
	for name, most := range map[string]int64{
		"follow": 3, "like": 3, "repost": 4, "comment": 5,
		"unfollow": 3, "unlike": 3, "delete the repost": 5, "delete the comment": 6,
	} {
		m := mutations()[name]
		if err := m.prepare(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		before := commands.Load()
		if err := m.change(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if n := commands.Load() - before; n > most {
			t.Errorf("%s: took %d commands, want at most %d", name, n, most)
		}
	}
	verify(t, r)
}
