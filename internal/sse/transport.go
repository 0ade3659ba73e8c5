package sse

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"feedgate/feed"
	"feedgate/internal/operation"
)

// Metrics is told what happens to streams. It is called from many goroutines
// and must not block.
type Metrics interface {
	// Opened counts a stream that was opened.
	Opened()
	// Closed counts the end of a stream: completed is false when it was broken off.
	Closed(completed bool)
	// Sent counts one event with its size in bytes.
	Sent(bytes int)
	// Slow counts a stream that was cut because its client read too slowly.
	Slow()
}

// Config is what a Transport is made of. Clock, Log and Read must be set; every
// zero number takes its default.
type Config struct {
	Clock feed.Clock
	Log   *slog.Logger
	// Read takes the operation from a POST, or gives the status and the error
	// that refuse it. It bounds what it reads.
	Read func(*http.Request) (*graphql.RawParams, int, *feed.Error)
	// Expires gives the time until which the reader of a request has proved who
	// they are; the zero time is never. Nil: never for all.
	Expires func(context.Context) time.Time
	// Reserve takes a place among the streams of a reader; release gives it back,
	// before the client is told that the stream is complete. Its error refuses the
	// stream: with 429 if the code is RATE_LIMITED, else with 503. Nil: no bound.
	Reserve func(context.Context) (release func(), err error)
	// Metrics is told what happens. Nil: nobody is.
	Metrics Metrics

	// MaxStreams bounds how many streams are open. 0: 10,000.
	MaxStreams int
	// KeepAlive is the longest silence on a stream. 0: 15 s.
	KeepAlive time.Duration
	// WriteTimeout is how long a client may take to accept one event. 0: 10 s.
	WriteTimeout time.Duration
	// QueryTimeout bounds a query or a mutation. 0: 10 s.
	QueryTimeout time.Duration
	// DrainSpread is the time over which Drain spreads the ends of streams. 0: 5 s.
	DrainSpread time.Duration
}

// Transport serves operations as Server-Sent Events. Make one with [New].
type Transport struct {
	cfg Config

	mu       sync.Mutex
	streams  map[*stream]struct{}
	draining bool
	empty    chan struct{} // closed when a drain has nothing left to wait for
}

var _ graphql.Transport = (*Transport)(nil)

// New makes a Transport. It owns no goroutine while no stream is open.
func New(cfg Config) *Transport {
	if cfg.Metrics == nil {
		cfg.Metrics = silent{}
	}
	if cfg.Expires == nil {
		cfg.Expires = func(context.Context) time.Time { return time.Time{} }
	}
	if cfg.Reserve == nil {
		cfg.Reserve = func(context.Context) (func(), error) { return func() {}, nil }
	}
	cfg.MaxStreams = cmp.Or(cfg.MaxStreams, 10_000)
	cfg.KeepAlive = cmp.Or(cfg.KeepAlive, 15*time.Second)
	cfg.WriteTimeout = cmp.Or(cfg.WriteTimeout, 10*time.Second)
	cfg.QueryTimeout = cmp.Or(cfg.QueryTimeout, 10*time.Second)
	cfg.DrainSpread = cmp.Or(cfg.DrainSpread, 5*time.Second)
	return &Transport{cfg: cfg, streams: make(map[*stream]struct{}), empty: make(chan struct{})}
}

const (
	typeEvents  = "text/event-stream"
	tokenHeader = "X-Graphql-Event-Stream-Token" //nolint:gosec // the name of a header
)

// Supports accepts requests whose client wants events and not JSON as well,
// and those of the single connection mode, which [Transport.Do] refuses.
func (t *Transport) Supports(r *http.Request) bool {
	if singleConnection(r) {
		return true
	}
	events, other := false, false
	for _, header := range r.Header.Values("Accept") {
		for accepted := range strings.SplitSeq(header, ",") {
			media, _, err := mime.ParseMediaType(accepted)
			switch {
			case err != nil:
			case media == typeEvents:
				events = true
			case media == "application/json", media == "application/graphql-response+json", media == "*/*":
				other = true
			}
		}
	}
	return events && !other
}

// singleConnection recognizes the requests of the mode that is not served.
func singleConnection(r *http.Request) bool {
	return r.Method == http.MethodPut || r.Method == http.MethodDelete || r.Header.Get(tokenHeader) != "" ||
		r.Method == http.MethodGet && r.Header.Get("Accept") == typeEvents && r.URL.Query().Has("token")
}

// Do serves one operation. The request's context must not have the deadline of
// an ordinary request.
func (t *Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	switch {
	case singleConnection(r):
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, feed.BadInput("", "the single connection mode of GraphQL over SSE is not served here: use distinct connections (singleConnection: false), one POST for each operation"))
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, feed.BadInput("", "events are for POST: send the operation as a JSON body"))
		return
	}
	params, status, refused := t.cfg.Read(r)
	if refused != nil {
		refuse(w, status, refused)
		return
	}
	params.Headers = r.Header
	release, err := t.cfg.Reserve(r.Context())
	if err != nil {
		t.turnAway(w, r, err)
		return
	}
	release = sync.OnceFunc(release)
	defer release()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s := newStream(t, w, cancel, release)
	if !t.enter(s) {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, feed.Unavailable("no stream can be opened now: try again in a moment", nil))
		return
	}
	defer t.leave(s)
	if err := s.open(); err != nil {
		t.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "stream cannot be opened", slog.Any("error", err))
		return
	}
	t.cfg.Metrics.Opened()
	t.cfg.Metrics.Closed(s.serve(ctx, exec, params))
}

// turnAway refuses a stream that a reader may not have.
func (t *Transport) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	known, ok := errors.AsType[*feed.Error](err)
	if !ok {
		known = &feed.Error{Code: feed.CodeInternal, Text: "something went wrong inside feedgate", Cause: err}
	}
	status := http.StatusServiceUnavailable
	if known.Code == feed.CodeRateLimited {
		status = http.StatusTooManyRequests
	} else {
		t.cfg.Log.LogAttrs(r.Context(), slog.LevelWarn, "stream refused", slog.String("code", string(known.Code)), slog.Any("error", err))
	}
	refuse(w, status, known)
}

// refuse answers a request that does not become a stream.
func refuse(w http.ResponseWriter, status int, err *feed.Error) {
	errs := operation.Errors(err.Code, err.Text)
	if err.Field != "" {
		errs[0].Extensions["field"] = err.Field
	}
	body := append([]byte(`{"errors":`), operation.AppendErrors(nil, errs)...)
	body = append(body, `,"data":null}`...)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		return // the client is gone
	}
}

func (t *Transport) enter(s *stream) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.draining || len(t.streams) >= t.cfg.MaxStreams {
		return false
	}
	t.streams[s] = struct{}{}
	return true
}

func (t *Transport) leave(s *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.streams, s)
	if len(t.streams) == 0 && t.draining {
		close(t.empty)
	}
}

// Open gives the number of open streams.
func (t *Transport) Open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.streams)
}

// silent are metrics that nobody reads.
type silent struct{}

var _ Metrics = silent{}

func (silent) Opened()     {}
func (silent) Closed(bool) {}
func (silent) Sent(int)    {}
func (silent) Slow()       {}
