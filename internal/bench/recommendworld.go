package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"feedgate/feed"
)

// Ids of the part recommend.
const (
	firstFan  feed.ID = 300_000_000
	firstWare feed.ID = 310_000_000
)

const (
	scenes       = 40  // groups of taste
	scenesAFan   = 3   // that somebody belongs to
	outside      = 0.2 // of likes and followees are from anywhere
	popularity   = 2.5 // the higher, the more likes the few popular posts of a scene have
	sharedTopics = 10  // topics that several scenes share
)

// fans writes people who belong to groups of taste that overlap, posts of those
// groups, and what people like and whom they follow.
func (b *bench) fans(ctx context.Context) error {
	b.say("making %d people with %d likes each, and %d posts", b.Fans, b.Tastes, b.Wares)
	w := &world{now: b.Clock.Now(), conf: b.Bench, rand: rand.New(rand.NewPCG(3, 4))} //nolint:gosec // repeatable, not secret
	members := make([][]feed.ID, scenes)
	belongs := make([][]int, b.Fans)
	for i := range b.Fans {
		id := firstFan + feed.ID(i)
		w.users = append(w.users, w.user(id, "fan"))
		belongs[i] = w.rand.Perm(scenes)[:scenesAFan]
		for _, scene := range belongs[i] {
			members[scene] = append(members[scene], id)
		}
	}
	wares := make([][]int, scenes)
	step := span.Milliseconds() / int64(b.Wares)
	for i := range b.Wares {
		scene := w.rand.IntN(scenes)
		wares[scene] = append(wares[scene], i)
		w.posts = append(w.posts, feed.Post{
			ID: firstWare + feed.ID(i), Author: firstFan + feed.ID(w.rand.IntN(b.Fans)), Kind: feed.KindOriginal, Text: w.text(),
			At:     w.now.UnixMilli() - span.Milliseconds() + int64(i)*step,
			Topics: []string{fmt.Sprintf("scene %d", scene), fmt.Sprintf("shared %d", scene%sharedTopics)},
		})
	}
	for i := range b.Fans {
		w.likesOf(firstFan+feed.ID(i), belongs[i], wares)
		w.friendsOf(firstFan+feed.ID(i), belongs[i], members)
	}
	return w.fill(ctx, b.gateway.Record)
}

// likesOf has somebody like different posts of others, most of them of the scenes.
func (w *world) likesOf(user feed.ID, belongs []int, wares [][]int) {
	liked := make(map[int]bool)
	for try := 0; len(liked) < w.conf.Tastes && try < 100*w.conf.Tastes; try++ {
		post := w.rand.IntN(len(w.posts))
		if from := wares[belongs[w.rand.IntN(len(belongs))]]; len(from) > 0 && w.rand.Float64() >= outside {
			post = from[int(math.Pow(w.rand.Float64(), popularity)*float64(len(from)))]
		}
		p := &w.posts[post]
		if liked[post] || p.Author == user {
			continue
		}
		liked[post] = true
		at := p.At + int64(w.rand.Float64()*float64(w.now.UnixMilli()-p.At))
		w.likes = append(w.likes, feed.Like{User: user, Post: p.ID, At: at, Weight: 1})
	}
}

// friendsOf has somebody follow others, most of them of the scenes.
func (w *world) friendsOf(user feed.ID, belongs []int, members [][]feed.ID) {
	followed := map[feed.ID]bool{user: true}
	for try := 0; len(followed) <= w.conf.Friends && try < 100*w.conf.Friends; try++ {
		other := w.users[w.rand.IntN(len(w.users))].ID
		if w.rand.Float64() >= outside {
			from := members[belongs[w.rand.IntN(len(belongs))]]
			other = from[w.rand.IntN(len(from))]
		}
		if !followed[other] {
			followed[other] = true
			w.edges = append(w.edges, feed.Follow{Follower: user, Followee: other, At: w.now.Add(-span).UnixMilli()})
		}
	}
}
