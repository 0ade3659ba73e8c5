package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"feedgate/feed"
	"feedgate/internal/httpapi"
)

func TestAPanicShowsNothingOfTheInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	w.faults.on("UserByHandle", func(context.Context) error { panic("SECRET inside") })
	a := w.send(post(operation(`{ user(handle: "ann") { id } again: user(handle: "ann") { id } viewer { id } }`, nil),
		"X-Feedgate-User", ann.String(), "X-Request-Id", "abc-123"))
	if a.status != http.StatusOK || len(a.Errors) != 2 || a.code() != "INTERNAL" || a.Errors[0].Extensions.RequestID != "abc-123" {
		t.Errorf("got %d %s", a.status, a.text)
	}
	if strings.Contains(a.text, "SECRET") || strings.Contains(a.text, ".go") {
		t.Errorf("the inside shows: %s", a.text)
	}
	if !strings.Contains(string(a.Data), `"viewer":{"id":"user:`) {
		t.Errorf("the panic took other fields along: %s", a.text)
	}
	logged := strings.Join(w.log.lines(), "\n")
	if n := strings.Count(logged, "SECRET inside"); n != 1 && n != 2 { // the stacks of two goroutines may differ
		t.Errorf("the panic was logged %d times: %s", n, logged)
	}
	if !strings.Contains(logged, "abc-123") {
		t.Errorf("the log does not name the request: %s", logged)
	}
}

func TestAnUnknownErrorIsInternalAndLoggedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.town(10)
	w.faults.on("FollowersAmong", func(context.Context) error { return errors.New("driver: SECRET at 10.0.0.7") })
	a := w.as(reader, `{ followFeed(first: 10) { nodes { id author { handle followsViewer } } } }`, nil)
	if a.status != http.StatusOK || len(a.Errors) != 10 || a.code() != "INTERNAL" || a.Errors[0].Extensions.RequestID == "" || strings.Contains(a.text, "SECRET") {
		t.Errorf("got %d %s", a.status, a.text)
	}
	if got := fmt.Sprint(a.Errors[0].Path); !strings.HasPrefix(got, "[followFeed nodes") || !strings.HasSuffix(got, "author followsViewer]") {
		t.Errorf("path is %s", got)
	}
	if n := strings.Count(strings.Join(w.log.lines(), "\n"), "SECRET"); n != 1 {
		t.Errorf("logged %d times, want once", n)
	}
}

func TestABrokenFieldIsNullAndTheFeedStands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.town(5)
	w.faults.on("FollowersAmong", func(context.Context) error { return feed.Unavailable("the record can't be asked now: try again", nil) })
	a := w.as(reader, `{ followFeed(first: 5) { edges { cursor node { id text author { handle followsViewer } } } pageInfo { endCursor } } }`, nil)
	if len(a.Errors) != 5 || a.code() != "UNAVAILABLE" || strings.Count(string(a.Data), `"followsViewer":null`) != 5 || strings.Count(string(a.Data), `"text":"Post`) != 5 {
		t.Errorf("got %d errors: %s", len(a.Errors), a.text)
	}
	post := w.publish(reader, feed.NewPost{Text: "mine"})
	for i := range 5 {
		_, err := w.svc.CommentOn(context.Background(), w.svc.Reader(reader), feed.NewComment{Post: post, Text: strconv.Itoa(i)})
		w.must(err)
	}
	w.faults.on("Comments", func(context.Context) error { return feed.Unavailable("the record can't be asked now: try again", nil) })
	a = w.as(reader, `{ followFeed(first: 5) { nodes { text comments(first: 4) { nodes { text } } } } }`, nil)
	if len(a.Errors) != 1 || a.code() != "UNAVAILABLE" || strings.Count(string(a.Data), `"comments":null`) != 1 || strings.Count(string(a.Data), `"text":"Post`) != 4 {
		t.Errorf("got %d errors: %s", len(a.Errors), a.text)
	}
}

func TestTheFeedStandsWhenAPartOfItFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.town(5)
	w.faults.on("LikedAmong", func(context.Context) error { return feed.Unavailable("the record can't be asked now: try again", nil) })
	a := w.as(reader, `{ followFeed(first: 5) { edges { cursor node { text viewerHasLiked likeCount commentCount author { handle } comments(first: 2) { nodes { author { handle } } } } } } }`, nil)
	data := string(a.Data)
	if len(a.Errors) != 5 || a.code() != "UNAVAILABLE" || strings.Count(data, `"viewerHasLiked":null`) != 5 ||
		strings.Count(data, `"text":"Post`) != 5 || strings.Count(data, `"handle":"person_`) != 15 || strings.Count(data, `"commentCount":2`) != 5 {
		t.Errorf("got %d errors: %s", len(a.Errors), a.text)
	}
	if n := strings.Count(strings.Join(w.log.lines(), "\n"), "request failed"); n != 1 {
		t.Errorf("logged %d times, want once", n)
	}
}

func TestADeadlineIsAnErrorNotAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *httpapi.Config) { c.Timeout = time.Millisecond })
	ann := w.person("ann")
	w.faults.on("UserByHandle", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	a := w.as(ann, `{ user(handle: "ann") { id } }`, nil)
	if a.code() != "UNAVAILABLE" {
		t.Errorf("got %d %s, want UNAVAILABLE", a.status, a.text)
	}
}

func TestWorkStopsWhenTheClientGoesAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	ctx, cancel := context.WithCancel(context.Background())
	started, stopped := make(chan struct{}), make(chan struct{})
	w.faults.on("UserByHandle", func(ctx context.Context) error {
		close(started)
		<-ctx.Done()
		close(stopped)
		return ctx.Err()
	})
	go func() {
		<-started
		cancel()
	}()
	r := post(operation(`{ user(handle: "ann") { id } }`, nil), "X-Feedgate-User", ann.String())
	a := w.send(r.WithContext(ctx))
	<-stopped
	if a.status == http.StatusOK && len(a.Errors) == 0 {
		t.Errorf("got %d %s", a.status, a.text)
	}
}

func TestRequestsThatEndedBeforeTheyBegan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a := w.send(post(operation(`{ viewer { id } }`, nil)).WithContext(ctx))
	if a.status != http.StatusServiceUnavailable || a.code() != "UNAVAILABLE" {
		t.Errorf("got %d %s", a.status, a.text)
	}
}

func TestOneReaderNeverSeesAnothersValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob, carol := w.person("ann"), w.person("bob"), w.person("carol")
	p := w.publish(carol, feed.NewPost{Text: "x"})
	w.follow(ann, carol)
	_, err := w.svc.Like(context.Background(), w.svc.Reader(ann), p)
	w.must(err)
	q := `{ post(id: "post:` + p.String() + `") { viewerHasLiked author { viewerFollows } } }`
	for range 3 {
		if a := w.as(ann, q, nil); a.text != `{"data":{"post":{"viewerHasLiked":true,"author":{"viewerFollows":true}}}}` {
			t.Errorf("ann sees %s", a.text)
		}
		if a := w.as(bob, q, nil); a.text != `{"data":{"post":{"viewerHasLiked":false,"author":{"viewerFollows":false}}}}` {
			t.Errorf("bob sees %s", a.text)
		}
		if a := w.as(0, q, nil); a.text != `{"data":{"post":{"viewerHasLiked":false,"author":{"viewerFollows":false}}}}` {
			t.Errorf("nobody sees %s", a.text)
		}
	}
}
