package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"feedgate/internal/httpapi"
)

func TestHealthAndReadiness(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := func(path string) *answer {
		return w.send(httptest.NewRequest(http.MethodGet, "http://localhost"+path, http.NoBody))
	}
	if a := page("/healthz"); a.status != http.StatusOK || !strings.Contains(a.text, `"status":"ok"`) {
		t.Errorf("healthz: %d %s", a.status, a.text)
	}
	if a := page("/readyz"); a.status != http.StatusOK || !strings.Contains(a.text, `"record":"ok"`) || !strings.Contains(a.text, `"hot":"ok"`) {
		t.Errorf("readyz: %d %s", a.status, a.text)
	}
	w.config.Ready["hot"] = func(context.Context) error { return errors.New("SECRET") }
	w.server = httpapi.New(w.config)
	a := page("/readyz")
	if a.status != http.StatusServiceUnavailable || !strings.Contains(a.text, `"hot":"unavailable"`) || !strings.Contains(a.text, `"record":"ok"`) || strings.Contains(a.text, "SECRET") {
		t.Errorf("readyz without the hot data: %d %s", a.status, a.text)
	}
	if a := page("/nothing"); a.status != http.StatusNotFound {
		t.Errorf("an unknown path: %d", a.status)
	}
}

func TestMetricsCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.town(3)
	trip := w.config.Metrics.RoundTrips("hot")
	trip()
	trip()
	w.as(reader, `{ followFeed { nodes { id } } }`, nil)
	w.as(reader, makeEve, nil)
	w.as(reader, `{ nothing }`, nil)
	w.as(reader, `{ nodes(ids: ["user:1", "user:2"]) { id } }`, nil)
	text := w.send(httptest.NewRequest(http.MethodGet, "http://localhost/metrics", http.NoBody)).text
	for _, line := range []string{
		`feedgate_request_duration_seconds_count{operation="query"} 2`,
		`feedgate_request_duration_seconds_count{operation="mutation"} 1`,
		`feedgate_request_duration_seconds_count{operation="invalid"} 1`,
		`feedgate_errors_total{code="BAD_USER_INPUT"} 1`,
		`feedgate_errors_total{code="CONFLICT"} 1`,
		`feedgate_round_trips_total{store="hot"} 2`,
		`feedgate_loader_batch_keys_sum{loader="users"} 2`,
		`go_goroutines`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("metrics lack %s", line)
		}
	}
}

func TestHeadersKeepBrowsersCareful(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.as(0, `{ viewer { id } }`, nil)
	for h, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"Content-Type": "application/json", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
	} {
		if got := a.header.Get(h); got != want {
			t.Errorf("%s is %q, want %q", h, got, want)
		}
	}
	if a.header.Get("X-Request-Id") == "" {
		t.Error("the request has no id")
	}
	a = w.send(post(operation(`{ viewer { id } }`, nil), "X-Request-Id", "from-a-proxy.1", "Accept", "application/graphql-response+json"))
	if a.header.Get("X-Request-Id") != "from-a-proxy.1" || a.header.Get("Content-Type") != "application/graphql-response+json" {
		t.Errorf("headers are %v", a.header)
	}
	if a := w.send(post(operation(`{ viewer { id } }`, nil), "X-Request-Id", "evil\" id")); a.header.Get("X-Request-Id") == "evil\" id" {
		t.Error("any request id is taken over")
	}
}
