package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"feedgate/store/storetest/mongoserver"
	"feedgate/store/storetest/redisserver"
)

// The same program on a real Redis and a server that speaks MongoDB's
// protocol, with gateway and workers apart.
func TestGatewayAndWorkersApartOnRedisAndMongo(t *testing.T) {
	t.Parallel()
	server, err := mongoserver.Start(t.Context())
	if errors.Is(err, mongoserver.ErrSkipped) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	redis := redisserver.Start(t)
	scheme, rest, _ := strings.Cut(server.URI, "://")
	place, options, _ := strings.Cut(rest, "?")
	host, _, _ := strings.Cut(place, "/")
	database := "feedgate_" + strings.ToLower(rand.Text()[:8])
	vars := settings{"FEEDGATE_MONGO_URL": scheme + "://" + host + "/" + database + "?" + options, "FEEDGATE_REDIS_URL": redis.URL()}

	bundle := filepath.Join(t.TempDir(), "bundle.ndjson")
	lines := `{"type":"user","id":"1","handle":"alder"}
{"type":"user","id":"2","handle":"heron"}
{"type":"follow","follower":"1","followee":"2"}
{"type":"post","id":"9","author":"2","at":"2020-01-02T03:04:05Z","text":"imported"}`
	if err := os.WriteFile(bundle, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := run(t.Context(), []string{"import", "-strict", bundle}, vars.getenv, &bytes.Buffer{}); err != nil {
			t.Fatal(err)
		}
	}
	api := start(t, vars, "-role", "api", "-sample=false")
	same(t, "after the import", api.feed("1"), "imported")
	post := api.publish("2", "before any worker runs")
	same(t, "without a worker", api.feed("1"), "before any worker runs", "imported")
	worker := start(t, vars, "-role", "worker")
	api.awaitDelivery("2", post, 1)
	api.publish("2", "and after")
	same(t, "with a worker", api.feed("1"), "and after", "before any worker runs", "imported")
	worker.stop()
	api.stop()
}
