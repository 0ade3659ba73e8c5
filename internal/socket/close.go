package socket

import (
	"errors"
	"time"

	"github.com/gorilla/websocket"

	"feedgate/feed"
)

// close ends the operations and leaves a close frame to the writer. Kind is the
// error's code for clients of the legacy protocol, which read it in a message;
// "" for none. Only the first call counts.
func (s *socket) close(code int, text string, kind feed.Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(code, text, kind)
}

func (s *socket) leave(code int, text string, kind feed.Code) {
	if s.leaving != nil || s.dead {
		return
	}
	s.leaving = &leaving{code: code, reason: reason(text)}
	if kind != "" {
		s.leaving.farewell = s.protocol.farewell(kind, text)
	}
	s.startLeaving()
}

// startLeaving takes back what is queued and lets the writer say goodbye.
func (s *socket) startLeaving() {
	s.cancel()
	s.dropQueue()
	s.due = due{cut: s.t.cfg.Clock.Now().Add(s.t.cfg.CloseTimeout)}
	s.startWriter()
	s.t.wheel.set(s, s.due.cut)
}

func (s *socket) isLeaving() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaving != nil
}

// closeAt lets the wheel close the socket for a drain.
func (s *socket) closeAt(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving == nil && !s.dead {
		s.due.drain = at
		s.t.wheel.set(s, s.due.next())
	}
}

// cut ends the connection without a word.
func (s *socket) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill()
}

func (s *socket) kill() {
	if s.dead {
		return
	}
	s.dead = true
	s.cancel()
	s.dropQueue()
	if err := s.raw.Close(); err != nil {
		return // it was closed before
	}
}

// ended is told why nothing more can be read. It gives the code that the
// socket ended with.
func (s *socket) ended(err error) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	code := websocket.CloseAbnormalClosure
	closed, polite := errors.AsType[*websocket.CloseError](err)
	switch {
	case s.leaving != nil:
		code = s.leaving.code
		s.leaving.byClient = true
		if s.leaving.said || !polite {
			s.kill()
		}
	case polite && !s.dead:
		code = closed.Code
		s.leaving = &leaving{code: code, byClient: true}
		s.startLeaving()
	default:
		s.kill()
	}
	return code
}
