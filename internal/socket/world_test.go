package socket_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"feedgate/feed"
	"feedgate/internal/operation/operationtest"
	"feedgate/internal/socket"
)

// counts are metrics that can be looked at.
type counts struct {
	mu         sync.Mutex
	opened     map[string]int
	closed     map[int]int
	operations int
	messages   int
	slow       int
}

func newCounts() *counts { return &counts{opened: make(map[string]int), closed: make(map[int]int)} }

func (c *counts) look(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *counts) Opened(p string)  { c.look(func() { c.opened[p]++ }) }
func (c *counts) Closed(code int)  { c.look(func() { c.closed[code]++ }) }
func (c *counts) Operations(d int) { c.look(func() { c.operations += d }) }
func (c *counts) Sent(int)         { c.look(func() { c.messages++ }) }
func (c *counts) Slow()            { c.look(func() { c.slow++ }) }
func (c *counts) slowOnes() (n int) {
	c.look(func() { n = c.slow })
	return n
}

func (c *counts) running() (n int) {
	c.look(func() { n = c.operations })
	return n
}

func (c *counts) closedBy(code int) (n int) {
	c.look(func() { n = c.closed[code] })
	return n
}

// world is a server with its transport.
type world struct {
	hub       *operationtest.Hub
	counts    *counts
	transport *socket.Transport
	dialer    *websocket.Dialer
	server    *http.Server
	url       string
}

// auth takes {"user": "45"}; "expires" is a duration from now.
func auth(ctx context.Context, payload json.RawMessage) (context.Context, time.Time, error) {
	var p struct {
		User    string `json:"user"`
		Expires string `json:"expires"`
		Fail    string `json:"fail"`
	}
	if payload == nil {
		return ctx, time.Time{}, nil
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		return nil, time.Time{}, feed.BadInput("", "this payload can't be read")
	}
	switch p.Fail {
	case "bad":
		return nil, time.Time{}, feed.Unauthenticated("this token does not hold: get a new one")
	case "away":
		return nil, time.Time{}, feed.Unavailable("the store is away", errors.New("dial"))
	case "panic":
		panic("the inside")
	case "hang":
		<-ctx.Done()
		return nil, time.Time{}, ctx.Err()
	}
	var expires time.Time
	if p.Expires != "" {
		d, err := time.ParseDuration(p.Expires)
		if err != nil {
			return nil, time.Time{}, err
		}
		expires = time.Now().Add(d)
	}
	return context.WithValue(ctx, operationtest.WhoKey{}, p.User), expires, nil
}

// newWorld starts a server, on pipes unless listener is given.
func newWorld(tb testing.TB, listener net.Listener, change func(*socket.Config)) *world {
	tb.Helper()
	return newPaddedWorld(tb, listener, "", change)
}

// newPaddedWorld makes states as long as the padding.
func newPaddedWorld(tb testing.TB, listener net.Listener, pad string, change func(*socket.Config)) *world {
	tb.Helper()
	w := &world{hub: operationtest.NewHub(), counts: newCounts(), dialer: &websocket.Dialer{}}
	cfg := socket.Config{
		Clock: operationtest.Wall{}, Log: slog.New(slog.DiscardHandler), Auth: auth, Metrics: w.counts,
		Allow: func(r *http.Request) bool {
			return !strings.Contains(r.Header.Get("Origin"), "evil") && r.Host != "evil"
		},
	}
	if change != nil {
		change(&cfg)
	}
	w.transport = socket.New(cfg)
	exec := operationtest.NewExecutor(w.hub, pad)
	w.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !w.transport.Supports(r) {
			rw.WriteHeader(http.StatusTeapot)
			return
		}
		w.transport.Do(rw, r, exec)
	})}
	if listener == nil {
		p := operationtest.NewPipes()
		w.dialer.NetDialContext, listener = p.Dial, p
		w.url = "ws://feedgate/graphql"
	} else {
		w.url = "ws://" + listener.Addr().String() + "/graphql"
	}
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(listener) }()
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := w.transport.Drain(ctx); err != nil {
			tb.Errorf("drain: %v", err)
		}
		if err := w.server.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
		<-served
		if n := w.transport.Open(); n != 0 {
			tb.Errorf("%d sockets are left", n)
		}
		if n := w.counts.running(); n != 0 {
			tb.Errorf("%d operations are left", n)
		}
	})
	return w
}

// client is a bare WebSocket client.
type client struct {
	tb testing.TB
	ws *websocket.Conn
}

const (
	modern = "graphql-transport-ws"
	legacy = "graphql-ws"
)

func (w *world) dial(tb testing.TB, protocols ...string) *client {
	tb.Helper()
	d := *w.dialer
	d.Subprotocols = protocols
	ws, resp, err := d.DialContext(tb.Context(), w.url, nil)
	if err != nil {
		tb.Fatalf("dial: %v", err)
	}
	resp.Body.Close()
	tb.Cleanup(func() { ws.Close() })
	return &client{tb: tb, ws: ws}
}

// refused dials and gives the answer to a handshake that is turned down.
func (w *world) refused(tb testing.TB, url string, header http.Header) (status int, answer http.Header) {
	tb.Helper()
	ws, resp, err := w.dialer.DialContext(tb.Context(), url, header)
	if err == nil {
		ws.Close()
	}
	if resp == nil {
		tb.Fatalf("dial: %v", err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header
}

// connected gives a client that has been welcomed.
func (w *world) connected(tb testing.TB, init string) *client {
	tb.Helper()
	c := w.dial(tb, modern)
	c.send(init)
	c.want(`{"type":"connection_ack"}`)
	return c
}

const hello = `{"type":"connection_init","payload":{"user":"45"}}`

func (c *client) send(text string) {
	c.tb.Helper()
	if err := c.ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		c.tb.Fatalf("send %s: %v", text, err)
	}
}

// patience bounds every wait of a test.
const patience = time.Hour

func (c *client) read() string {
	c.tb.Helper()
	c.ws.SetReadDeadline(time.Now().Add(patience))
	_, text, err := c.ws.ReadMessage()
	if err != nil {
		c.tb.Fatalf("read: %v", err)
	}
	return string(text)
}

// want reads messages, leaving out pings, and compares them.
func (c *client) want(texts ...string) {
	c.tb.Helper()
	for _, want := range texts {
		got := c.read()
		for got == `{"type":"ping"}` && got != want {
			got = c.read()
		}
		if got != want {
			c.tb.Fatalf("got %s, want %s", got, want)
		}
	}
}

// wantClose reads on until the socket is closed, and compares the code.
func (c *client) wantClose(code int, reason string) {
	c.tb.Helper()
	c.ws.SetReadDeadline(time.Now().Add(patience))
	for {
		_, _, err := c.ws.ReadMessage()
		if err == nil {
			continue
		}
		closed, ok := errors.AsType[*websocket.CloseError](err)
		if !ok || closed.Code != code || !strings.Contains(closed.Text, reason) {
			c.tb.Fatalf("got %v, want close %d %q", err, code, reason)
		}
		return
	}
}
