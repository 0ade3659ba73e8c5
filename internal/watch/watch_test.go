package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func TestTheAddressIsMadeOfWhatPeopleWrite(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"127.0.0.1:8080":               "ws://127.0.0.1:8080/graphql",
		"http://localhost:8080":        "ws://localhost:8080/graphql",
		"https://feed.example/":        "wss://feed.example/graphql",
		"wss://feed.example/x/graphql": "wss://feed.example/x/graphql",
		"ftp://feed.example":           "",
		"http://":                      "",
		"http://a b":                   "",
	} {
		if got, err := Endpoint(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestStrangersTextsAreOnePlainLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"hello":                          "hello",
		"a\nb\t c":                       "a b c",
		"\x1b]0;owned\x07x\x1b[2J":       "]0;ownedx[2J",
		"\u202eright to left":            "right to left",
		"👩\u200d👩\u200d👧 family":         "👩\u200d👩\u200d👧 family",
		strings.Repeat("long word ", 20): "long word long word long word long word long word long word …",
		strings.Repeat("words ", 20):     strings.Repeat("words ", 10) + "…",
		strings.Repeat("longer ", 20):    strings.Repeat("longer ", 8) + "…",
		strings.Repeat("x", 100):         strings.Repeat("x", 60) + " …",
	} {
		if got := plain(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestLinesSayWhatIsNew(t *testing.T) {
	t.Parallel()
	people := func(handles ...string) (all []person) {
		for _, h := range handles {
			all = append(all, person{h})
		}
		return all
	}
	for want, n := range map[string]notice{
		"@ann liked your post: mine":                  {Kind: "LIKED", ActorCount: 1, Actors: people("ann"), Post: &post{Text: "mine"}},
		"@ann and @bob answered your post":            {Kind: "COMMENTED", ActorCount: 2, Actors: people("ann", "bob")},
		"@ann, @bob and 1 other followed you":         {Kind: "FOLLOWED", ActorCount: 3, Actors: people("ann", "bob", "eve")},
		"@ann, @bob and 3 others reposted your post":  {Kind: "REPOSTED", ActorCount: 5, Actors: people("ann", "bob", "eve")},
		"1 person mentioned you":                      {Kind: "MENTIONED", ActorCount: 1},
		"@ann and 1 other did something (WAVED): you": {Kind: "WAVED", ActorCount: 2, Actors: people("ann"), Post: &post{Text: "you"}},
	} {
		if got := n.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	var out bytes.Buffer
	p := paper{to: &out, clock: wall{}}
	p.dot(&dot{})
	p.dot(&dot{FeedCount: 99, FeedCountCapped: true, NoticeCount: 1, NewestPost: &post{Text: "hi"}})
	if got := out.String(); !strings.Contains(got, "○ 0 new, 0 notices\n") || !strings.Contains(got, "● 99+ new, 1 notice  somebody: hi\n") {
		t.Errorf("got %s", got)
	}
}

// output can be read while it is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// script answers each connection in turn; the last answer is for all that follow.
func script(t *testing.T, answers ...func(ws *websocket.Conn)) string {
	t.Helper()
	var mu sync.Mutex
	next := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		answer := answers[min(next, len(answers)-1)]
		next++
		mu.Unlock()
		if answer == nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		up := websocket.Upgrader{Subprotocols: []string{protocol}}
		ws, err := up.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.Close()
		answer(ws)
	}))
	t.Cleanup(server.Close)
	url, err := Endpoint(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// welcome reads the introduction, and the subscriptions after it.
func welcome(t *testing.T, ws *websocket.Conn) {
	t.Helper()
	var m message
	if err := ws.ReadJSON(&m); err != nil || m.Type != "connection_init" || string(m.Payload) != `{"user":"45"}` {
		t.Errorf("got %+v, %v, want an introduction", m, err)
	}
	_ = ws.WriteJSON(message{Type: "connection_ack"})
	for range operations() {
		if err := ws.ReadJSON(&m); err != nil || m.Type != "subscribe" {
			t.Errorf("got %+v, %v, want a subscription", m, err)
		}
	}
}

func leave(ws *websocket.Conn, code int, text string) {
	_ = ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(code, text))
	_, _, _ = ws.ReadMessage()
}

func next(ws *websocket.Conn, id, payload string) {
	_ = ws.WriteJSON(message{ID: id, Type: "next", Payload: json.RawMessage(payload)})
}

func watcher(url string, out *output, renews bool) *Watcher {
	return New(Config{
		URL: url, Introduce: func() (map[string]string, error) { return map[string]string{"user": "45"}, nil },
		Renews: renews, Clock: wall{}, Out: out, FirstPause: time.Millisecond,
	})
}

func TestItComesBackUntilItIsRefused(t *testing.T) {
	t.Parallel()
	var out output
	pong := make(chan string, 1)
	url := script(t,
		nil, // the gateway is not ready yet
		func(ws *websocket.Conn) {
			welcome(t, ws)
			next(ws, dots, `{"data":{"redDot":{"feedCount":1,"noticeCount":0,"newestPost":{"text":"one","author":{"handle":"ann"}}}}}`)
			_ = ws.WriteJSON(message{Type: "ping"})
			var m message
			_ = ws.ReadJSON(&m)
			pong <- m.Type
			next(ws, dots, `{"errors":[{"message":"the record is away","extensions":{"code":"UNAVAILABLE"}}],"data":null}`)
			leave(ws, websocket.CloseServiceRestart, "")
		},
		func(ws *websocket.Conn) {
			welcome(t, ws)
			next(ws, notices, `{"data":{"noticeAdded":{"kind":"FOLLOWED","actorCount":1,"actors":[{"handle":"bob"}],"post":null}}}`)
			leave(ws, 4403, "token expired")
		},
	)
	err := watcher(url, &out, false).Run(t.Context())
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Text != "token expired" {
		t.Errorf("got %v, want the refusal", err)
	}
	if got := <-pong; got != "pong" {
		t.Errorf("a ping is answered by %s", got)
	}
	rest := out.String()
	for _, want := range []string{
		"503", "trying again", "● 1 new, 0 notices  @ann: one", "does not know now: the record is away",
		"the gateway restarts; trying again", "♦ @bob followed you",
	} {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("%q is missing, or not in its place, in\n%s", want, out.String())
		}
		rest = after
	}
}

func TestAFreshProofIsTriedWhenOneExpires(t *testing.T) {
	t.Parallel()
	var out output
	url := script(t,
		func(ws *websocket.Conn) {
			welcome(t, ws)
			next(ws, dots, `{"data":{"redDot":{"feedCount":0,"noticeCount":0,"newestPost":null}}}`)
			leave(ws, 4403, "token expired")
		},
		func(ws *websocket.Conn) { leave(ws, 4403, "who are you") },
	)
	if err := watcher(url, &out, true).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "who are you") {
		t.Errorf("got %v", err)
	}
}

// Somebody who may connect and is shown nothing gains nothing by coming back.
func TestARefusedSubscriptionEndsIt(t *testing.T) {
	t.Parallel()
	var out output
	url := script(t, func(ws *websocket.Conn) {
		welcome(t, ws)
		next(ws, dots, `{"errors":[{"message":"You have no profile yet.","extensions":{"code":"UNAUTHENTICATED"}}],"data":null}`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // should it come back after all
	defer cancel()
	var refused *RefusedError
	if err := watcher(url, &out, true).Run(ctx); !errors.As(err, &refused) || refused.Text != "You have no profile yet." {
		t.Errorf("got %v, want the refusal", err)
	}
}

func TestItEndsWithItsContext(t *testing.T) {
	t.Parallel()
	var out output
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	url := script(t, func(ws *websocket.Conn) {
		welcome(t, ws)
		cancel()
		_, _, err := ws.ReadMessage()
		if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
			code <- closed.Code
		} else {
			code <- 0
		}
	})
	if err := watcher(url, &out, false).Run(ctx); err != nil {
		t.Errorf("got %v", err)
	}
	if got := <-code; got != websocket.CloseNormalClosure {
		t.Errorf("closed with %d, want 1000", got)
	}
}
