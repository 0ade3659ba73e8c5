package sse_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"feedgate/feed"
	"feedgate/internal/sse"
)

const done = "event: complete|data: "

func next(json string) string { return "event: next|data: " + json }

func state(n int) string { return next(`{"data":{"state":` + strconv.Itoa(n) + `  }}`) }

func TestSubscriptionGivesEventsUntilTheClientGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		s := w.open(t, "subscription { state }")
		s.want(":", state(0))
		for i := 1; i < 1000; i++ { // one JSON in each event, however fast
			w.hub.Publish(i)
			s.want(state(i))
		}
		s.body.Close()
		synctest.Wait()
		if n, _ := w.hub.Count(); n != 0 || w.counts.get(&w.counts.cut) != 1 {
			t.Errorf("%d listeners, %d streams were cut", n, w.counts.get(&w.counts.cut))
		}
	})
}

func TestOperationsThatEndAreCompleted(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][]string{
		"{ hello }":                      {next(`{"data":{"hello":"world"}}`), done, "end"},
		"mutation { publish(n: 5) }":     {next(`{"data":{"publish":5}}`), done, "end"},
		"subscription { countTo(n: 2) }": {next(`{"data":{"countTo":1}}`), next(`{"data":{"countTo":2}}`), done, "end"},
		"subscription { broken }":        {next(`{"errors":[{"message":"the store is away","extensions":{"code":"UNAVAILABLE"}}],"data":null}`), done, "end"},
		"subscription { panic }":         {next(`{"data":{"panic":1}}`), next(`{"errors":[{"message":"something went wrong","extensions":{"code":"INTERNAL"}}]}`), done, "end"},
		"{ panic }":                      {next(`{"errors":[{"message":"something went wrong","extensions":{"code":"INTERNAL"}}]}`), done, "end"},
		"{ never }":                      {next(`{"errors":[{"message":"this took too long","extensions":{"code":"UNAVAILABLE"}}]}`), done, "end"},
		"{ nothing }":                    {next(`{"errors":[{"message":"Cannot query field \"nothing\" on type \"Query\".","extensions":{"code":"BAD_USER_INPUT"}}]}`), done, "end"},
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.open(t, query).want(want...)
				synctest.Wait()
				if n := w.counts.get(&w.counts.completed); n != 1 {
					t.Errorf("%d streams were completed, want 1", n)
				}
			})
		})
	}
}

func TestConnectionIsUsedAgainAfterAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for range 3 {
			w.open(t, "{ hello }").want(next(`{"data":{"hello":"world"}}`), done, "end")
			time.Sleep(time.Minute) // no deadline is left over
		}
	})
}

func TestRequestsThatDoNotBecomeStreams(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, accept, body string
		header               []string
		status               int
		want                 string
	}{
		"reservation":          {http.MethodPut, "*/*", "", nil, 405, "single connection mode"},
		"end of an operation":  {http.MethodDelete, "*/*", "", nil, 405, "single connection mode"},
		"reserved stream":      {http.MethodGet, "text/event-stream", "", []string{"X-GraphQL-Event-Stream-Token", "t"}, 405, "single connection mode"},
		"reserved operation":   {http.MethodPost, "*/*", "{}", []string{"X-GraphQL-Event-Stream-Token", "t"}, 405, "single connection mode"},
		"GET":                  {http.MethodGet, "text/event-stream", "", nil, 405, "POST"},
		"no JSON":              {http.MethodPost, "text/event-stream", "{", nil, 400, "there is no query"},
		"JSON is accepted too": {http.MethodPost, "application/json, text/event-stream", "{}", nil, http.StatusTeapot, ""},
		"anything is accepted": {http.MethodPost, "text/event-stream;q=0.1, */*", "{}", nil, http.StatusTeapot, ""},
		"no events are wanted": {http.MethodPost, "application/json", "{}", nil, http.StatusTeapot, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				status, text, _ := w.refused(t, w.request(t, c.method, c.accept, c.body, c.header...))
				if status != c.status || !strings.Contains(text, c.want) {
					t.Errorf("got %d %s, want %d %s", status, text, c.status, c.want)
				}
			})
		})
	}
}

func TestSilenceIsBrokenByComments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(_ *sse.Config, server *http.Server) {
			server.ReadTimeout, server.WriteTimeout = 30*time.Second, 40*time.Second
		})
		s := w.open(t, "subscription { state }")
		s.want(state(0))
		began := time.Now()
		for range 8 {
			s.want(":")
		}
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("eight comments took %v, want 2m", took)
		}
		w.hub.Publish(1)
		s.want(state(1))
	})
}

func TestTokenThatExpiresCompletesTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(cfg *sse.Config, _ *http.Server) {
			cfg.Expires = func(context.Context) time.Time { return time.Now().Add(10 * time.Minute) }
		})
		s := w.open(t, "subscription { state }")
		began := time.Now()
		s.want(state(0), next(`{"errors":[{"message":"token expired","extensions":{"code":"UNAUTHENTICATED"}}]}`), done, "end")
		if took := time.Since(began); took != 10*time.Minute {
			t.Errorf("took %v", took)
		}
	})
}

func TestSlowReaderSeesTheNewestStateAndOneThatStopsIsCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		quick, slow := w.open(t, "subscription { state }"), w.open(t, "subscription { state }")
		quick.want(state(0))
		slow.want(state(0))
		for i := 1; i <= 1000; i++ {
			w.hub.Publish(i)
			quick.want(state(i))
		}
		seen := 0
		for slow.event() != state(1000) {
			seen++
		}
		if seen > 100 { // what the client's own buffers hold
			t.Errorf("the slow reader saw %d old states", seen)
		}
		for w.counts.get(&w.counts.slow) == 0 {
			w.hub.Publish(0)
			time.Sleep(time.Second)
		}
	})
}

func TestStreamsAreCapped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(cfg *sse.Config, _ *http.Server) { cfg.MaxStreams = 1 })
		w.open(t, "subscription { state }").want(state(0))
		status, _, header := w.refused(t, w.request(t, http.MethodPost, "text/event-stream", `{"query":"{ hello }"}`))
		if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
			t.Errorf("got %d %v", status, header)
		}
	})
}

func TestReadersAreCapped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		status int
	}{
		"too many": {&feed.Error{Code: feed.CodeRateLimited, Text: "you have too many streams"}, http.StatusTooManyRequests},
		"away":     {feed.Unavailable("the store is away", nil), http.StatusServiceUnavailable},
		"broken":   {errors.New("dial tcp"), http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, func(cfg *sse.Config, _ *http.Server) {
					cfg.Reserve = func(context.Context) (func(), error) { return nil, c.err }
				})
				status, text, _ := w.refused(t, w.request(t, http.MethodPost, "text/event-stream", `{"query":"{ hello }"}`))
				if status != c.status || strings.Contains(text, "dial") {
					t.Errorf("got %d %s", status, text)
				}
			})
		})
	}
}

func TestReaderMayOpenTheNextStreamWhenOneIsComplete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		places := make(chan struct{}, 1)
		w := newWorld(t, func(cfg *sse.Config, _ *http.Server) {
			cfg.Reserve = func(context.Context) (func(), error) {
				select {
				case places <- struct{}{}:
					return func() { <-places }, nil
				default:
					return nil, &feed.Error{Code: feed.CodeRateLimited, Text: "you have too many streams"}
				}
			}
			cfg.Expires = func(context.Context) time.Time { return time.Now().Add(time.Hour) }
		})
		for range 100 {
			w.open(t, "{ hello }").want(next(`{"data":{"hello":"world"}}`), done)
		}
		for range 10 {
			s := w.open(t, "subscription { state }")
			s.want(state(0), next(`{"errors":[{"message":"token expired","extensions":{"code":"UNAUTHENTICATED"}}]}`), done)
		}
	})
}

func TestDrainBreaksStreamsOffSpreadOverTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		const n = 50
		ends := make(chan time.Duration, n)
		began := time.Now()
		for range n {
			s := w.open(t, "subscription { state }")
			s.want(state(0))
			go func() {
				if got := s.event(); got != "end" {
					t.Errorf("got %q, want the end without complete", got)
				}
				ends <- time.Since(began)
			}()
		}
		if err := w.transport.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		late := 0
		for range n {
			if <-ends > 2500*time.Millisecond {
				late++
			}
		}
		if late < 20 || late > 30 {
			t.Errorf("%d of %d ended in the second half", late, n)
		}
		if status, _, _ := w.refused(t, w.request(t, http.MethodPost, "text/event-stream", `{"query":"{ hello }"}`)); status != http.StatusServiceUnavailable {
			t.Errorf("a new stream got %d", status)
		}
	})
}

func TestDrainCutsWhatDoesNotGoInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		s := w.open(t, "subscription { state }")
		s.want(state(0))
		for i := range 500 { // until the client's buffers are full and a write waits
			w.hub.Publish(i)
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := w.transport.Drain(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 were cut") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
