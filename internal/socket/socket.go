package socket

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/gorilla/websocket"

	"feedgate/feed"
)

// socket is one client's connection.
type socket struct {
	t        *Transport
	ws       *websocket.Conn
	raw      net.Conn // beneath TLS, so that closing it never waits
	protocol protocol
	exec     graphql.GraphExecutor
	headers  http.Header
	cancel   context.CancelFunc // ends every operation
	heard    atomic.Bool        // whether the client sent anything since the last ping
	running  sync.WaitGroup     // operations and the writer

	// The reader's own.
	lane *lane
	take func(message) // what it does with a message now
	lost error         // why it cannot read on; nil if it panicked
	// panicked logs, which needs the context.
	panicked func(any)

	mu         sync.Mutex
	operations map[string]*run // those that clients may name
	count      int             // those that run, ending ones included
	allowance  allowance       // of operations that may begin
	out        outbox
	leaving    *leaving // why the socket is being closed; nil while it is not
	dead       bool     // nothing can be written any more
	place      func()   // gives back the reader's place; nil while there is none
	due        due

	spoke spoke // guarded by the wheel
}

// due is when the wheel has something to do for a socket; zero times are never.
type due struct {
	initBy, ping, expiry, drain, cut time.Time
	pinged                           bool // at least once
}

// next gives the earliest time.
func (d due) next() time.Time {
	var first time.Time
	for _, at := range [...]time.Time{d.initBy, d.ping, d.expiry, d.drain, d.cut} {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

// leaving is why a socket is being closed.
type leaving struct {
	code     int
	reason   string
	farewell []byte // a message to send before the close frame
	byClient bool   // the client closed it: there is no answer to wait for
	said     bool   // the writer has taken it
}

func newSocket(t *Transport, ws *websocket.Conn, exec graphql.GraphExecutor, headers http.Header) *socket {
	s := &socket{t: t, ws: ws, exec: exec, headers: headers, lane: newLane(), operations: make(map[string]*run)}
	s.raw = ws.NetConn()
	if over, ok := s.raw.(*tls.Conn); ok {
		s.raw = over.NetConn()
	}
	return s
}

// open prepares the connection, and lets the wheel watch it.
func (s *socket) open(ctx context.Context) {
	if tcp, ok := s.raw.(interface{ SetWriteBuffer(bytes int) error }); ok {
		if err := tcp.SetWriteBuffer(s.t.cfg.SendBuffer); err != nil {
			s.t.cfg.Log.LogAttrs(ctx, slog.LevelDebug, "socket keeps its send buffer", slog.Any("error", err))
		}
	}
	s.ws.SetPingHandler(s.controlPing)
	s.ws.SetPongHandler(func(string) error {
		s.heard.Store(true)
		return nil
	})
	s.ws.SetCloseHandler(func(int, string) error { return nil }) // ended answers
	s.protocol = protocol(s.ws.Subprotocol())
	s.t.cfg.Metrics.Opened(s.ws.Subprotocol())
	ctx, s.cancel = context.WithCancel(ctx)
	s.take = func(m message) { s.greet(ctx, m) }
	s.panicked = func(v any) { s.t.logPanic(ctx, v) }
	now := s.t.cfg.Clock.Now()
	s.due.initBy = now.Add(s.t.cfg.InitTimeout)
	s.t.wheel.add(s, s.due.initBy)
	if s.t.list(s) {
		s.closeAt(now)
	}
	if s.protocol != modern && s.protocol != legacy {
		s.close(codeSubprotocol, "Subprotocol not acceptable", "")
	}
}

// serve is the reader. It waits with as few and as small frames as it can, so
// that an idle socket's stack shrinks to 4 KiB: what is deep stands in received
// and tearDown.
func (s *socket) serve() {
	defer s.tearDown()
	for s.readOne() {
		continue
	}
}

func (s *socket) readOne() bool {
	format, r, err := s.ws.NextReader()
	return s.received(format, r, err)
}

// tearDown waits for all that the socket has started.
func (s *socket) tearDown() {
	if v := recover(); v != nil {
		s.panicked(v)
	}
	code := s.ended(s.lost)
	s.running.Wait()
	_ = s.ws.Close() // what it says, the reader or the writer has heard
	s.t.wheel.remove(s)
	s.t.unlist(s)
	s.giveUpPlace()
	s.t.cfg.Metrics.Closed(code)
	s.t.leave()
}

// received does what a message asks for. False: nothing more can be read. What
// comes while the socket is being closed is of no interest.
func (s *socket) received(format int, r io.Reader, err error) bool {
	if err != nil {
		s.lost = err
		return false
	}
	s.heard.Store(true)
	if s.isLeaving() {
		return true
	}
	m, err := s.read(r)
	switch {
	case errors.Is(err, io.ErrShortBuffer):
		s.close(websocket.CloseMessageTooBig, "a message is too long", feed.CodeTooComplex)
	case errors.Is(err, errMessage), err == nil && format != websocket.TextMessage:
		s.invalid()
	case err != nil:
		s.lost = err
		return false
	default:
		s.take(m)
	}
	return true
}

// read reads one message.
func (s *socket) read(r io.Reader) (message, error) {
	text := s.t.buffer()
	defer s.t.recycle(text)
	if err := readMessage(text, r, s.t.cfg.MaxMessage); err != nil {
		return message{}, err
	}
	return parse(text.Bytes())
}

func (s *socket) invalid() { s.close(codeBadRequest, "Invalid message received", feed.CodeBadInput) }

// greet takes messages until the client has said who it is.
func (s *socket) greet(ctx context.Context, m message) {
	switch s.protocol.kindOf(m.Type) {
	case initiate:
		if inner, ok := s.initiate(ctx, m); ok {
			s.take = func(m message) { s.handle(inner, m) }
		}
	case subscribe:
		s.close(codeUnauthorized, "Unauthorized", feed.CodeUnauthenticated)
	default:
		s.handle(ctx, m)
	}
}

// handle does what a message asks for, once it is known who sends it.
func (s *socket) handle(ctx context.Context, m message) {
	switch s.protocol.kindOf(m.Type) {
	case initiate:
		s.close(codeTooManyInits, "Too many initialisation requests", feed.CodeBadInput)
	case subscribe:
		s.subscribe(ctx, m)
	case complete:
		if m.ID == "" {
			s.invalid()
			return
		}
		s.stop(m.ID)
	case ping:
		if !m.object() {
			s.invalid()
			return
		}
		b := s.t.buffer()
		b.Write(appendPong(b.AvailableBuffer(), m.Payload))
		s.send(ctx, s.lane, b)
	case pong:
		if !m.object() {
			s.invalid()
		}
	case terminate:
		s.close(websocket.CloseNormalClosure, "", "")
	case unknown:
		s.invalid()
	}
}

// initiate finds out who reads, and welcomes them.
func (s *socket) initiate(ctx context.Context, m message) (context.Context, bool) {
	if !m.object() {
		s.invalid()
		return nil, false
	}
	inner, expires, err := s.admit(ctx, m.Payload)
	if err != nil {
		s.deny(ctx, err)
		return nil, false
	}
	b := s.t.buffer()
	b.Write(appendAck(b.AvailableBuffer()))
	if !s.send(ctx, s.lane, b) || !s.lane.written(ctx) { // nothing may come before it
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving != nil || s.dead {
		return nil, false
	}
	s.due.initBy = time.Time{}
	s.due.expiry = expires
	s.due.ping = s.t.cfg.Clock.Now().Add(s.t.pingEvery())
	if s.protocol == legacy { // its clients count on it from the first one on
		s.out.ping = true
		s.startWriter()
	}
	s.t.wheel.set(s, s.due.next())
	return inner, true
}

// pingEvery leaves room for what the wheel may be late: a client that answers
// nothing is gone within two intervals.
func (t *Transport) pingEvery() time.Duration {
	return max(t.cfg.PingInterval-wheelTick, wheelTick)
}

// admit asks Auth and Reserve.
func (s *socket) admit(ctx context.Context, payload json.RawMessage) (inner context.Context, expires time.Time, err error) {
	defer func() {
		if v := recover(); v != nil {
			s.t.logPanic(ctx, v)
			err = &feed.Error{Code: feed.CodeInternal, Text: "something went wrong inside feedgate"}
		}
	}()
	inner, expires, err = s.t.cfg.Auth(ctx, payload)
	if err != nil {
		return nil, time.Time{}, err
	}
	if !expires.IsZero() && !s.t.cfg.Clock.Now().Before(expires) {
		return nil, time.Time{}, feed.Forbidden(expiredText)
	}
	place, err := s.t.cfg.Reserve(inner)
	if err != nil {
		return nil, time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place = place
	return inner, expires, nil
}

// giveUpPlace lets the reader open another socket.
func (s *socket) giveUpPlace() {
	s.mu.Lock()
	place := s.place
	s.place = nil
	s.mu.Unlock()
	if place != nil {
		place()
	}
}

const expiredText = "token expired"

// deny closes a socket whose client may not have it.
func (s *socket) deny(ctx context.Context, err error) {
	if s.isLeaving() {
		return // it took too long, and its context has ended
	}
	code, text := feed.CodeOf(err), "something went wrong inside feedgate"
	if known, ok := errors.AsType[*feed.Error](err); ok {
		text = known.Text
	}
	closing := codeForbidden
	switch code {
	case feed.CodeUnavailable, feed.CodeInternal:
		closing = websocket.CloseTryAgainLater
		s.t.cfg.Log.LogAttrs(ctx, slog.LevelWarn, "socket refused", slog.String("code", string(code)), slog.Any("error", err))
	case feed.CodeRateLimited:
		closing = websocket.CloseTryAgainLater
	default:
	}
	s.close(closing, text, code)
}

// controlPing answers a ping frame. Only the last one must be answered.
func (s *socket) controlPing(payload string) error {
	s.heard.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.pong, s.out.pongDue = payload, true
	s.startWriter()
	return nil
}

// wake does what is due, and gives the time of what is next.
func (s *socket) wake(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	came := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	switch {
	case s.dead:
		return time.Time{}
	case s.leaving != nil:
		if came(s.due.cut) {
			s.kill()
			return time.Time{}
		}
		return s.due.cut
	case came(s.due.initBy):
		s.leave(codeInitTimeout, "Connection initialisation timeout", feed.CodeUnauthenticated)
	case came(s.due.expiry):
		s.leave(codeForbidden, expiredText, feed.CodeUnauthenticated)
	case came(s.due.drain):
		s.leave(s.t.cfg.DrainCode, "the server restarts", "")
	case came(s.due.ping):
		if answered := s.heard.Swap(false); s.due.pinged && !answered {
			s.kill()
			return time.Time{}
		}
		s.due.pinged = true
		s.due.ping = now.Add(s.t.pingEvery())
		s.out.ping = true
		s.startWriter()
	}
	return s.due.next()
}
