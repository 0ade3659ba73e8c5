package socket_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"feedgate/feed"
	"feedgate/internal/operation/operationtest"
	"feedgate/internal/sse"
)

// needed fails in CI, and skips elsewhere.
func needed(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf("SKIPPED, NOTHING IS SHOWN ABOUT REAL CLIENTS: "+format, args...)
}

// installed puts the clients in place unless they are.
func installed(t *testing.T) (dir string) {
	t.Helper()
	dir, err := filepath.Abs("clients")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			needed(t, "there is no %s here: install Node.js 20 or later", name)
		}
	}
	sum := sha256.Sum256(lock)
	want, mark := hex.EncodeToString(sum[:]), filepath.Join(dir, "node_modules", ".installed")
	if got, err := os.ReadFile(mark); err == nil && string(got) == want {
		return dir
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		needed(t, "npm ci: %v\n%s", err, out)
	}
	if err := os.WriteFile(mark, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRealClients(t *testing.T) {
	t.Parallel()
	dir := installed(t)
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
