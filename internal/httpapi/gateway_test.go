package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
	"feedgate/feed/live"
	"feedgate/internal/httpapi"
	"feedgate/store/redis"
)

// gateway is one gateway of a world, with connections, a hub and a listener of
// its own. All gateways of a world share the record and Redis.
type gateway struct {
	w      *world
	svc    *feed.Service
	hub    *live.Hub
	server *httpapi.Server
	addr   string
	tally  tally
	stop   func()
}

// tally counts commands to Redis, but for those that come by themselves as time
// goes by: the watch over the hot data and over the event stream.
type tally struct {
	mu sync.Mutex
	n  int
}

func (c *tally) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (c *tally) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		c.add(cmd)
		return next(ctx, cmd)
	}
}

func (c *tally) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		c.add(cmds...)
		return next(ctx, cmds)
	}
}

func (c *tally) add(cmds ...goredis.Cmder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cmd := range cmds {
		switch cmd.Name() {
		case "xread", "xrange", "xrevrange", "eval":
		default:
			c.n++
		}
	}
}

func (c *tally) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (w *world) gateway(change ...func(*httpapi.Config)) *gateway {
	w.tb.Helper()
	quiet := slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	g := &gateway{w: w}
	hot, err := redis.Open(ctx, redis.Config{URL: w.redis.URL(), Log: quiet, Hook: &g.tally})
	w.must(err)
	g.svc = feed.New(feed.Config{
		Record: faulty{w.record, &w.faults}, Hot: hot, Pulse: hot, Beats: w.record, Seen: faulty{w.record, &w.faults}, Notices: w.record,
		Tastes: w.record, Views: w.record, Recommender: recommender(hot, w.record),
		Clock: wallClock{}, IDs: &w.ids, Log: quiet, Settings: feed.DefaultSettings(),
	})
	w.must(g.svc.Start(ctx))
	g.hub = live.New(live.Config{Deriver: g.svc, Log: hot, Clock: wallClock{}, Logger: quiet, Generation: g.svc.Generation})
	var running sync.WaitGroup
	running.Go(func() { _ = g.svc.Run(ctx) })
	running.Go(func() { _ = g.hub.Run(ctx) })
	cfg := w.config
	cfg.Service, cfg.Hub, cfg.Metrics = g.svc, g.hub, httpapi.NewMetrics()
	cfg.Sockets.DrainSpread = time.Millisecond
	for _, c := range change {
		c(&cfg)
	}
	g.server = httpapi.New(cfg)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	g.addr = listener.Addr().String()
	server := &http.Server{Handler: g.server, ReadHeaderTimeout: time.Minute, WriteTimeout: time.Minute}
	running.Go(func() { _ = server.Serve(listener) })
	g.stop = sync.OnceFunc(func() {
		limit, done := context.WithTimeout(context.Background(), 20*time.Second)
		defer done()
		if err := g.server.Drain(limit); err != nil {
			w.tb.Errorf("drain: %v", err)
		}
		if err := server.Shutdown(limit); err != nil {
			w.tb.Errorf("shutdown: %v", err)
		}
		cancel()
		running.Wait()
		_ = hot.Close()
	})
	w.tb.Cleanup(g.stop)
	return g
}

const wait = 30 * time.Second

// client is a client's socket.
type client struct {
	tb testing.TB
	ws *websocket.Conn
}

// dial opens a socket; init is the payload of connection_init, "" for none.
func (g *gateway) dial(init string, headers ...string) *client {
	tb := g.w.tb
	tb.Helper()
	d := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}}
	h := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	ws, resp, err := d.Dial("ws://"+g.addr+"/graphql", h)
	if err != nil {
		tb.Fatalf("dial: %v", err)
	}
	resp.Body.Close()
	tb.Cleanup(func() { ws.Close() })
	c := &client{tb: tb, ws: ws}
	if init == "" {
		c.send(`{"type":"connection_init"}`)
	} else {
		c.send(`{"type":"connection_init","payload":` + init + `}`)
	}
	return c
}

// as opens a socket for a reader, and waits until it is welcomed.
func (g *gateway) as(reader feed.ID) *client {
	c := g.dial(fmt.Sprintf(`{"user":"%d"}`, reader))
	c.welcomed()
	return c
}

func (c *client) welcomed() {
	c.tb.Helper()
	if m := c.read(); m.Type != "connection_ack" {
		c.tb.Fatalf("got %+v, want a welcome", m)
	}
}

func (c *client) send(text string) {
	c.tb.Helper()
	if err := c.ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		c.tb.Fatal(err)
	}
}

func (c *client) subscribe(id, query string) {
	c.tb.Helper()
	text, err := json.Marshal(map[string]any{"id": id, "type": "subscribe", "payload": map[string]any{"query": query}})
	if err != nil {
		c.tb.Fatal(err)
	}
	c.send(string(text))
}

// message is what a client reads.
type message struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

func (c *client) read() message {
	c.tb.Helper()
	_ = c.ws.SetReadDeadline(time.Now().Add(wait))
	for {
		_, text, err := c.ws.ReadMessage()
		if err != nil {
			c.tb.Fatalf("read: %v", err)
		}
		var m message
		if err := json.Unmarshal(text, &m); err != nil {
			c.tb.Fatal(err)
		}
		if m.Type != "ping" {
			return m
		}
	}
}

// want reads one message's payload.
func (c *client) want(texts ...string) {
	c.tb.Helper()
	for _, want := range texts {
		if m := c.read(); string(m.Payload) != want {
			c.tb.Fatalf("got %s %s, want %s", m.Type, m.Payload, want)
		}
	}
}

// until reads until a payload comes: states between may be left out or not.
func (c *client) until(want string) {
	c.tb.Helper()
	var seen []string
	_ = c.ws.SetReadDeadline(time.Now().Add(wait))
	for {
		_, text, err := c.ws.ReadMessage()
		if err != nil {
			c.tb.Fatalf("%v while waiting for %s; came %s", err, want, strings.Join(seen, " "))
		}
		var m message
		if err := json.Unmarshal(text, &m); err != nil {
			c.tb.Fatal(err)
		}
		if string(m.Payload) == want {
			return
		}
		seen = append(seen, string(m.Payload))
	}
}

// closed reads until the server closes the socket, and gives the code and why.
func (c *client) closed() (int, string) {
	c.tb.Helper()
	return c.closedAfter(func(message) {})
}

// closedAfter is closed, and gives the messages before to see.
func (c *client) closedAfter(see func(message)) (int, string) {
	c.tb.Helper()
	_ = c.ws.SetReadDeadline(time.Now().Add(wait))
	for {
		_, text, err := c.ws.ReadMessage()
		if closed, ok := errors.AsType[*websocket.CloseError](err); ok {
			return closed.Code, closed.Text
		}
		if err != nil {
			c.tb.Fatalf("read: %v", err)
		}
		var m message
		if err := json.Unmarshal(text, &m); err != nil {
			c.tb.Fatal(err)
		}
		see(m)
	}
}

// stream is a client's stream of red dots as Server-Sent Events.
type stream struct {
	tb   testing.TB
	resp *http.Response
	text *bufio.Scanner
}

func (g *gateway) stream(reader feed.ID) *stream {
	tb := g.w.tb
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	tb.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+g.addr+"/graphql", operation(dotQuery, nil))
	g.w.must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	if reader != 0 {
		r.Header.Set("X-Feedgate-User", reader.String())
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	g.w.must(err)
	tb.Cleanup(func() { resp.Body.Close() })
	return &stream{tb: tb, resp: resp, text: bufio.NewScanner(resp.Body)}
}

// next gives the next event, as its name and its data; "" at the end.
func (s *stream) next() string {
	s.tb.Helper()
	var event []string
	for s.text.Scan() {
		line := s.text.Text()
		switch {
		case strings.HasPrefix(line, ":"):
		case line != "":
			event = append(event, line)
		case len(event) > 0:
			return strings.Join(event, "|")
		}
	}
	return ""
}

func (s *stream) until(want string) {
	s.tb.Helper()
	var seen []string
	for {
		got := s.next()
		if got == "event: next|data: "+want {
			return
		}
		if seen = append(seen, got); got == "" {
			s.tb.Fatalf("no %s; came %s", want, strings.Join(seen, " "))
		}
	}
}
