package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"feedgate/store/storetest/redisserver"
)

// listener is a client that is subscribed to a red dot.
type listener struct {
	t  *testing.T
	ws *websocket.Conn
}

// listen subscribes; init is the payload that says who reads.
func (s *server) listen(init string) *listener {
	s.t.Helper()
	d := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}}
	ws, resp, err := d.Dial("ws://"+s.addr+"/graphql", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp.Body.Close()
	s.t.Cleanup(func() { ws.Close() })
	l := &listener{t: s.t, ws: ws}
	for _, text := range []string{
		`{"type":"connection_init","payload":` + init + `}`,
		`{"id":"1","type":"subscribe","payload":{"query":"subscription { redDot { feedCount newestPost { text } } }"}}`,
	} {
		if err := ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			s.t.Fatal(err)
		}
		if text[:10] == `{"type":"c` {
			if m := l.read(); m != "" {
				s.t.Fatalf("got %s, want a welcome", m)
			}
		}
	}
	return l
}

// read gives the payload of the next message that is no ping.
func (l *listener) read() string {
	l.t.Helper()
	_ = l.ws.SetReadDeadline(time.Now().Add(patience))
	for {
		var m struct {
			Type    string          `json:"type"`
			Payload json.RawMessage `json:"payload"`
		}
		if err := l.ws.ReadJSON(&m); err != nil {
			l.t.Fatalf("reading: %v", err)
		}
		if m.Type != "ping" {
			return string(m.Payload)
		}
	}
}

// until reads until a state comes, and nothing that is not among the others.
func (l *listener) until(count int, newest string) {
	l.t.Helper()
	want := `{"data":{"redDot":{"feedCount":0,"newestPost":null}}}`
	if count > 0 {
		want = fmt.Sprintf(`{"data":{"redDot":{"feedCount":%d,"newestPost":{"text":%q}}}}`, count, newest)
	}
	for range 100 {
		if l.read() == want {
			return
		}
	}
	l.t.Fatalf("no %s", want)
}

func (l *listener) closed() int {
	l.t.Helper()
	_ = l.ws.SetReadDeadline(time.Now().Add(patience))
	for {
		_, _, err := l.ws.ReadMessage()
		if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
			return closed.Code
		}
		if err != nil {
			l.t.Fatalf("reading: %v", err)
		}
	}
}

func user(id string) string { return `{"user":"` + strings.TrimPrefix(id, "user:") + `"}` }

func TestTwoGatewaysTellOneReaderAndMarkTogether(t *testing.T) {
	t.Parallel()
	vars := settings{"FEEDGATE_REDIS_URL": redisserver.Start(t).URL(), "FEEDGATE_DATA": t.TempDir(), "FEEDGATE_SAMPLE": "false", "FEEDGATE_DRAIN_SPREAD": "1ms"}
	s1, s2 := start(t, vars), start(t, vars)
	alder, heron := s1.newUser("alder"), s1.newUser("heron")
	s2.follow(alder, heron)
	a, b := s1.listen(user(alder)), s2.listen(user(alder))
	for _, l := range []*listener{a, b} {
		l.until(0, "")
	}
	s2.publish(heron, "one")
	for _, l := range []*listener{a, b} {
		l.until(1, "one")
	}
	same(t, "when the dot has arrived", s1.feed(alder), "one")
	// A post that is published and deleted before anybody looks leaves nothing behind.
	post := s1.publish(heron, "two")
	b.until(2, "two")
	s1.must(heron, fmt.Sprintf(`mutation { deletePost(input: {postId: %q}) { deletedPostId } }`, post), &struct{}{})
	for _, l := range []*listener{a, b} {
		l.until(1, "one")
	}
	s2.must(alder, `mutation { markFeedSeen { redDot { feedCount } } }`, &struct{}{})
	for _, l := range []*listener{a, b} {
		l.until(0, "")
	}
	s1.stop()
	if code := a.closed(); code != websocket.CloseServiceRestart {
		t.Errorf("closed with %d, want 1012", code)
	}
	s2.publish(heron, "three")
	b.until(1, "three")
	s2.stop()
}

func TestWatchPrintsDotsThroughARestart(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := start(t, nil, "-data", data, "-sample=false", "-drain-spread", "1ms")
	alder, heron := s.newUser("alder"), s.newUser("heron")
	s.follow(alder, heron)
	var out lines
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"watch", "-user", alder, "-url", s.addr}, settings{}.getenv, &out) }()
	out.until(t, "0 new, 0 notices")
	s.publish(heron, "hello @alder")
	out.until(t, "1 new, 1 notice  @heron: hello @alder", "@heron mentioned you: hello @alder") // in any order
	s.stop()
	out.until(t, "the gateway restarts")
	s = start(t, nil, "-data", data, "-addr", s.addr)
	out.until(t, "1 new, 1 notice")
	s.must(alder, `mutation { markNoticesSeen { redDot { noticeCount } } markFeedSeen { redDot { feedCount } } }`, &struct{}{})
	out.until(t, "0 new, 0 notices")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("watch ends with %v", err)
	}
	err := run(t.Context(), []string{"watch", "-token", "x", "-url", s.addr}, settings{}.getenv, &out)
	if err == nil || !strings.Contains(err.Error(), "refuses") {
		t.Errorf("a bad token: %v", err)
	}
	s.stop()
}

func TestWatchMakesItsOwnTokens(t *testing.T) {
	t.Parallel()
	vars := settings{"FEEDGATE_AUTH_SECRET": "a secret for this test, long enough"}
	s := start(t, vars, "-data", t.TempDir())
	var token bytes.Buffer
	if err := run(t.Context(), []string{"token", "-user", "77"}, vars.getenv, &token); err != nil {
		t.Fatal(err)
	}
	s.token = strings.TrimSpace(token.String())
	s.newUser("alder")
	for _, args := range [][]string{{"-user", "user:77"}, {"-token", s.token}} {
		var out lines
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- run(ctx, append([]string{"watch", "-url", "http://" + s.addr}, args...), vars.getenv, &out)
		}()
		out.until(t, "0 new, 0 notices")
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
	s.stop()
}

// lines is output that can be waited for.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// until polls until all of the texts are there, and takes what is up to them.
func (l *lines) until(t *testing.T, want ...string) {
	t.Helper()
	take := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		end := 0
		for _, text := range want {
			at := strings.Index(l.text.String(), text)
			if at < 0 {
				return false
			}
			end = max(end, at+len(text))
		}
		l.text.Next(end)
		return true
	}
	for end := time.Now().Add(patience); !take(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %q in\n%s", want, l.text.String())
		}
	}
}

func TestSocketsOutliveRedis(t *testing.T) {
	t.Parallel()
	redis := redisserver.Start(t)
	s := start(t, settings{"FEEDGATE_REDIS_URL": redis.URL(), "FEEDGATE_SAMPLE": "false"}, "-data", t.TempDir(), "-drain-spread", "1ms")
	alder, heron := s.newUser("alder"), s.newUser("heron")
	s.follow(alder, heron)
	l := s.listen(user(alder))
	l.until(0, "")
	s.publish(heron, "one")
	l.until(1, "one")
	redis.Kill(t)
	if code := s.ask(heron, `mutation { publishPost(input: {text: "lost"}) { post { id } } }`, &struct{}{}); code != "UNAVAILABLE" {
		t.Errorf("publishing without Redis: %q, want UNAVAILABLE", code)
	}
	// The mark is on the record; when Redis is back, whatever was missed shows.
	if code := s.ask(alder, `mutation { markFeedSeen { redDot { feedCount } } }`, &struct{}{}); code != "" && code != "UNAVAILABLE" {
		t.Errorf("marking without Redis: %q", code)
	}
	redis.Restart(t)
	s.retry(heron, `mutation { publishPost(input: {text: "two"}) { post { id } } }`)
	s.retry(alder, `mutation { markFeedSeen { redDot { feedCount } } }`)
	l.until(0, "")
	s.publish(heron, "three")
	l.until(1, "three")
	s.stop()
}

// retry asks until it is answered: Redis has just come back.
func (s *server) retry(reader, query string) {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		code := s.ask(reader, query, &struct{}{})
		if code == "" {
			return
		}
		if code != "UNAVAILABLE" || time.Now().After(end) {
			s.t.Fatalf("%s: %s", query, code)
		}
	}
}
