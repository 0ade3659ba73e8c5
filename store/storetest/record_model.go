package storetest

import (
	"context"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"feedgate/feed"
)

// world is a small model of what a record holds: two people and what they do.
type world struct {
	people   []feed.ID
	posts    []feed.Post // in the order of their ids
	likes    map[[2]feed.ID]bool
	comments []feed.Comment
	gone     map[feed.ID]bool // deleted posts and comments
}

// testMutationModel compares counters, first comments and lists with the model.
func testMutationModel(s *suite) {
	sparingly(s.t, func(rt *rapid.T) {
		w := &world{people: s.users(s.t, 2), likes: map[[2]feed.ID]bool{}, gone: map[feed.ID]bool{}}
		for range rapid.IntRange(1, 14).Draw(rt, "steps") {
			if err := s.step(rt, w); err != nil {
				rt.Fatal(err)
			}
		}
		if err := s.compare(s.t.Context(), w); err != nil {
			rt.Fatal(err)
		}
	})
}

// step does one thing in both, and compares what the record returned.
func (s *suite) step(rt *rapid.T, w *world) error {
	ctx := s.t.Context()
	who := rapid.SampledFrom(w.people).Draw(rt, "who")
	at := now + rapid.Int64Range(0, 3).Draw(rt, "at")
	kind := rapid.IntRange(0, 6).Draw(rt, "what")
	if len(w.posts) == 0 {
		kind = 0
	}
	if kind == 0 {
		return s.publish(ctx, w, feed.Post{ID: s.seq.Next(), Author: who, At: at, Kind: "original"})
	}
	on := rapid.SampledFrom(w.posts).Draw(rt, "on")
	edge := [2]feed.ID{who, on.ID}
	var (
		got, want bool
		err       error
	)
	switch kind {
	case 1:
		if on.RepostOf != 0 {
			return nil
		}
		return s.publish(ctx, w, feed.Post{
			ID: s.seq.Next(), Author: who, At: at, Kind: "repost", RepostOf: on.ID, OriginalAuthor: on.Author,
		})
	case 2:
		got, err = s.rec.DeletePost(ctx, on.ID, at)
		want, w.gone[on.ID] = !w.gone[on.ID], true
	case 3:
		got, err = s.rec.Like(ctx, feed.Like{User: who, Post: on.ID, At: at, Weight: 1})
		want, w.likes[edge] = !w.likes[edge], true
	case 4:
		got, err = s.rec.Unlike(ctx, who, on.ID)
		want, w.likes[edge] = w.likes[edge], false
	case 5:
		c := feed.Comment{ID: s.seq.Next(), Post: on.ID, Author: who, At: at, Text: "x"}
		w.comments = append(w.comments, c)
		want = true
		got, err = s.rec.InsertComment(ctx, c)
	default:
		if len(w.comments) == 0 {
			return nil
		}
		c := rapid.SampledFrom(w.comments).Draw(rt, "comment")
		got, err = s.rec.DeleteComment(ctx, c.ID, at)
		want, w.gone[c.ID] = !w.gone[c.ID], true
	}
	if err != nil || got != want {
		return fmt.Errorf("step %d on %d: got %v, %w, want %v", kind, on.ID, got, err, want)
	}
	return nil
}

func (s *suite) publish(ctx context.Context, w *world, p feed.Post) error {
	w.posts = append(w.posts, p)
	inserted, err := s.rec.InsertPost(ctx, p, feed.Duty{Post: p.ID, Author: p.Author, At: p.At, Lane: feed.LaneSmall})
	if err != nil || !inserted {
		return fmt.Errorf("publish %d: got %v, %w, want true", p.ID, inserted, err)
	}
	return nil
}

// compare reads everything and looks for the first difference.
func (s *suite) compare(ctx context.Context, w *world) error {
	users, err := s.rec.UsersByID(ctx, w.people)
	if err != nil {
		return err
	}
	for _, u := range users {
		var want feed.UserCounts
		for i := range w.posts {
			if p := &w.posts[i]; p.Author == u.ID && !w.gone[p.ID] {
				want.Posts++
			}
		}
		if u.UserCounts != want {
			return fmt.Errorf("user %d has %+v, want %+v", u.ID, u.UserCounts, want)
		}
	}
	var ids []feed.ID
	var entries []feed.Entry
	for i := range w.posts {
		p := &w.posts[i]
		ids = append(ids, p.ID)
		if !w.gone[p.ID] {
			entries = append(entries, feed.Entry{At: p.At, ID: p.ID, Author: p.Author})
		}
	}
	got, err := s.rec.Entries(ctx, w.people, feed.Newest(), 100)
	if want := model(entries, w.people, feed.Newest(), 100); err != nil || !slices.Equal(got, want) {
		return fmt.Errorf("entries are %v, %w, want %v", got, err, want)
	}
	rows, err := s.rec.PostsByID(ctx, ids)
	if err != nil || len(rows) != len(ids) {
		return fmt.Errorf("got %d posts, %w, want %d", len(rows), err, len(ids))
	}
	for i := range rows {
		if got, want := fmt.Sprint(rows[i].Stats), fmt.Sprint(w.stats(rows[i].ID)); got != want {
			return fmt.Errorf("post %d has %s, want %s", rows[i].ID, got, want)
		}
		if got, want := rows[i].DeletedAt != 0, w.gone[rows[i].ID]; got != want {
			return fmt.Errorf("post %d is deleted: %v, want %v", rows[i].ID, got, want)
		}
	}
	return nil
}

// stats gives a post's changing facts by the model.
func (w *world) stats(post feed.ID) feed.Stats {
	var st feed.Stats
	for edge, is := range w.likes {
		if is && edge[1] == post {
			st.Likes++
		}
	}
	for i := range w.posts {
		if w.posts[i].RepostOf == post && !w.gone[w.posts[i].ID] {
			st.Reposts++
		}
	}
	for _, c := range w.comments {
		if c.Post == post && !w.gone[c.ID] {
			st.First = append(st.First, c)
		}
	}
	st.Comments = int64(len(st.First))
	slices.SortFunc(st.First, func(a, b feed.Comment) int { return b.Position().Compare(a.Position()) })
	st.First = st.First[:min(feed.FirstComments, len(st.First))]
	return st
}
