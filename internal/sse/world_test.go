package sse_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"go.uber.org/goleak"

	"feedgate/feed"
	"feedgate/internal/operation/operationtest"
	"feedgate/internal/sse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counts are metrics that can be looked at.
type counts struct {
	mu                           sync.Mutex
	opened, completed, cut, slow int
}

func (c *counts) look(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *counts) Opened()  { c.look(func() { c.opened++ }) }
func (c *counts) Sent(int) {}
func (c *counts) Slow()    { c.look(func() { c.slow++ }) }
func (c *counts) Closed(completed bool) {
	c.look(func() {
		if completed {
			c.completed++
		} else {
			c.cut++
		}
	})
}

func (c *counts) get(which *int) (n int) {
	c.look(func() { n = *which })
	return n
}

// world is a server with its transport.
type world struct {
	hub       *operationtest.Hub
	counts    counts
	transport *sse.Transport
	client    *http.Client
}

const url = "http://feedgate/graphql"

// read takes the operation from a body.
func read(r *http.Request) (*graphql.RawParams, int, *feed.Error) {
	var p graphql.RawParams
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil || p.Query == "" {
		return nil, http.StatusBadRequest, feed.BadInput("query", "there is no query")
	}
	return &p, 0, nil
}

func newWorld(t *testing.T, change func(*sse.Config, *http.Server)) *world {
	t.Helper()
	w := &world{hub: operationtest.NewHub()}
	cfg := sse.Config{Clock: operationtest.Wall{}, Log: slog.New(slog.DiscardHandler), Read: read, Metrics: &w.counts}
	server := &http.Server{ReadHeaderTimeout: time.Minute}
	if change != nil {
		change(&cfg, server)
	}
	w.transport = sse.New(cfg)
	exec := operationtest.NewExecutor(w.hub, " \n")
	server.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !w.transport.Supports(r) {
			rw.WriteHeader(http.StatusTeapot)
			return
		}
		w.transport.Do(rw, r, exec)
	})
	pipes := operationtest.NewPipes()
	transport := &http.Transport{DialContext: pipes.Dial}
	w.client = &http.Client{Transport: transport}
	served := make(chan error, 1)
	go func() { served <- server.Serve(pipes) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := w.transport.Drain(ctx); err != nil {
			t.Errorf("drain: %v", err)
		}
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		<-served
		if n := w.transport.Open(); n != 0 {
			t.Errorf("%d streams are left", n)
		}
		for { // a listener leaves a moment after its stream
			n, changed := w.hub.Count()
			if n == 0 {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				t.Errorf("%d listeners are left", n)
				return
			}
		}
	})
	return w
}

// request makes a request; a header more is given as name and value.
func (w *world) request(t *testing.T, method, accept, body string, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", accept)
	if len(header) == 2 {
		r.Header.Set(header[0], header[1])
	}
	return r
}

// refused makes a request that does not become a stream.
func (w *world) refused(t *testing.T, r *http.Request) (status int, text string, header http.Header) {
	t.Helper()
	resp, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(all), resp.Header
}

// stream is the client's end.
type stream struct {
	t     *testing.T
	body  io.ReadCloser
	lines *bufio.Scanner
}

func (w *world) open(t *testing.T, query string) *stream {
	t.Helper()
	resp, err := w.client.Do(w.request(t, http.MethodPost, "text/event-stream", `{"query":"`+query+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Fatalf("got %s %v", resp.Status, resp.Header)
	}
	return &stream{t: t, body: resp.Body, lines: bufio.NewScanner(resp.Body)}
}

// event reads the lines up to an empty one. End: the stream ended before.
func (s *stream) event() string {
	s.t.Helper()
	var lines []string
	for s.lines.Scan() {
		if s.lines.Text() == "" {
			return strings.Join(lines, "|")
		}
		lines = append(lines, s.lines.Text())
	}
	return "end"
}

// want reads events and compares them; comments are left out unless wanted.
func (s *stream) want(events ...string) {
	s.t.Helper()
	for _, want := range events {
		got := s.event()
		for got == ":" && want != ":" {
			got = s.event()
		}
		if got != want {
			s.t.Fatalf("got %q, want %q", got, want)
		}
	}
}
