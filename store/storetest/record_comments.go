package storetest

import (
	"math"
	"slices"
	"testing"

	"feedgate/feed"
)

func commentTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"a comment is counted once and kept":      testInsertComment,
		"a post keeps its three oldest comments":  testFirstComments,
		"deleting a comment lets the next one up": testDeleteComment,
		"comments come oldest first, in pages":    testCommentPages,
		"only standing comments are read":         testCommentsByID,
		"comments of many at once converge":       testCommentsAtOnce,
		"awkward comments come back":              testAwkwardComments,
	}
}

func (s *suite) comment(t *testing.T, post, author feed.ID, at int64) feed.Comment {
	t.Helper()
	id := s.seq.Next()
	c := feed.Comment{ID: id, Post: post, Author: author, At: at, Text: "comment " + id.String()}
	wantBool(t, true)(s.rec.InsertComment(t.Context(), c))
	return c
}

func (s *suite) wantFirst(t *testing.T, post feed.ID, count int64, want ...feed.Comment) {
	t.Helper()
	got := s.readPost(t, post)
	if !slices.Equal(got.First, want) {
		t.Errorf("first comments:\n got %v\nwant %v", got.First, want)
	}
	if got.Comments != count {
		t.Errorf("got %d comments, want %d", got.Comments, count)
	}
}

func testInsertComment(s *suite) {
	t := s.t
	author := s.user(t)
	post := s.post(t, author, now)
	c := s.comment(t, post, author, now+1)
	changed := c
	changed.Text = "something else"
	wantBool(t, false)(s.rec.InsertComment(t.Context(), changed))
	s.wantFirst(t, post, 1, c)
	got, err := s.rec.Comments(t.Context(), post, feed.Position{}, 10)
	if err != nil || !slices.Equal(got, []feed.Comment{c}) {
		t.Errorf("got %v, %v, want %v", got, err, c)
	}
	wantBool(t, true)(s.rec.DeleteComment(t.Context(), c.ID, now+2))
	wantBool(t, false)(s.rec.InsertComment(t.Context(), c))
	s.wantFirst(t, post, 0)
}

func testFirstComments(s *suite) {
	t := s.t
	author := s.user(t)
	post, other := s.post(t, author, now), s.post(t, author, now+1)
	c := s.comment(t, post, author, now+3)
	s.wantFirst(t, post, 1, c)
	a := s.comment(t, post, author, now+1)
	s.wantFirst(t, post, 2, a, c)
	d := s.comment(t, post, author, now+3)
	s.comment(t, post, author, now+4)
	s.wantFirst(t, post, 4, a, c, d)
	b := s.comment(t, post, author, now+2)
	s.wantFirst(t, post, 5, a, b, c)
	s.wantFirst(t, other, 0)
}

func testDeleteComment(s *suite) {
	t := s.t
	author := s.user(t)
	post := s.post(t, author, now)
	var c []feed.Comment
	for i := range 5 {
		c = append(c, s.comment(t, post, author, now+int64(i)))
	}
	wantBool(t, true)(s.rec.DeleteComment(t.Context(), c[1].ID, now))
	s.wantFirst(t, post, 4, c[0], c[2], c[3])
	wantBool(t, false)(s.rec.DeleteComment(t.Context(), c[1].ID, now))
	wantBool(t, true)(s.rec.DeleteComment(t.Context(), c[4].ID, now))
	s.wantFirst(t, post, 3, c[0], c[2], c[3])
	for _, i := range []int{0, 2, 3} {
		wantBool(t, true)(s.rec.DeleteComment(t.Context(), c[i].ID, now))
	}
	s.wantFirst(t, post, 0)
	_, err := s.rec.DeleteComment(t.Context(), s.seq.Next(), now)
	wantCode(t, err, feed.CodeNotFound, "")
}

func testCommentPages(s *suite) {
	t := s.t
	author := s.user(t)
	post, other := s.post(t, author, now), s.post(t, author, now+1)
	var want []feed.Comment
	for _, at := range []int64{now + 2, now, now, now + 1, now, now + 2, now} {
		want = append(want, s.comment(t, post, author, at))
	}
	s.comment(t, other, author, now)
	gone := s.comment(t, post, author, now)
	wantBool(t, true)(s.rec.DeleteComment(t.Context(), gone.ID, now))
	slices.SortFunc(want, func(a, b feed.Comment) int { return b.Position().Compare(a.Position()) })
	for _, size := range []int{1, 2, 3, 7, 8} {
		var got []feed.Comment
		var above feed.Position
		for {
			page, err := s.rec.Comments(t.Context(), post, above, size)
			if err != nil || len(page) > size {
				t.Fatalf("got a page of %d, %v, want at most %d", len(page), err, size)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			above = page[len(page)-1].Position()
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d:\n got %v\nwant %v", size, got, want)
		}
	}
	for _, ask := range []struct {
		above feed.Position
		limit int
	}{{feed.Position{}, 0}, {feed.Position{At: math.MaxInt64, ID: math.MaxInt64}, 5}} {
		if got, err := s.rec.Comments(t.Context(), post, ask.above, ask.limit); err != nil || len(got) != 0 {
			t.Errorf("above %v, limit %d: got %v, %v, want none", ask.above, ask.limit, got, err)
		}
	}
}

func testCommentsByID(s *suite) {
	t := s.t
	author := s.user(t)
	post := s.post(t, author, now)
	a, b, gone := s.comment(t, post, author, now), s.comment(t, post, author, now), s.comment(t, post, author, now)
	wantBool(t, true)(s.rec.DeleteComment(t.Context(), gone.ID, now))
	got, err := s.rec.CommentsByID(t.Context(), []feed.ID{b.ID, gone.ID, a.ID, b.ID, s.seq.Next()})
	slices.SortFunc(got, func(a, b feed.Comment) int { return b.Position().Compare(a.Position()) })
	if want := []feed.Comment{a, b}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func testCommentsAtOnce(s *suite) {
	t := s.t
	author := s.user(t)
	post := s.post(t, author, now)
	const writers = 6
	errs := make([]error, writers)
	comments := make([]feed.Comment, writers)
	for i := range comments {
		comments[i] = feed.Comment{ID: s.seq.Next(), Post: post, Author: author, At: now + int64(i/2), Text: "x"}
	}
	atOnce(writers, func(i int) {
		if _, errs[i] = s.rec.InsertComment(t.Context(), comments[i]); errs[i] == nil && i == 1 {
			_, errs[i] = s.rec.DeleteComment(t.Context(), comments[i].ID, now)
		}
	})
	for _, err := range errs {
		wantNoError(t, err)
	}
	// What racing writers left behind, the recount puts right.
	s.recount(t)
	s.wantFirst(t, post, writers-1, comments[0], comments[2], comments[3])
}

func testAwkwardComments(s *suite) {
	t := s.t
	author := s.user(t)
	for i, text := range awkward() {
		post := s.post(t, author, now+int64(i))
		c := feed.Comment{ID: s.seq.Next(), Post: post, Author: author, At: now, Text: text}
		wantBool(t, true)(s.rec.InsertComment(t.Context(), c))
		s.wantFirst(t, post, 1, c)
		got, err := s.rec.CommentsByID(t.Context(), []feed.ID{c.ID})
		if err != nil || !slices.Equal(got, []feed.Comment{c}) {
			t.Errorf("got %+v, %v, want %q", got, err, text)
		}
	}
}
