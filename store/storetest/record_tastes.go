package storetest

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
)

func tasteTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"a post counts once, at its newest engagement": testTasteKinds,
		"what is taken back does not count":            testTasteUndone,
		"coming back to few posts hides no other":      testTasteRepeats,
		"imported likes and reposts count":             testTasteImported,
		"tastes are what a model says":                 testTasteModel,
		"tastes of many come in chunks":                testTasteMany,
		"the engaged are walked in id order":           testEngagedMany,
		"the newest posts of everybody are paged":      testRecentPosts,
	}
}

func (s *suite) wantTastes(t *testing.T, users []feed.ID, limit int, want ...feed.Tastes) {
	t.Helper()
	got, err := s.rec.TastesOf(t.Context(), users, limit)
	slices.SortFunc(got, func(a, b feed.Tastes) int { return cmp.Compare(a.User, b.User) })
	slices.SortFunc(want, func(a, b feed.Tastes) int { return cmp.Compare(a.User, b.User) })
	if err != nil || len(got) != len(want) || (len(want) > 0 && !reflect.DeepEqual(got, want)) {
		t.Fatalf("TastesOf(%v, %d):\n got %v, %v\nwant %v", users, limit, got, err, want)
	}
}

func (s *suite) like(t *testing.T, user, post feed.ID, at int64) {
	t.Helper()
	wantBool(t, true)(s.rec.Like(t.Context(), feed.Like{User: user, Post: post, At: at, Weight: 1}))
}

func (s *suite) say(t *testing.T, user, post feed.ID, at int64) feed.ID {
	t.Helper()
	c := feed.Comment{ID: s.seq.Next(), Post: post, Author: user, At: at, Text: "hm"}
	wantBool(t, true)(s.rec.InsertComment(t.Context(), c))
	return c.ID
}

func testTasteKinds(s *suite) {
	t := s.t
	a, b, author := s.user(t), s.user(t), s.user(t)
	var p [5]feed.ID
	for i := range p {
		p[i] = s.post(t, author, now+int64(i))
	}
	s.like(t, a, p[0], now+1)
	s.like(t, a, p[1], now+2)
	s.say(t, a, p[1], now+3)
	s.say(t, a, p[1], now+1)
	s.say(t, a, p[2], now+3)
	s.repost(t, a, now+4, p[0], author)
	s.repost(t, a, now+2, p[0], author)
	s.repost(t, a, now+2, p[3], author)
	s.like(t, a, p[3], now+5)
	s.like(t, b, p[4], now+9)
	all := []feed.Engagement{
		{Post: p[3], At: now + 5, Kind: feed.EngagedLike},
		{Post: p[0], At: now + 4, Kind: feed.EngagedRepost},
		{Post: p[2], At: now + 3, Kind: feed.EngagedComment},
		{Post: p[1], At: now + 3, Kind: feed.EngagedComment},
	}
	other := feed.Tastes{User: b, Engaged: []feed.Engagement{{Post: p[4], At: now + 9, Kind: feed.EngagedLike}}}
	for limit := 1; limit < 6; limit++ {
		mine := feed.Tastes{User: a, Engaged: all[:min(limit, len(all))]}
		s.wantTastes(t, []feed.ID{a}, limit, mine)
		s.wantTastes(t, []feed.ID{b, author, a, b, s.seq.Next()}, limit, mine, other)
	}
	s.wantTastes(t, []feed.ID{a, b}, 0)
	s.wantTastes(t, nil, 5)
	s.wantTastes(t, []feed.ID{author}, 5)

	// All in one millisecond: one engagement, of the same kind on every record.
	s.like(t, b, p[0], now+20)
	s.say(t, b, p[0], now+20)
	s.wantTastes(t, []feed.ID{b}, 1, feed.Tastes{User: b, Engaged: []feed.Engagement{{Post: p[0], At: now + 20, Kind: feed.EngagedComment}}})
	s.repost(t, b, now+20, p[0], author)
	s.wantTastes(t, []feed.ID{b}, 1, feed.Tastes{User: b, Engaged: []feed.Engagement{{Post: p[0], At: now + 20, Kind: feed.EngagedRepost}}})
}

func testTasteUndone(s *suite) {
	t := s.t
	a, author := s.user(t), s.user(t)
	post := s.post(t, author, now)
	is := func(at int64, kind feed.EngagementKind) feed.Tastes {
		return feed.Tastes{User: a, Engaged: []feed.Engagement{{Post: post, At: at, Kind: kind}}}
	}
	s.like(t, a, post, now+1)
	older, newer := s.say(t, a, post, now+2), s.say(t, a, post, now+3)
	repost := s.repost(t, a, now+4, post, author)
	wantIDs(t, a)(s.rec.Engaged(t.Context(), 0, 10))
	s.wantTastes(t, []feed.ID{a}, 5, is(now+4, feed.EngagedRepost))
	wantBool(t, true)(s.rec.DeletePost(t.Context(), repost, now+5))
	s.wantTastes(t, []feed.ID{a}, 5, is(now+3, feed.EngagedComment))
	wantBool(t, true)(s.rec.DeleteComment(t.Context(), newer, now+6))
	s.wantTastes(t, []feed.ID{a}, 5, is(now+2, feed.EngagedComment))
	wantBool(t, true)(s.rec.Unlike(t.Context(), a, post))
	wantIDs(t, a)(s.rec.Engaged(t.Context(), 0, 10))
	wantBool(t, true)(s.rec.DeleteComment(t.Context(), older, now+6))
	s.wantTastes(t, []feed.ID{a}, 5)
	wantIDs(t)(s.rec.Engaged(t.Context(), 0, 10))
	s.like(t, a, post, now+9)
	s.wantTastes(t, []feed.ID{a}, 5, is(now+9, feed.EngagedLike))
	// A like of a post that is deleted still tells what somebody likes.
	wantBool(t, true)(s.rec.DeletePost(t.Context(), post, now+10))
	s.wantTastes(t, []feed.ID{a}, 5, is(now+9, feed.EngagedLike))
	wantIDs(t, a)(s.rec.Engaged(t.Context(), 0, 10))
}

func testTasteRepeats(s *suite) {
	t := s.t
	a, author := s.user(t), s.user(t)
	posts := []feed.ID{s.post(t, author, now), s.post(t, author, now+1), s.post(t, author, now+2)}
	s.say(t, a, posts[0], now)
	for i := range int64(19) {
		s.say(t, a, posts[1], now+1+i%3)
		s.repost(t, a, now+5+i%2, posts[2], author)
	}
	all := []feed.Engagement{
		{Post: posts[2], At: now + 6, Kind: feed.EngagedRepost},
		{Post: posts[1], At: now + 3, Kind: feed.EngagedComment},
		{Post: posts[0], At: now, Kind: feed.EngagedComment},
	}
	for limit := 1; limit < 5; limit++ {
		s.wantTastes(t, []feed.ID{a}, limit, feed.Tastes{User: a, Engaged: all[:min(limit, len(all))]})
	}
}

func testTasteImported(s *suite) {
	t := s.t
	u := s.users(t, 3)
	posts := []feed.Post{
		{ID: s.seq.Next(), Author: u[0], At: now, Kind: "original"},
		{ID: s.seq.Next(), Author: u[0], At: now + 1, Kind: "original"},
	}
	posts = append(posts, feed.Post{ID: s.seq.Next(), Author: u[1], At: now + 7, Kind: "repost", RepostOf: posts[0].ID, OriginalAuthor: u[0]})
	wantOutcomes(t, slices.Repeat([]feed.OutcomeState{feed.Added}, 3))(s.rec.ImportPosts(t.Context(), posts))
	likes := []feed.Like{
		{User: u[1], Post: posts[1].ID, At: now + 8, Weight: 3},
		{User: u[2], Post: posts[1].ID, At: now + 9, Weight: 1},
	}
	wantOutcomes(t, slices.Repeat([]feed.OutcomeState{feed.Added}, 2))(s.rec.ImportLikes(t.Context(), likes))
	s.wantTastes(t, u, 9,
		feed.Tastes{User: u[1], Engaged: []feed.Engagement{
			{Post: posts[1].ID, At: now + 8, Kind: feed.EngagedLike}, {Post: posts[0].ID, At: now + 7, Kind: feed.EngagedRepost},
		}},
		feed.Tastes{User: u[2], Engaged: []feed.Engagement{{Post: posts[1].ID, At: now + 9, Kind: feed.EngagedLike}}})
	wantIDs(t, u[1], u[2])(s.rec.Engaged(t.Context(), 0, 10))
}

// testTasteModel does random things and compares with what is left of them.
func testTasteModel(s *suite) {
	sparingly(s.t, func(rt *rapid.T) {
		w := &world{people: s.users(s.t, 3), likes: map[[2]feed.ID]bool{}, gone: map[feed.ID]bool{}}
		liked := map[[2]feed.ID]int64{}
		for range rapid.IntRange(1, 18).Draw(rt, "steps") {
			if err := s.engage(rt, w, liked); err != nil {
				rt.Fatal(err)
			}
		}
		limit := rapid.IntRange(1, 6).Draw(rt, "limit")
		var want []feed.Tastes
		var engaged []feed.ID
		for _, user := range w.people {
			if e := w.engaged(user, liked); len(e) > 0 {
				want = append(want, feed.Tastes{User: user, Engaged: e[:min(limit, len(e))]})
				engaged = append(engaged, user)
			}
		}
		got, err := s.rec.TastesOf(s.t.Context(), w.people, limit)
		slices.SortFunc(got, func(a, b feed.Tastes) int { return cmp.Compare(a.User, b.User) })
		if err != nil || len(got) != len(want) || (len(want) > 0 && !reflect.DeepEqual(got, want)) {
			rt.Fatalf("at most %d:\n got %v, %v\nwant %v", limit, got, err, want)
		}
		ids, err := s.rec.Engaged(s.t.Context(), w.people[0]-1, 10)
		if err != nil || !slices.Equal(ids, engaged) {
			rt.Fatalf("engaged are %v, %v, want %v", ids, err, engaged)
		}
		var entries []feed.Entry
		for i := range w.posts {
			if p := &w.posts[i]; !w.gone[p.ID] {
				entries = append(entries, feed.Entry{At: p.At, ID: p.ID, Author: p.Author})
			}
		}
		recent, err := s.rec.RecentPosts(s.t.Context(), feed.Newest(), 1_000)
		recent = slices.DeleteFunc(recent, func(e feed.Entry) bool { return !slices.Contains(w.people, e.Author) })
		if model := model(entries, w.people, feed.Newest(), 1_000); err != nil || !slices.Equal(recent, model) {
			rt.Fatalf("recent posts are %v, %v, want %v", recent, err, model)
		}
	})
}

// engage does one thing, as step does, and remembers when likes were.
func (s *suite) engage(rt *rapid.T, w *world, liked map[[2]feed.ID]int64) error {
	ctx := s.t.Context()
	who := rapid.SampledFrom(w.people).Draw(rt, "who")
	at := now + rapid.Int64Range(0, 4).Draw(rt, "at")
	kind := rapid.IntRange(0, 6).Draw(rt, "what")
	if len(w.posts) == 0 || kind == 0 {
		return s.publish(ctx, w, feed.Post{ID: s.seq.Next(), Author: who, At: at, Kind: "original"})
	}
	on := rapid.SampledFrom(w.posts).Draw(rt, "on")
	if on.RepostOf != 0 && kind != 2 {
		on = w.posts[0] // never a repost
	}
	edge := [2]feed.ID{who, on.ID}
	var err error
	switch kind {
	case 1:
		return s.publish(ctx, w, feed.Post{
			ID: s.seq.Next(), Author: who, At: at, Kind: "repost", RepostOf: on.ID, OriginalAuthor: on.Author,
		})
	case 2:
		_, err = s.rec.DeletePost(ctx, on.ID, at)
		w.gone[on.ID] = true
	case 3:
		if _, is := liked[edge]; !is {
			liked[edge] = at
		}
		_, err = s.rec.Like(ctx, feed.Like{User: who, Post: on.ID, At: at, Weight: 1})
	case 4:
		delete(liked, edge)
		_, err = s.rec.Unlike(ctx, who, on.ID)
	case 5:
		c := feed.Comment{ID: s.seq.Next(), Post: on.ID, Author: who, At: at, Text: "x"}
		w.comments = append(w.comments, c)
		_, err = s.rec.InsertComment(ctx, c)
	default:
		if len(w.comments) == 0 {
			return nil
		}
		c := rapid.SampledFrom(w.comments).Draw(rt, "comment")
		w.gone[c.ID] = true
		_, err = s.rec.DeleteComment(ctx, c.ID, at)
	}
	if err != nil {
		return fmt.Errorf("step %d on %d: %w", kind, on.ID, err)
	}
	return nil
}

// engaged gives what a user engaged with, by the model.
func (w *world) engaged(user feed.ID, liked map[[2]feed.ID]int64) []feed.Engagement {
	newest := map[feed.ID]feed.Engagement{}
	add := func(e feed.Engagement) {
		if was, ok := newest[e.Post]; !ok || cmp.Or(cmp.Compare(e.At, was.At), cmp.Compare(e.Kind, was.Kind)) > 0 {
			newest[e.Post] = e
		}
	}
	for edge, at := range liked {
		if edge[0] == user {
			add(feed.Engagement{Post: edge[1], At: at, Kind: feed.EngagedLike})
		}
	}
	for _, c := range w.comments {
		if c.Author == user && !w.gone[c.ID] {
			add(feed.Engagement{Post: c.Post, At: c.At, Kind: feed.EngagedComment})
		}
	}
	for i := range w.posts {
		if p := &w.posts[i]; p.Author == user && p.RepostOf != 0 && !w.gone[p.ID] {
			add(feed.Engagement{Post: p.RepostOf, At: p.At, Kind: feed.EngagedRepost})
		}
	}
	var all []feed.Engagement
	for _, e := range newest {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b feed.Engagement) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.Post, a.Post))
	})
	return all
}

func testTasteMany(s *suite) {
	t := s.t
	u := s.users(t, 520) // more than a record asks for at once
	p := s.imported(t, u[0], now, now+1)
	var likes []feed.Like
	var want []feed.Tastes
	for i := 3; i < len(u); i += 40 {
		likes = append(likes, feed.Like{User: u[i], Post: p[0].ID, At: now + int64(i), Weight: 1})
		want = append(want, feed.Tastes{User: u[i], Engaged: []feed.Engagement{{Post: p[0].ID, At: now + int64(i), Kind: feed.EngagedLike}}})
	}
	wantOutcomes(t, slices.Repeat([]feed.OutcomeState{feed.Added}, len(likes)))(s.rec.ImportLikes(t.Context(), likes))
	asked := slices.Clone(u)
	slices.Reverse(asked)
	before := slices.Clone(asked)
	s.wantTastes(t, asked, 5, want...)
	if !slices.Equal(asked, before) {
		t.Error("the users asked for were reordered")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.rec.TastesOf(ctx, u, 5)
	wantCode(t, err, feed.CodeUnavailable, "")
}

func testEngagedMany(s *suite) {
	t := s.t
	u := s.users(t, 230)
	post := s.post(t, u[0], now)
	var want []feed.ID
	for i := 1; i < len(u); i += 19 {
		switch i % 3 {
		case 0:
			s.like(t, u[i], post, now)
		case 1:
			s.say(t, u[i], post, now)
			s.say(t, u[i], post, now)
		default:
			s.repost(t, u[i], now, post, u[0])
			s.like(t, u[i], post, now)
		}
		want = append(want, u[i])
	}
	for _, size := range []int{1, 2, 5, len(want), len(want) + 1} {
		var got []feed.ID
		after := feed.ID(0)
		for {
			page, err := s.rec.Engaged(t.Context(), after, size)
			if err != nil || len(page) > size {
				t.Fatalf("got %d, %v, want at most %d", len(page), err, size)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			after = page[len(page)-1]
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: got %v, want %v", size, got, want)
		}
	}
	wantIDs(t, want[3:]...)(s.rec.Engaged(t.Context(), want[2], 1_000))
	wantIDs(t, want[2:]...)(s.rec.Engaged(t.Context(), want[2]-1, 1_000))
	wantIDs(t)(s.rec.Engaged(t.Context(), want[len(want)-1], 1_000))
	wantIDs(t)(s.rec.Engaged(t.Context(), 0, 0))
	if n := s.cost(func() { _, _ = s.rec.Engaged(t.Context(), 0, 1_000) }); n > 4 {
		t.Errorf("walking %d users took %d commands, want at most 4", len(u), n)
	}
}

func testRecentPosts(s *suite) {
	t := s.t
	u := s.users(t, 3)
	var all []feed.Entry
	for i, author := range u {
		all = append(all, s.imported(t, author, now, now+int64(i), now+1, now+1, now-4, now)...)
	}
	for _, i := range []int{2, 9} {
		wantBool(t, true)(s.rec.DeletePost(t.Context(), all[i].ID, now))
		all[i].Author = 0
	}
	want := model(all, u, feed.Newest(), len(all))
	for _, size := range []int{1, 2, 3, 7, len(all), len(all) + 1} {
		var got []feed.Entry
		for below := feed.Newest(); ; below = got[len(got)-1].Position() {
			page, err := s.rec.RecentPosts(t.Context(), below, size)
			if err != nil || len(page) > size {
				t.Fatalf("got a page of %d, %v, want at most %d", len(page), err, size)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d:\n got %v\nwant %v", size, got, want)
		}
	}
	if got, err := s.rec.RecentPosts(t.Context(), feed.Newest(), 0); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v for no limit, want none", got, err)
	}
	for below, most := range map[feed.Position]int64{feed.Newest(): 1, want[3].Position(): 2} {
		if n := s.cost(func() { _, _ = s.rec.RecentPosts(t.Context(), below, 5) }); n > most {
			t.Errorf("below %v it took %d commands, want at most %d", below, n, most)
		}
	}
}
