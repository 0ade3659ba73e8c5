package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"feedgate/feed"
	"feedgate/internal/httpapi"
)

func TestNoticesAreToldAndGathered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	reader, ann := w.pair()
	bob := w.person("bob")
	g := w.gateway()
	c := g.as(reader)
	c.subscribe("n", `subscription { noticeAdded { kind actorCount actors { handle viewerFollows } post { text } } }`)
	d := g.as(reader)
	d.subscribe("d", `subscription { redDot { noticeCount } }`)
	d.want(`{"data":{"redDot":{"noticeCount":0}}}`)
	post := w.publish(reader, feed.NewPost{Text: "mine"})
	like := func(by feed.ID) {
		_, err := w.svc.Like(ctx, w.svc.Reader(by), post)
		w.must(err)
	}
	like(ann)
	annToo := `{"handle":"ann","viewerFollows":true}`
	c.want(`{"data":{"noticeAdded":{"kind":"LIKED","actorCount":1,"actors":[` + annToo + `],"post":{"text":"mine"}}}}`)
	d.until(`{"data":{"redDot":{"noticeCount":1}}}`)
	like(bob)
	c.want(`{"data":{"noticeAdded":{"kind":"LIKED","actorCount":2,"actors":[{"handle":"bob","viewerFollows":false},` + annToo + `],"post":{"text":"mine"}}}}`)
	w.follow(bob, reader)
	c.want(`{"data":{"noticeAdded":{"kind":"FOLLOWED","actorCount":1,"actors":[{"handle":"bob","viewerFollows":false}],"post":null}}}`)
	w.publish(ann, feed.NewPost{Text: "hello @reader"})
	c.want(`{"data":{"noticeAdded":{"kind":"MENTIONED","actorCount":1,"actors":[` + annToo + `],"post":{"text":"hello @reader"}}}}`)
	d.until(`{"data":{"redDot":{"noticeCount":3}}}`)

	var got struct {
		Notices struct {
			Nodes []struct {
				ID, Kind   string
				ActorCount int
			}
			PageInfo struct {
				HasNextPage bool
				EndCursor   string
			}
		}
	}
	w.as(reader, `{ notices(first: 2) { nodes { id kind actorCount } pageInfo { hasNextPage endCursor } } }`, nil).into(t, &got)
	if n := got.Notices.Nodes; len(n) != 2 || n[0].Kind != "MENTIONED" || n[1].Kind != "FOLLOWED" || !strings.HasPrefix(n[0].ID, "notice:") || !got.Notices.PageInfo.HasNextPage {
		t.Errorf("got %+v", got)
	}
	a := w.as(reader, `query($after: String) { notices(after: $after) { edges { cursor node { kind actorCount actors { handle } } } pageInfo { hasNextPage hasPreviousPage } } }`,
		map[string]any{"after": got.Notices.PageInfo.EndCursor})
	if !strings.Contains(a.text, `"kind":"LIKED","actorCount":2,"actors":[{"handle":"bob"},{"handle":"ann"}]`) || !strings.Contains(a.text, `{"hasNextPage":false,"hasPreviousPage":true}`) {
		t.Errorf("got %s", a.text)
	}
	if a := w.as(reader, `mutation { markNoticesSeen { redDot { noticeCount } } }`, nil); a.text != `{"data":{"markNoticesSeen":{"redDot":{"noticeCount":0}}}}` {
		t.Errorf("got %s", a.text)
	}
	d.until(`{"data":{"redDot":{"noticeCount":0}}}`)
	if a := w.as(reader, `{ node(id: "`+got.Notices.Nodes[0].ID+`") { id } }`, nil); a.code() != "BAD_USER_INPUT" {
		t.Errorf("a notice as a node: %s", a.text)
	}
	if a := w.as(0, `{ notices { nodes { id } } }`, nil); a.code() != "UNAUTHENTICATED" {
		t.Errorf("nobody's notices: %s", a.text)
	}
}

func TestADeliveryIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, ann := w.pair()
	post := w.publish(ann, feed.NewPost{Text: "one"})
	g := w.gateway(func(c *httpapi.Config) { c.Sockets.Subscribed = 1 })
	c := g.as(ann)
	progress := fmt.Sprintf(`subscription { deliveryProgress(postId: "post:%d") { state total delivered } }`, post)
	c.subscribe("d", progress)
	state := func(s string, total, delivered int) string {
		return fmt.Sprintf(`{"data":{"deliveryProgress":{"state":%q,"total":%d,"delivered":%d}}}`, s, total, delivered)
	}
	c.want(state("PENDING", 0, 0))
	now := time.Now().UnixMilli()
	duty, err := w.record.BeginDuty(context.Background(), post, now, now+60_000)
	w.must(err)
	c.want(state("RUNNING", 0, 0))
	duty.Total, duty.Delivered = 2000, 1000
	w.must(w.record.SaveDuty(context.Background(), duty))
	c.want(state("RUNNING", 2000, 1000))
	duty.Delivered, duty.State = 2000, feed.DeliveryDone
	w.must(w.record.SaveDuty(context.Background(), duty))
	c.want(state("DONE", 2000, 2000))
	for range 20 {
		if m := c.read(); m.Type != "complete" || m.ID != "d" {
			t.Errorf("then %+v, want its end", m)
		}
		c.subscribe("d", progress) // the only place is free
		c.want(state("DONE", 2000, 2000))
	}
}

// TestEachEventShowsTheDataOfItsTime changes what a card shows between two events.
func TestEachEventShowsTheDataOfItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	reader, ann := w.pair()
	post := w.publish(ann, feed.NewPost{Text: "one"})
	own := w.publish(reader, feed.NewPost{Text: "mine"})
	g := w.gateway()
	c := g.as(reader)
	c.subscribe("a", `subscription { redDot { noticeCount newestPost { likeCount viewerHasLiked author { name viewerMutes } comments { nodes { text } } } } }`)
	event := func(notices, likes int, liked bool, name, comments string) string {
		return fmt.Sprintf(`{"data":{"redDot":{"noticeCount":%d,"newestPost":{"likeCount":%d,"viewerHasLiked":%t,"author":{"name":%q,"viewerMutes":false},"comments":{"nodes":[%s]}}}}}`,
			notices, likes, liked, name, comments)
	}
	c.want(event(0, 0, false, "The ann", ""))
	for i := range 5 {
		name := fmt.Sprint("Ann the ", i)
		_, err := w.svc.UpdateProfile(ctx, w.svc.Reader(ann), feed.ProfilePatch{Name: &name})
		w.must(err)
		if i == 1 {
			_, err = w.svc.CommentOn(ctx, w.svc.Reader(ann), feed.NewComment{Post: post, Text: "well"})
			w.must(err)
		}
		likes := 0
		if i >= 2 {
			likes = 1
			_, err := w.svc.Like(ctx, w.svc.Reader(reader), post)
			w.must(err)
		}
		_, err = w.svc.Like(ctx, w.svc.Reader(w.person(fmt.Sprint("liker_", i))), own) // tells nothing of the post
		w.must(err)
		if i == 0 {
			c.until(event(1, 0, false, name, ""))
		} else {
			// All are gathered in one notice.
			w.must(w.svc.MarkNoticesSeen(ctx, w.svc.Reader(reader)))
			c.until(event(0, likes, likes == 1, name, `{"text":"well"}`))
			_, err = w.svc.Like(ctx, w.svc.Reader(w.person(fmt.Sprint("again_", i))), own)
			w.must(err)
			c.until(event(1, likes, likes == 1, name, `{"text":"well"}`))
		}
	}
}

func TestReadersOfOnePostSeeTheirOwnView(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, ann := w.pair()
	other := w.person("other")
	w.follow(other, ann)
	w.must2(w.svc.Follow(context.Background(), w.svc.Reader(ann), reader))
	g := w.gateway()
	query := `subscription { redDot { feedCount newestPost { text author { handle followsViewer } } } }`
	c, d := g.as(reader), g.as(other)
	for _, s := range []*client{c, d} {
		s.subscribe("a", query)
		s.want(`{"data":{"redDot":{"feedCount":0,"newestPost":null}}}`)
	}
	w.publish(ann, feed.NewPost{Text: "one"})
	c.until(`{"data":{"redDot":{"feedCount":1,"newestPost":{"text":"one","author":{"handle":"ann","followsViewer":true}}}}}`)
	d.until(`{"data":{"redDot":{"feedCount":1,"newestPost":{"text":"one","author":{"handle":"ann","followsViewer":false}}}}}`)
}

// TestCommandsOfAPublishDoNotDependOnWhoListens counts what all gateways ask
// of the stores for one post.
func TestCommandsOfAPublishDoNotDependOnWhoListens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	g := w.gateway()
	round := func(readers int) (redis int, record int64) {
		var clients []*client
		for range readers {
			reader := w.person(fmt.Sprint("r", w.ids.last.Load()))
			w.follow(reader, ann)
			c := g.as(reader)
			c.subscribe("a", dotQuery)
			c.want(dot(0, 0, ""))
			clients = append(clients, c)
		}
		// The follows have had the readers derived once more: wait until that is over.
		before, was := g.tally.count(), w.recordTrips.Load()
		for still := 0; still < 20; still++ {
			time.Sleep(20 * time.Millisecond)
			if n := g.tally.count(); n != before {
				before, still = n, 0
			}
			was = w.recordTrips.Load()
		}
		post, err := g.svc.PublishPost(context.Background(), g.svc.Reader(ann), feed.NewPost{Text: "hello"})
		w.must(err)
		for _, c := range clients {
			c.until(dot(1, post.ID, "hello"))
		}
		redis, record = g.tally.count()-before, w.recordTrips.Load()-was
		for _, c := range clients {
			c.ws.Close()
		}
		w.must(g.svc.DeletePost(context.Background(), g.svc.Reader(ann), post.ID))
		w.until("all are gone", func() bool { return g.hub.Connected() == 0 })
		return redis, record
	}
	round(1) // fills caches
	fewRedis, fewRecord := round(1)
	manyRedis, manyRecord := round(40)
	t.Logf("1 reader: %d and %d commands, 40 readers: %d and %d", fewRedis, fewRecord, manyRedis, manyRecord)
	if manyRedis > fewRedis+4 || manyRecord > fewRecord+2 { // the watch over the hot data may come in between
		t.Errorf("40 readers take %d and %d commands, one takes %d and %d", manyRedis, manyRecord, fewRedis, fewRecord)
	}
}

func TestAStateThatCannotBeDerivedIsAnErrorAndTheNextOneComes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, ann := w.pair()
	g := w.gateway()
	post := w.publish(ann, feed.NewPost{Text: "one"})
	w.faults.on("Seen", func(context.Context) error { return feed.Unavailable("the record is away", nil) })
	plain, rich := g.as(reader), g.as(reader)
	plain.subscribe("a", dotQuery)
	rich.subscribe("b", `subscription { dot: redDot { feedCount newestPost { likeCount } } }`)
	for path, c := range map[string]*client{"redDot": plain, "dot": rich} {
		m := c.read()
		if m.Type != "next" || codeIn(t, m.Payload) != "UNAVAILABLE" || !strings.HasSuffix(string(m.Payload), `,"data":null}`) || !strings.Contains(string(m.Payload), `"path":["`+path+`"`) {
			t.Errorf("got %s %s", m.Type, m.Payload)
		}
	}
	w.faults.on("Seen", nil)
	said := 0
	for _, line := range w.log.lines() {
		if strings.Contains(line, "the record is away") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the log says %d times that the record is away, want once for all subscriptions", said)
	}
	plain.until(dot(1, post, "one"))
	rich.until(`{"data":{"dot":{"feedCount":1,"newestPost":{"likeCount":0}}}}`)
}

func TestSubscriptionsOfAReaderAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, _ := w.pair()
	g := w.gateway(func(c *httpapi.Config) { c.Sockets.Subscribed, c.Sockets.OfReader, c.Sockets.Operations = 4, 3, 3 })
	c, d := g.as(reader), g.as(reader)
	for _, id := range []string{"1", "2", "3"} {
		c.subscribe(id, dotQuery)
		c.want(dot(0, 0, ""))
	}
	c.subscribe("4", dotQuery)
	if m := c.read(); m.Type != "error" || codeIn(t, m.Payload) != "RATE_LIMITED" {
		t.Errorf("a fourth on one socket: %+v", m)
	}
	d.subscribe("1", dotQuery)
	d.want(dot(0, 0, ""))
	d.subscribe("2", dotQuery)
	if m := d.read(); codeIn(t, m.Payload) != "RATE_LIMITED" {
		t.Errorf("a fifth on two sockets: %+v", m)
	}
	if m := d.read(); m.Type != "complete" {
		t.Errorf("then %+v", m)
	}
	c.send(`{"id":"1","type":"complete"}`)
	w.until("the place is free", func() bool {
		d.subscribe("3", dotQuery)
		if m := d.read(); codeIn(t, m.Payload) == "" {
			return true
		}
		return d.read().Type == "" // its end
	})
	s := g.stream(reader)
	s.until(`{"errors":[{"message":"you have too many subscriptions: complete one","extensions":{"code":"RATE_LIMITED"}}],"data":null}`)
	if got := s.next(); got != "event: complete|data: " {
		t.Errorf("then the stream gives %q, want its end", got)
	}
	e := g.as(reader) // takes the place of the stream
	if code, text := g.dial(fmt.Sprintf(`{"user":"%d"}`, reader)).closed(); code != websocket.CloseTryAgainLater || text == "" {
		t.Errorf("a fourth socket: closed with %d %q", code, text)
	}
	for range 20 {
		w.must(e.ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")))
		if code, text := e.closed(); code != websocket.CloseNormalClosure {
			t.Errorf("closed with %d %q", code, text)
		}
		e = g.as(reader) // as soon as the server has answered
	}
}

func TestSocketsEndInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, _ := w.pair()
	g := w.gateway()
	c, s := g.as(reader), g.stream(reader)
	c.subscribe("a", dotQuery)
	c.want(dot(0, 0, ""))
	s.until(dot(0, 0, ""))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.stop()
	}()
	if code, _ := c.closed(); code != websocket.CloseServiceRestart {
		t.Errorf("closed with %d, want 1012", code)
	}
	if got := s.next(); got != "" {
		t.Errorf("the stream goes on with %s", got)
	}
	select {
	case <-ended:
	case <-time.After(wait):
		t.Fatal("it does not stop")
	}
}

func TestPagesOfOtherSitesMayNotOpenSockets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dev          bool
		origin, host string
		status       int
	}{
		"development, no browser":     {true, "", "", 101},
		"development, own page":       {true, "http://localhost:3000", "", 101},
		"development, another site":   {true, "http://evil.example", "", 403},
		"development, another name":   {true, "", "evil.example", 403},
		"production, no browser":      {false, "", "", 101},
		"production, own page":        {false, "https://feed.example", "feed.example", 101},
		"production, another site":    {false, "https://evil.example", "feed.example", 403},
		"production, a page's secret": {false, "null", "feed.example", 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			g := w.gateway(func(cfg *httpapi.Config) { cfg.Dev = c.dev })
			h := http.Header{}
			if c.origin != "" {
				h.Set("Origin", c.origin)
			}
			if c.host != "" {
				h.Set("Host", c.host)
			}
			d := websocket.Dialer{Subprotocols: []string{"graphql-ws", "graphql-transport-ws"}}
			ws, resp, err := d.Dial("ws://"+g.addr+"/graphql", h)
			if resp == nil || resp.StatusCode != c.status {
				t.Fatalf("got %v, %v, want %d", resp, err, c.status)
			}
			resp.Body.Close()
			if ws != nil {
				if ws.Subprotocol() != "graphql-transport-ws" {
					t.Errorf("%s was chosen", ws.Subprotocol())
				}
				ws.Close()
			}
		})
	}
}

func TestSocketsServeQueriesAndMutationsToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, _ := w.pair()
	c := w.gateway().as(reader)
	c.subscribe("q", `{ viewer { handle } }`)
	c.want(`{"data":{"viewer":{"handle":"reader"}}}`)
	if m := c.read(); m.Type != "complete" {
		t.Errorf("then %+v", m)
	}
	c.subscribe("m", `mutation { a: updateProfile(input: {name: "A"}) { user { name } } b: updateProfile(input: {bio: "B"}) { user { name bio } } }`)
	c.want(`{"data":{"a":{"user":{"name":"A"}},"b":{"user":{"name":"A","bio":"B"}}}}`)
	if m := c.read(); m.Type != "complete" {
		t.Errorf("then %+v", m)
	}
	c.subscribe("i", `{ viewer { nothing } }`)
	var errs []json.RawMessage
	if m := c.read(); m.Type != "error" || json.Unmarshal(m.Payload, &errs) != nil || codeIn(t, m.Payload) != "BAD_USER_INPUT" {
		t.Errorf("got %+v", m)
	}
}

func TestStreamsThatAreNotServedSaySo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stream := post(operation(dotQuery, nil), "Accept", "text/event-stream", "Authorization", "Bearer x")
	if a := w.send(stream); a.status != http.StatusUnauthorized || a.code() != "UNAUTHENTICATED" {
		t.Errorf("a bad token: got %d %s", a.status, a.text)
	}
	for name, r := range map[string]*http.Request{
		"a reservation":        httptest.NewRequest(http.MethodPut, "http://localhost/graphql", http.NoBody),
		"the end of one":       httptest.NewRequest(http.MethodDelete, "http://localhost/graphql", http.NoBody),
		"an operation for one": post(operation(dotQuery, nil), "X-GraphQL-Event-Stream-Token", "t"),
	} {
		if a := w.send(r); a.status != http.StatusMethodNotAllowed || !strings.Contains(a.text, "distinct connections") {
			t.Errorf("%s: got %d %s", name, a.status, a.text)
		}
	}
	for _, method := range []string{http.MethodPatch, http.MethodOptions, http.MethodHead} {
		if a := w.send(httptest.NewRequest(method, "http://localhost/graphql", http.NoBody)); a.status != http.StatusMethodNotAllowed {
			t.Errorf("%s: got %d %s", method, a.status, a.text)
		}
	}
	if a := w.send(post(operation(dotQuery, nil))); a.status != http.StatusBadRequest || !strings.Contains(a.text, "text/event-stream") {
		t.Errorf("a subscription without a stream: got %d %s", a.status, a.text)
	}
}
