package socket

import (
	"bytes"
	"context"
	"errors"
	"net"
	"time"

	"github.com/gorilla/websocket"
)

// lane is one sender's place in the queue: it holds at most one message.
type lane struct {
	ready chan struct{} // holds a token while nothing of this lane is queued or being written

	// The socket's lock guards the rest.
	next *lane
	text *bytes.Buffer
	shut bool // what is queued is of no interest any more
}

func newLane() *lane {
	l := &lane{ready: make(chan struct{}, 1)}
	l.ready <- struct{}{}
	return l
}

// outbox is what the writer has to write.
type outbox struct {
	writing     bool // a writer runs
	first, last *lane
	ping        bool // the time for a ping has come
	pongDue     bool
	pong        string
}

// send queues a message in a lane, when the one before it is written. It takes
// the buffer over, and reports whether the message was queued.
func (s *socket) send(ctx context.Context, l *lane, text *bytes.Buffer) bool {
	select {
	case <-l.ready:
	case <-ctx.Done():
		s.t.recycle(text)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enqueue(l, text)
}

// enqueue queues a message in a lane whose token was taken.
func (s *socket) enqueue(l *lane, text *bytes.Buffer) bool {
	if s.dead || s.leaving != nil || l.shut {
		l.ready <- struct{}{}
		s.t.recycle(text)
		return false
	}
	l.text = text
	if s.out.last == nil {
		s.out.first = l
	} else {
		s.out.last.next = l
	}
	s.out.last = l
	s.startWriter()
	return true
}

// written waits until nothing of a lane is queued.
func (l *lane) written(ctx context.Context) bool {
	select {
	case <-l.ready:
		l.ready <- struct{}{}
		return true
	case <-ctx.Done():
		return false
	}
}

// pop takes the first lane out of the queue, with its message.
func (s *socket) pop() (*lane, *bytes.Buffer) {
	l := s.out.first
	if l == nil {
		return nil, nil
	}
	if s.out.first = l.next; s.out.first == nil {
		s.out.last = nil
	}
	text := l.text
	l.next, l.text = nil, nil
	return l, text
}

// dropQueue gives back what is queued.
func (s *socket) dropQueue() {
	for l, text := s.pop(); l != nil; l, text = s.pop() {
		s.t.recycle(text)
		l.ready <- struct{}{}
	}
	s.out.ping, s.out.pongDue, s.out.pong = false, false, ""
}

// startWriter starts a writer unless one runs.
func (s *socket) startWriter() {
	if s.out.writing || s.dead {
		return
	}
	s.out.writing = true
	s.running.Add(1)
	go s.write()
}

// write writes until nothing is left to write.
func (s *socket) write() {
	defer s.running.Done()
	for s.writeNext() {
		continue
	}
}

// writeNext writes one thing. False ends the writer.
func (s *socket) writeNext() bool {
	s.mu.Lock()
	out := &s.out
	switch {
	case s.dead:
		out.writing = false
		s.mu.Unlock()
		return false
	case s.leaving != nil && !s.leaving.said:
		why := *s.leaving
		s.leaving.said = true
		s.mu.Unlock()
		return s.sayGoodbye(why)
	case s.leaving == nil && out.pongDue:
		payload := out.pong
		out.pongDue, out.pong = false, ""
		s.mu.Unlock()
		return s.put(websocket.PongMessage, []byte(payload))
	case s.leaving == nil && out.ping:
		out.ping = false
		s.mu.Unlock()
		return s.put(websocket.PingMessage, nil) && s.put(websocket.TextMessage, []byte(s.protocol.keepAlive()))
	}
	l, text := s.pop()
	if l == nil {
		out.writing = false
		s.mu.Unlock()
		return false
	}
	stale := l.shut
	s.mu.Unlock()
	ok := stale || s.put(websocket.TextMessage, text.Bytes())
	s.t.recycle(text)
	l.ready <- struct{}{}
	return ok
}

// put writes one frame. When it fails the socket is dead.
func (s *socket) put(format int, text []byte) bool {
	deadline := time.Now().Add(s.t.cfg.WriteTimeout) //nolint:forbidigo // the kernel knows no other clock
	err := s.ws.SetWriteDeadline(deadline)
	if err == nil {
		err = s.ws.WriteMessage(format, text)
	}
	if err == nil {
		if format == websocket.TextMessage {
			s.t.cfg.Metrics.Sent(len(text))
		}
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() && !s.dead {
		s.t.cfg.Metrics.Slow()
	}
	s.kill()
	s.out.writing = false
	return false
}

// sayGoodbye writes the close frame. A client that has read it may open the next
// socket at once, so the place is given up first.
func (s *socket) sayGoodbye(why leaving) bool {
	s.giveUpPlace()
	if why.farewell != nil && !s.put(websocket.TextMessage, why.farewell) {
		return false
	}
	if !s.put(websocket.CloseMessage, websocket.FormatCloseMessage(why.code, why.reason)) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving.byClient {
		s.kill()
	}
	return true
}

// The pool keeps no buffer that one long message has blown up.
const maxPooled = 16 << 10

func (t *Transport) buffer() *bytes.Buffer {
	if b, ok := t.messages.Get().(*bytes.Buffer); ok {
		return b
	}
	return bytes.NewBuffer(make([]byte, 0, 512))
}

func (t *Transport) recycle(b *bytes.Buffer) {
	if b.Cap() <= maxPooled {
		b.Reset()
		t.messages.Put(b)
	}
}
