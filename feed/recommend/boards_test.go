package recommend_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
	"feedgate/feed/recommend"
)

// boards are the scores on all boards of an epoch, by a name of board and post.
type boards map[string]float64

// learning is the state of learning.
func (w *world) learning() feed.Learning {
	w.tb.Helper()
	state := &feed.ReadLearning{}
	w.must(w.hot.Do(context.Background(), state))
	return state.Learning
}

// kept reads the boards of an epoch: of the posts and topics that there are.
func (w *world) kept(epoch int64, posts []feed.ID, topics []string) boards {
	w.tb.Helper()
	var ops []feed.Op
	reads := make(map[string]*feed.ReadBoard)
	read := func(name string, b feed.Board) {
		b.Epoch = epoch
		reads[name] = &feed.ReadBoard{Board: b, Limit: 100_000}
		ops = append(ops, reads[name])
	}
	read("trending", feed.Board{Kind: feed.BoardTrending})
	for _, p := range posts {
		read("similar "+p.String(), feed.Board{Kind: feed.BoardSimilar, Post: p})
	}
	for _, topic := range topics {
		read("topic "+topic, feed.Board{Kind: feed.BoardTopic, Topic: topic})
	}
	w.must(w.hot.Do(context.Background(), ops...))
	all := make(boards)
	for name, op := range reads {
		for _, x := range op.Ranked {
			if x.Post == math.MaxInt64 {
				continue // the sentinel
			}
			if op.Board.Kind == feed.BoardSimilar {
				x.Score = tenths(x.Score)
			}
			all[name+" has "+x.Post.String()] = x.Score
		}
	}
	return all
}

// tenths takes from counts of pairs the little by which they are kept apart.
func tenths(count float64) float64 { return math.Round(count*10) / 10 }

// recount says from the record what the boards should hold.
func (w *world) recount(epoch int64, window int, users []feed.ID) boards {
	w.tb.Helper()
	all := make(boards)
	fading := func(at int64, days float64) float64 {
		e := float64(at-epoch) / (days * 24 * 3600_000)
		return math.Round(math.Exp2(math.Max(-16, e))*(1<<20)) / (1 << 20)
	}
	for _, user := range users {
		tastes, err := w.record.TastesOf(context.Background(), []feed.ID{user}, feed.MaxTastes)
		w.must(err)
		if len(tastes) == 0 {
			continue
		}
		var list []feed.Post
		for _, g := range tastes[0].Engaged {
			p := w.onRecord(g.Post)
			if p.RepostOf != 0 && !p.Quotes() {
				p = w.onRecord(p.RepostOf)
			}
			if p.Author == user || slices.ContainsFunc(list, func(q feed.Post) bool { return q.ID == p.ID }) {
				continue
			}
			list = append(list, p)
			all["trending has "+p.ID.String()] += fading(g.At, 1)
			for _, topic := range p.Topics {
				all["topic "+topic+" has "+p.ID.String()] += fading(g.At, 30)
			}
		}
		for i, p := range list {
			for j, q := range list {
				if i != j && i-j <= window && j-i <= window {
					all["similar "+p.ID.String()+" has "+q.ID.String()]++
				}
			}
		}
	}
	return all
}

func (w *world) onRecord(id feed.ID) feed.Post {
	w.tb.Helper()
	rows, err := w.record.PostsByID(context.Background(), []feed.ID{id})
	w.must(err)
	if len(rows) != 1 {
		w.tb.Fatalf("post %s is not on the record", id)
	}
	return rows[0].Post
}

// difference names up to five differences.
func difference(got, want boards) string {
	var lines []string
	names := slices.Sorted(maps.Keys(got))
	for name := range want {
		if _, ok := got[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if got[name] != want[name] {
			lines = append(lines, fmt.Sprintf("%s: got %v, want %v\n", name, got[name], want[name]))
		}
	}
	return fmt.Sprint(lines[:min(5, len(lines))])
}

// crowd acts at random.
type crowd struct {
	w                *world
	users            []feed.ID
	posts, originals []feed.ID
	comments         map[feed.ID][]feed.ID // by user
	topics           []string
}

func newCrowd(w *world) *crowd {
	c := &crowd{w: w, users: w.persons(5), comments: make(map[feed.ID][]feed.ID), topics: []string{"a", "b", "c"}}
	for i := range 10 {
		id := w.post(c.users[i%len(c.users)], c.topics[:i%(len(c.topics)+1)]...)
		c.posts, c.originals = append(c.posts, id), append(c.originals, id)
	}
	return c
}

// act does one thing; what is not allowed is passed over.
func (c *crowd) act(t *rapid.T) {
	ctx := context.Background()
	user := rapid.SampledFrom(c.users).Draw(t, "user")
	post := rapid.SampledFrom(c.posts).Draw(t, "post")
	r := c.w.reader(user)
	switch rapid.SampledFrom([]string{"like", "like", "like", "unlike", "comment", "uncomment", "repost", "quote", "delete"}).Draw(t, "act") {
	case "like":
		_, _ = c.w.svc.Like(ctx, r, post)
	case "unlike":
		_, _ = c.w.svc.Unlike(ctx, r, post)
	case "comment":
		if made, err := c.w.svc.CommentOn(ctx, r, feed.NewComment{Post: post, Text: "well said"}); err == nil {
			c.comments[user] = append(c.comments[user], made.ID)
		}
	case "uncomment":
		if made := c.comments[user]; len(made) > 0 {
			_ = c.w.svc.DeleteComment(ctx, r, made[0])
			c.comments[user] = made[1:]
		}
	case "repost", "quote":
		text := rapid.SampledFrom([]string{"", "look"}).Draw(t, "text")
		if p, err := c.w.svc.PublishPost(ctx, r, feed.NewPost{Text: text, RepostOf: post}); err == nil {
			c.posts = append(c.posts, p.ID)
		}
	case "delete":
		_ = c.w.svc.DeletePost(ctx, r, post)
	}
}

func TestBoardsAreWhatARecountGives(t *testing.T) {
	t.Parallel()
	set := recommend.DefaultSettings()
	set.Window = 3
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, set, start)
			var earlier crowd
			rapid.Check(t, func(rt *rapid.T) {
				w.flush()
				w.learnAll()
				c := newCrowd(w)
				earlier.users = append(earlier.users, c.users...) // worlds are dear: this one goes on
				for range rapid.IntRange(5, 40).Draw(rt, "acts") {
					c.act(rt)
					if rapid.IntRange(0, 2).Draw(rt, "learn") == 0 {
						w.must(w.learner.Learn(context.Background(), rapid.SampledFrom(c.users).Draw(rt, "learned")))
					}
				}
				w.must(w.learner.Learn(context.Background(), c.users...))
				epoch := w.learning().Serving
				earlier.posts = append(earlier.posts, c.posts...)
				got, want := w.kept(epoch, earlier.posts, c.topics), w.recount(epoch, set.Window, earlier.users)
				if !maps.Equal(got, want) {
					rt.Fatalf("the boards differ from a recount: %s", difference(got, want))
				}
			})
		})
	}
}

func TestUndoingLikesLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, recommend.DefaultSettings(), start)
			c := newCrowd(w)
			for i, user := range c.users {
				w.like(user, c.posts[:4+i]...)
			}
			w.learnAll()
			epoch := w.learning().Serving
			before := w.kept(epoch, c.posts, c.topics)
			if len(before) == 0 {
				t.Fatal("the boards are empty, want some posts on them")
			}
			user := w.persons(1)[0]
			w.like(user, c.posts...)
			w.must(w.learner.Learn(context.Background(), user))
			if during := w.kept(epoch, c.posts, c.topics); maps.Equal(before, during) {
				t.Fatal("likes changed nothing")
			}
			for _, p := range c.posts {
				w.unlike(user, p)
				w.must(w.learner.Learn(context.Background(), user))
			}
			if after := w.kept(epoch, c.posts, c.topics); !maps.Equal(before, after) {
				t.Errorf("after undoing: %s", difference(after, before))
			}
		})
	}
}

// TestLearnersInParallel has two learners keep up with a crowd, through a loss
// of all hot data.
func TestLearnersInParallel(t *testing.T) {
	t.Parallel()
	set := recommend.DefaultSettings()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, set, start)
			for range 2 {
				stop := running(w.newLearner(set).Run)
				t.Cleanup(stop)
			}
			c := newCrowd(w)
			act := rapid.Custom(func(rt *rapid.T) int { c.act(rt); return 0 })
			var got, want boards
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("%+v: %s", w.learning(), difference(got, want))
				}
			})
			agree := func(what string, after int64) {
				t.Helper()
				eventually(t, what, func() bool {
					s := w.learning()
					if s.Serving <= after || s.Building != 0 || s.ServingUnder != w.svc.Generation() {
						return false
					}
					got, want = w.kept(s.Serving, c.posts, c.topics), w.recount(s.Serving, set.Window, c.users)
					return maps.Equal(got, want)
				})
			}
			for i := range 60 {
				act.Example(i)
			}
			agree("the first boards", 0)
			first := w.learning().Serving
			w.flush()
			for i := range 60 {
				act.Example(1000 + i)
			}
			agree("the boards after a loss", first)
			if n := len(w.kept(w.learning().Serving, c.posts, c.topics)); n == 0 {
				t.Error("the boards are empty, want some posts on them")
			}
		})
	}
}
