package recommend_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"feedgate/feed"
	"feedgate/feed/recommend"
)

// bigWorld is 400 people, 2,000 posts and 50 likes each, of one of eight kinds.
func bigWorld(b *testing.B, start backend) (*world, []feed.ID) {
	b.Helper()
	ctx := context.Background()
	w := newWorld(b, recommend.DefaultSettings(), start)
	users := w.persons(400)
	random := rand.New(rand.NewPCG(1, 2))
	now := time.Now().UnixMilli()
	var posts []feed.Post
	var likes []feed.Like
	for i := range 2_000 {
		posts = append(posts, feed.Post{
			ID: feed.ID(1<<40 + i), Author: users[i%len(users)], At: now - int64(i)*1000, Kind: "original", Text: "a text of some length, as posts have",
			Topics: []string{string(rune('a' + i%8)), string(rune('i' + i%16))},
		})
	}
	for i, user := range users {
		for n := range 50 {
			likes = append(likes, feed.Like{User: user, Post: posts[(random.IntN(250)*8+i%8)%2000].ID, At: now - int64(n), Weight: 1})
		}
	}
	_, err := w.record.ImportPosts(ctx, posts)
	w.must(err)
	_, err = w.record.ImportLikes(ctx, likes)
	w.must(err)
	return w, users
}

func BenchmarkRecommend(b *testing.B) {
	for name, start := range backends() {
		b.Run(name, func(b *testing.B) {
			w, users := bigWorld(b, start)
			began := time.Now()
			w.learnAll()
			b.Logf("learned %d users with 50 likes each in %v", len(users), time.Since(began))
			tastes, err := w.svc.LoadTastes(b.Context(), users)
			w.must(err)
			b.ResetTimer()
			for i := range b.N {
				got, err := w.engine.Recommend(b.Context(), feed.RecommendQuery{
					Reader: users[i%len(users)], Relations: &feed.Relations{}, Tastes: tastes[i%len(users)], Limit: 500, Load: w.svc,
				})
				if err != nil || len(got) != 500 {
					b.Fatalf("got %d posts, %v; want 500", len(got), err)
				}
			}
		})
	}
}

func BenchmarkLearnALike(b *testing.B) {
	for name, start := range backends() {
		b.Run(name, func(b *testing.B) {
			w, users := bigWorld(b, start)
			w.learnAll()
			post := w.post(users[0], "a")
			b.ResetTimer()
			for i := range b.N {
				b.StopTimer()
				user := users[1+i%(len(users)-1)]
				if i/(len(users)-1)%2 == 0 {
					w.like(user, post)
				} else {
					w.unlike(user, post)
				}
				b.StartTimer()
				w.must(w.learner.Learn(b.Context(), user))
			}
		})
	}
}
