package socket_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"feedgate/feed"
	"feedgate/internal/operation/operationtest"
	"feedgate/internal/socket/clients"
	"feedgate/internal/sse"
)

// placed puts the clients in place. Without them the test is skipped, and
// fails in CI.
func placed(t *testing.T) (dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := clients.Install(ctx, "clients"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED, NOTHING IS SHOWN ABOUT REAL CLIENTS: %v", err)
	}
	return "clients"
}

func TestRealClients(t *testing.T) {
	t.Parallel()
	dir := placed(t)
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, nil, nil)
	events := sse.New(sse.Config{
		Clock: operationtest.Wall{}, Log: slog.New(slog.DiscardHandler),
		Read: func(r *http.Request) (*graphql.RawParams, int, *feed.Error) {
			var p graphql.RawParams
			if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
				return nil, http.StatusBadRequest, feed.BadInput("", "no JSON")
			}
			return &p, 0, nil
		},
	})
	executor := operationtest.NewExecutor(w.hub, "")
	sockets := w.server.Handler
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case w.transport.Supports(r):
			sockets.ServeHTTP(rw, r)
		case r.Header.Get("Authorization") == "bad":
			rw.WriteHeader(http.StatusUnauthorized)
		case events.Supports(r):
			events.Do(rw, r, executor)
		default:
			rw.WriteHeader(http.StatusTeapot)
		}
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Close()
		<-served
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "check.mjs", "http://"+listener.Addr().String()+"/graphql")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("the clients are not content: %v", err)
	}
	until(t, 10*time.Second, "nobody listens any more", func() bool {
		n, _ := w.hub.Count()
		return n == 0 && w.transport.Open() == 0 && events.Open() == 0
	})
	if err := events.Drain(ctx); err != nil {
		t.Error(err)
	}
}
