package socket

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/gorilla/websocket"

	"feedgate/feed"
	"feedgate/internal/operation"
)

// Config is what a Transport is made of. Clock, Log, Auth and Allow must be
// set; every zero number takes its default.
type Config struct {
	Clock feed.Clock
	Log   *slog.Logger
	// Auth finds out who reads, from the payload of connection_init: a JSON
	// object, or nil when there was none. It gives the context of the socket's
	// operations, derived from ctx, and when the proof of identity ends; the zero
	// time is never. Its error closes the socket with 4403 and the error's text;
	// with 1013 (try again later) when the code is UNAVAILABLE, RATE_LIMITED or
	// INTERNAL. The payload is Auth's to keep.
	Auth func(ctx context.Context, payload json.RawMessage) (context.Context, time.Time, error)
	// Allow reports whether a request may become a socket, by its Host and
	// Origin: browsers send it from pages of any site.
	Allow func(*http.Request) bool
	// Reserve takes a place among the sockets of a reader, once Auth has told who
	// it is; release gives it back, before the client is told that the socket
	// closes. An error closes the socket as Auth's does. Nil: no bound.
	Reserve func(ctx context.Context) (release func(), err error)
	// Begin makes the context of one operation. Nil: that of the socket.
	Begin func(ctx context.Context) context.Context
	// Metrics is told what happens. Nil: nobody is.
	Metrics Metrics

	// MaxMessage bounds a message from a client, in bytes. 0: 64 KiB.
	MaxMessage int
	// MaxOperations bounds what runs on one socket at a time. 0: 20.
	MaxOperations int
	// OperationBurst is how many operations a socket may begin at once, and
	// OperationRate how many a second from then on. One more is refused with
	// RATE_LIMITED; whoever goes on is cut off with 1008 after another
	// OperationBurst of them. 0: 100, and 20 a second.
	OperationBurst, OperationRate int
	// MaxSockets bounds how many sockets are open. 0: 50,000.
	MaxSockets int
	// InitTimeout is how long a client may take to say who it is. 0: 5 s.
	InitTimeout time.Duration
	// PingInterval is the time between two pings. A client that answers nothing
	// is cut within two of them. 0: 25 s.
	PingInterval time.Duration
	// WriteTimeout is how long a client may take to accept one message. 0: 10 s.
	WriteTimeout time.Duration
	// CloseTimeout is how long a client may take to answer a close frame. 0: 2 s.
	CloseTimeout time.Duration
	// QueryTimeout bounds a query or a mutation. 0: 10 s.
	QueryTimeout time.Duration
	// SendBuffer bounds what the kernel holds of a socket's messages, in bytes: a
	// client that reads slowly sees states as old as this is long. 0: 64 KiB.
	SendBuffer int
	// DrainSpread is the time over which Drain spreads the ends of sockets, so
	// that clients do not all come back at once. 0: 5 s.
	DrainSpread time.Duration
	// DrainCode is the close code of a drain. 0: 1012, service restart.
	DrainCode int
}

func (c Config) withDefaults() Config {
	if c.Metrics == nil {
		c.Metrics = silent{}
	}
	if c.Reserve == nil {
		c.Reserve = func(context.Context) (func(), error) { return func() {}, nil }
	}
	if c.Begin == nil {
		c.Begin = func(ctx context.Context) context.Context { return ctx }
	}
	c.MaxMessage = cmp.Or(c.MaxMessage, 64<<10)
	c.MaxOperations = cmp.Or(c.MaxOperations, 20)
	c.OperationBurst = cmp.Or(c.OperationBurst, 100)
	c.OperationRate = cmp.Or(c.OperationRate, 20)
	c.MaxSockets = cmp.Or(c.MaxSockets, 50_000)
	c.InitTimeout = cmp.Or(c.InitTimeout, 5*time.Second)
	c.PingInterval = cmp.Or(c.PingInterval, 25*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 10*time.Second)
	c.CloseTimeout = cmp.Or(c.CloseTimeout, 2*time.Second)
	c.QueryTimeout = cmp.Or(c.QueryTimeout, 10*time.Second)
	c.SendBuffer = cmp.Or(c.SendBuffer, 64<<10)
	c.DrainSpread = cmp.Or(c.DrainSpread, 5*time.Second)
	c.DrainCode = cmp.Or(c.DrainCode, websocket.CloseServiceRestart)
	return c
}

// Transport serves GraphQL over WebSocket. Make one with [New].
type Transport struct {
	cfg      Config
	upgrader websocket.Upgrader
	wheel    *wheel
	messages sync.Pool // of *bytes.Buffer, for what is read and written

	mu       sync.Mutex
	entered  int // requests that are, or become, sockets
	sockets  map[*socket]struct{}
	draining bool
	empty    chan struct{} // closed when a drain has nothing left to wait for
}

var _ graphql.Transport = (*Transport)(nil)

const (
	readBuffer  = 1 << 10 // that each socket has
	writeBuffer = 2 << 10 // those pooled, that frames are made in
)

// New makes a Transport. It owns no goroutine while no socket is open.
func New(cfg Config) *Transport {
	cfg = cfg.withDefaults()
	return &Transport{
		cfg:     cfg,
		wheel:   newWheel(cfg.Clock),
		sockets: make(map[*socket]struct{}),
		empty:   make(chan struct{}),
		upgrader: websocket.Upgrader{
			HandshakeTimeout: cfg.WriteTimeout,
			ReadBufferSize:   readBuffer,
			WriteBufferSize:  writeBuffer,
			WriteBufferPool:  new(sync.Pool),
			Subprotocols:     []string{string(modern), string(legacy)},
			CheckOrigin:      cfg.Allow,
			Error: func(w http.ResponseWriter, _ *http.Request, status int, _ error) {
				refuse(w, status)
			},
		},
	}
}

// Supports accepts requests to become a WebSocket.
func (t *Transport) Supports(r *http.Request) bool { return websocket.IsWebSocketUpgrade(r) }

// Do makes a socket of a request and returns; the socket goes on with a
// goroutine of its own. That of the handler would keep net/http's buffers, the
// request and a deep stack alive as long as the socket, some 14 KiB. The socket
// has the values of the request's context, not its end.
func (t *Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	if !t.enter() {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable)
		return
	}
	ws, err := t.upgrader.Upgrade(w, r, nil)
	if err != nil { // the upgrader has answered
		t.leave()
		return
	}
	s := newSocket(t, ws, exec, r.Header)
	s.open(context.WithoutCancel(r.Context()))
	go s.serve()
}

// logPanic logs a panic outside of operations: in the reader, or in Auth.
func (t *Transport) logPanic(ctx context.Context, value any) {
	t.cfg.Log.LogAttrs(ctx, slog.LevelError, "socket panicked", slog.Any("panic", value), slog.String("stack", string(debug.Stack())))
}

// refuse answers a request that does not become a socket.
func refuse(w http.ResponseWriter, status int) {
	code, text := feed.CodeBadInput, "this is no WebSocket handshake that can be taken up: GET, version 13, HTTP/1.1"
	switch status {
	case http.StatusForbidden:
		code, text = feed.CodeForbidden, "a page of another site, or another name of this server, may not open a socket here"
	case http.StatusServiceUnavailable:
		code, text = feed.CodeUnavailable, "no socket can be opened now: try again in a moment"
	case http.StatusInternalServerError:
		code, text = feed.CodeInternal, "this connection cannot become a socket: connect by HTTP/1.1"
	}
	body := append([]byte(`{"errors":`), operation.AppendErrors(nil, operation.Errors(code, text))...)
	body = append(body, `,"data":null}`...)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Sec-Websocket-Version", "13")
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		return // the client is gone
	}
}

// enter makes room for one more socket.
func (t *Transport) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.draining || t.entered >= t.cfg.MaxSockets {
		return false
	}
	t.entered++
	return true
}

func (t *Transport) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entered--
	if t.entered == 0 && t.draining {
		close(t.empty)
	}
}

// list makes a socket known to drains. It reports whether one is under way.
func (t *Transport) list(s *socket) (draining bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sockets[s] = struct{}{}
	return t.draining
}

func (t *Transport) unlist(s *socket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sockets, s)
}

// Open gives the number of open sockets.
func (t *Transport) Open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.sockets)
}
