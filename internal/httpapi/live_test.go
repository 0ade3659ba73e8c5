package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"feedgate/feed"
)

const dotQuery = `subscription { redDot { feedCount noticeCount newestPost { id text author { handle } } } }`

// dot is the payload of a state with n posts, of which the newest is one of ann's.
func dot(n int, newest feed.ID, text string) string {
	if n == 0 {
		return `{"data":{"redDot":{"feedCount":0,"noticeCount":0,"newestPost":null}}}`
	}
	return fmt.Sprintf(`{"data":{"redDot":{"feedCount":%d,"noticeCount":0,"newestPost":{"id":"post:%d","text":%q,"author":{"handle":"ann"}}}}}`, n, newest, text)
}

// pair makes a reader who follows ann.
func (w *world) pair() (reader, ann feed.ID) {
	reader, ann = w.person("reader"), w.person("ann")
	w.follow(reader, ann)
	return reader, ann
}

func TestADotIsToldFirstAsItIsAndThenAsItChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, ann := w.pair()
	one := w.publish(ann, feed.NewPost{Text: "one"})
	g := w.gateway()
	c := g.as(reader)
	c.subscribe("a", dotQuery)
	c.want(dot(1, one, "one"))
	two := w.publish(ann, feed.NewPost{Text: "two"})
	c.until(dot(2, two, "two"))
	// When the dot arrives, reading shows the post.
	page, err := w.svc.FollowFeed(context.Background(), w.svc.Reader(reader), 1, feed.Newest(), feed.Want{})
	w.must(err)
	if page.Items[0].Post.ID != two {
		t.Errorf("the feed begins with %d, want %d", page.Items[0].Post.ID, two)
	}
	w.must(w.svc.DeletePost(context.Background(), w.svc.Reader(ann), two))
	c.until(dot(1, one, "one"))
	if a := w.as(reader, `mutation { markFeedSeen { redDot { feedCount newestPost { id } } } }`, nil); a.text != `{"data":{"markFeedSeen":{"redDot":{"feedCount":0,"newestPost":null}}}}` {
		t.Errorf("marking gives %s", a.text)
	}
	c.until(dot(0, 0, ""))
}

func TestGatewaysTellTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, ann := w.pair()
	g1, g2 := w.gateway(), w.gateway()
	var clients []*client
	for _, g := range []*gateway{g1, g2, g2} {
		c := g.as(reader)
		c.subscribe("a", dotQuery)
		c.want(dot(0, 0, ""))
		clients = append(clients, c)
	}
	s := g1.stream(reader)
	s.until(dot(0, 0, ""))
	p, err := g1.svc.PublishPost(context.Background(), g1.svc.Reader(ann), feed.NewPost{Text: "hello"})
	w.must(err)
	for _, c := range clients {
		c.until(dot(1, p.ID, "hello"))
	}
	s.until(dot(1, p.ID, "hello"))
	clients[1].ws.Close() // one of two on one gateway: the other still receives
	w.must(g2.svc.DeletePost(context.Background(), g2.svc.Reader(ann), p.ID))
	for _, c := range []*client{clients[0], clients[2]} {
		c.until(dot(0, 0, ""))
	}
	s.until(dot(0, 0, ""))
}

func TestUnfollowBlockAndMuteChangeTheDot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, ann := w.pair()
	one := w.publish(ann, feed.NewPost{Text: "one"})
	g := w.gateway()
	c := g.as(reader)
	c.subscribe("a", dotQuery)
	c.want(dot(1, one, "one"))
	ctx := context.Background()
	for name, step := range map[string]struct{ do, undo func() (*feed.User, error) }{
		"mute": {
			func() (*feed.User, error) { return w.svc.Mute(ctx, w.svc.Reader(reader), ann) },
			func() (*feed.User, error) { return w.svc.Unmute(ctx, w.svc.Reader(reader), ann) },
		},
		"block": {
			func() (*feed.User, error) { return w.svc.Block(ctx, w.svc.Reader(ann), reader) },
			func() (*feed.User, error) { return w.svc.Unblock(ctx, w.svc.Reader(ann), reader) },
		},
	} {
		t.Log(name)
		w.must2(step.do())
		c.until(dot(0, 0, ""))
		w.must2(step.undo())
		c.until(dot(1, one, "one"))
	}
	w.must2(w.svc.Unfollow(ctx, w.svc.Reader(reader), ann))
	c.until(dot(0, 0, ""))
}

func TestOnlyWhoReadsMaySubscribe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, ann := w.pair()
	reader := w.person("other")
	post := w.publish(ann, feed.NewPost{Text: "one"})
	g := w.gateway()
	nobody := g.dial("")
	nobody.welcomed()
	nobodyYet := g.as(4711)
	other := g.as(reader)
	progress := fmt.Sprintf(`subscription { deliveryProgress(postId: "post:%d") { state } }`, post)
	for name, try := range map[string]struct {
		by    *client
		query string
		code  string
	}{
		"nobody, a dot":            {nobody, dotQuery, "UNAUTHENTICATED"},
		"nobody, notices":          {nobody, `subscription { noticeAdded { id } }`, "UNAUTHENTICATED"},
		"nobody, a delivery":       {nobody, progress, "UNAUTHENTICATED"},
		"no profile, a dot":        {nobodyYet, dotQuery, "UNAUTHENTICATED"},
		"another's delivery":       {other, progress, "FORBIDDEN"},
		"no post's delivery":       {other, `subscription { deliveryProgress(postId: "post:1") { state } }`, "NOT_FOUND"},
		"a delivery of a person":   {other, `subscription { deliveryProgress(postId: "user:1") { state } }`, "BAD_USER_INPUT"},
		"two subscriptions in one": {other, `subscription { redDot { feedCount } noticeAdded { id } }`, "BAD_USER_INPUT"},
	} {
		try.by.subscribe("x", try.query)
		m := try.by.read()
		if got := codeIn(t, m.Payload); got != try.code {
			t.Errorf("%s: got %s %s, want %s", name, m.Type, m.Payload, try.code)
		}
		if m.Type == "next" {
			if end := try.by.read(); end.Type != "complete" {
				t.Errorf("%s: then %s %s", name, end.Type, end.Payload)
			}
		}
	}
	if got := g.stream(0).next(); codeIn(t, []byte(got[len("event: next|data: "):])) != "UNAUTHENTICATED" {
		t.Errorf("a stream for nobody: %s", got)
	}
}

func TestTokensOpenSocketsUntilTheyExpire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, _ := w.pair()
	g := w.gateway()
	mint := func(ttl time.Duration) string {
		token, err := w.tokens.Mint(reader, ttl)
		w.must(err)
		return token
	}
	long := mint(time.Hour)
	for _, init := range []string{`{"authorization":"Bearer ` + long + `"}`, `{"Authorization":"Bearer ` + long + `"}`, `{"token":"` + long + `"}`} {
		c := g.dial(init)
		c.welcomed()
		c.subscribe("a", dotQuery)
		c.want(dot(0, 0, ""))
	}
	c := g.dial("", "Authorization", "Bearer "+long)
	c.welcomed()
	c.subscribe("a", dotQuery)
	c.want(dot(0, 0, ""))
	for _, init := range []string{`{"authorization":"Bearer x"}`, `{"token":"` + mint(-time.Hour) + `"}`, `{"user":"x"}`, `{"authorization":"` + long + `"}`, `{"token":5}`} {
		if code, text := g.dial(init).closed(); code != 4403 || text == "" {
			t.Errorf("%s: closed with %d %q, want 4403 and why", init, code, text)
		}
	}
	// A token that lives just long enough for the first state: how long that is, is
	// up to the machine.
	for left := time.Second; ; left *= 2 {
		c = g.dial(`{"token":"` + mint(left-5*time.Second) + `"}`) // clocks may be 5 s apart
		c.subscribe("a", dotQuery)
		states := 0
		code, text := c.closedAfter(func(m message) {
			if string(m.Payload) == dot(0, 0, "") {
				states++
			}
		})
		if states == 0 && code == 4403 && left < wait/2 {
			continue
		}
		if states != 1 || code != 4403 || text != "token expired" {
			t.Errorf("closed with %d %q after %d states, want 4403 when the token expires", code, text, states)
		}
		return
	}
}

// codeIn gives the code of the first error in a payload: a response, or a list
// of errors.
func codeIn(tb testing.TB, payload []byte) string {
	tb.Helper()
	type failure struct {
		Extensions struct {
			Code string `json:"code"`
		} `json:"extensions"`
	}
	var errs []failure
	if json.Unmarshal(payload, &errs) != nil {
		var resp struct {
			Errors []failure `json:"errors"`
		}
		if err := json.Unmarshal(payload, &resp); err != nil {
			tb.Fatalf("%v: %s", err, payload)
		}
		errs = resp.Errors
	}
	if len(errs) == 0 {
		return ""
	}
	return errs[0].Extensions.Code
}
