package httpapi_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"feedgate/feed"
)

// dotAnswer is a red dot as a query gives it.
type dotAnswer struct {
	FeedCount       int
	FeedCountCapped bool
	NewestPost      *struct {
		Text   string
		Author struct{ Handle string }
	}
}

func (d *dotAnswer) String() string {
	newest := "nothing"
	if d.NewestPost != nil {
		newest = d.NewestPost.Text + " by " + d.NewestPost.Author.Handle
	}
	return fmt.Sprint(d.FeedCount, d.FeedCountCapped, " ", newest)
}

const dotFields = `{ feedCount feedCountCapped newestPost { text author { handle } } }`

func TestADotIsClearedByReading(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, ann := w.pair()
	for i := range 120 {
		w.publish(ann, feed.NewPost{Text: strconv.Itoa(i)})
	}
	var got struct {
		RedDot     dotAnswer
		FollowFeed struct {
			RedDot dotAnswer
			Edges  []struct{ Cursor string }
		}
	}
	read := func(want string) string {
		t.Helper()
		w.as(reader, `{ redDot `+dotFields+` followFeed(first: 30) { edges { cursor } redDot `+dotFields+` } }`, nil).into(t, &got)
		if a, b := got.RedDot.String(), got.FollowFeed.RedDot.String(); a != want || b != want {
			t.Errorf("got %s and %s, want %s", a, b, want)
		}
		return got.FollowFeed.Edges[0].Cursor
	}
	first := read("99 true 119 by ann")
	old := got.FollowFeed.Edges
	w.publish(ann, feed.NewPost{Text: "late"})
	mark := func(cursor *string, want string) {
		t.Helper()
		var got struct{ MarkFeedSeen struct{ RedDot dotAnswer } }
		w.as(reader, `mutation($upTo: String) { markFeedSeen(input: {upTo: $upTo}) { redDot `+dotFields+` } }`, map[string]any{"upTo": cursor}).into(t, &got)
		if s := got.MarkFeedSeen.RedDot.String(); s != want {
			t.Errorf("marking gives %s, want %s", s, want)
		}
	}
	mark(&first, "1 false late by ann")
	mark(&old[20].Cursor, "1 false late by ann") // another device is behind
	read("1 false late by ann")
	mark(nil, "0 false nothing")
	read("0 false nothing")
	if a := w.as(reader, `mutation { markFeedSeen { redDot { feedCount } } }`, nil); a.text != `{"data":{"markFeedSeen":{"redDot":{"feedCount":0}}}}` {
		t.Errorf("without input: %s", a.text)
	}
}

func TestMarksAndDotsThatCannotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, ann := w.pair()
	w.publish(ann, feed.NewPost{Text: "one"})
	posts := feed.EncodeCursor(feed.CursorPosts, feed.Position{At: 1, ID: 1}, 1)
	for _, cursor := range []string{"", "x", posts} {
		a := w.as(reader, `mutation($upTo: String) { markFeedSeen(input: {upTo: $upTo}) { redDot { feedCount } } }`, map[string]any{"upTo": cursor})
		if a.code() != "BAD_USER_INPUT" || a.Errors[0].Extensions.Field != "upTo" {
			t.Errorf("%q: %s", cursor, a.text)
		}
	}
	for _, query := range []string{`{ redDot { feedCount } }`, `mutation { markFeedSeen { redDot { feedCount } } }`, `mutation { markNoticesSeen { redDot { feedCount } } }`} {
		for _, who := range []feed.ID{0, 4711} {
			if a := w.as(who, query, nil); a.code() != "UNAUTHENTICATED" {
				t.Errorf("%d, %s: %s", who, query, a.text)
			}
		}
	}
	w.faults.on("Seen", func(context.Context) error { return feed.Unavailable("the record is away", nil) })
	a := w.as(reader, `mutation { markFeedSeen { redDot { feedCount } } }`, nil)
	if a.code() != "UNAVAILABLE" || string(a.Data) != `{"markFeedSeen":{"redDot":null}}` {
		t.Errorf("marked, but not derived: %s", a.text)
	}
	w.faults.on("Seen", nil)
	a = w.as(reader, `{ redDot { feedCount } }`, nil)
	if a.text != `{"data":{"redDot":{"feedCount":0}}}` {
		t.Errorf("then: %s", a.text)
	}
}

func TestADotTakesFewRoundTrips(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.town(60)
	read := func(query string) func() {
		return func() {
			if a := w.as(reader, query, nil); len(a.Errors) > 0 {
				t.Errorf("%s", a.text)
			}
		}
	}
	dot, both := read(`{ redDot { feedCount newestPost { text likeCount author { handle } } } }`),
		read(`{ followFeed(first: 50) { nodes { text author { handle } } redDot { feedCount newestPost { text likeCount author { handle } } } } }`)
	w.until("the inbox is filled", func() bool { return w.tripsOf(both, both).sum() <= 14 })
	w.rest()
	one, two := w.tripsOf(dot, dot), w.tripsOf(both, both)
	t.Logf("a dot %+v, with a page %+v", one, two)
	if one.sum() > 10 || two.sum() > 14 {
		t.Errorf("a dot takes %+v, with a page %+v", one, two)
	}
}
