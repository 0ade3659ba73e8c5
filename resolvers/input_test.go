package resolvers

import (
	"errors"
	"math"
	"testing"

	"github.com/99designs/gqlgen/graphql"

	"feedgate/feed"
	"feedgate/graph/model"
)

func TestIDsAreParsedForOneKind(t *testing.T) {
	t.Parallel()
	if id, err := parseID("postId", feed.NodePost, "post:9223372036854775807"); err != nil || id != math.MaxInt64 {
		t.Errorf("got %v, %v", id, err)
	}
	for _, s := range []string{"", "post", "post:", "post:0", "post:x", "user:1", "comment:1", "1", "post:1 ", "POST:1", "post:9223372036854775808"} {
		id, err := parseID("postId", feed.NodePost, s)
		e, ok := errors.AsType[*feed.Error](err)
		if id != 0 || !ok || e.Code != feed.CodeBadInput || e.Field != "postId" || e.Text == "" {
			t.Errorf("%q: got %v, %v, want BAD_USER_INPUT about postId", s, id, err)
		}
	}
}

func TestPagesAreBounded(t *testing.T) {
	t.Parallel()
	cursor := feed.EncodeCursor(feed.CursorPosts, feed.Position{At: 5, ID: 6}, 7)
	for _, c := range []struct {
		first *int
		after *string
		n     int
		at    feed.Position
	}{
		{nil, nil, 20, feed.Newest()},
		{new(1), nil, 1, feed.Newest()},
		{new(100), &cursor, 100, feed.Position{At: 5, ID: 6}},
	} {
		if n, at, err := page(feed.CursorPosts, c.first, c.after); err != nil || n != c.n || at != c.at {
			t.Errorf("got %d, %v, %v, want %d, %v", n, at, err, c.n, c.at)
		}
	}
	for _, first := range []int{0, -1, 101, math.MaxInt, math.MinInt} {
		if _, _, err := page(feed.CursorPosts, &first, nil); feed.CodeOf(err) != feed.CodeBadInput {
			t.Errorf("first %d: got %v", first, err)
		}
	}
	if _, _, err := page(feed.CursorFollowers, nil, &cursor); feed.CodeOf(err) != feed.CodeBadInput {
		t.Errorf("a cursor of another list: got %v", err)
	}
}

func TestChangesTellLeftOutFromNull(t *testing.T) {
	t.Parallel()
	s := "x"
	if got := change(graphql.Omittable[*string]{}); got != nil {
		t.Errorf("left out: got %q, want nil", *got)
	}
	if got := change(graphql.OmittableOf[*string](nil)); got == nil || *got != "" {
		t.Errorf("null: got %v, want an empty text", got)
	}
	if got := change(graphql.OmittableOf(&s)); got == nil || *got != "x" {
		t.Errorf("a text: got %v, want it", got)
	}
}

func TestNewPostsAreConverted(t *testing.T) {
	t.Parallel()
	repost := "post:9"
	city := feed.PrecisionCity
	got, err := newPost(model.PublishPostInput{
		RepostOf: &repost,
		Media:    []model.MediaInput{{URL: "u", Width: new(3)}},
		Link:     &model.LinkInput{URL: "l"},
		Place:    &model.PlaceInput{Latitude: 1, Longitude: 2, Precision: &city},
	})
	if err != nil || got.RepostOf != 9 || got.Media[0] != (feed.Media{URL: "u", Width: 3}) || *got.Link != (feed.Link{URL: "l"}) ||
		*got.Place != (feed.Place{Latitude: 1, Longitude: 2, Precision: feed.PrecisionCity}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, n := range []int{0, -1, math.MaxInt32 + 1} {
		_, err := newPost(model.PublishPostInput{Media: []model.MediaInput{{URL: "u", Height: &n}}})
		if e, ok := errors.AsType[*feed.Error](err); !ok || e.Field != "height" {
			t.Errorf("height %d: got %v", n, err)
		}
	}
}
