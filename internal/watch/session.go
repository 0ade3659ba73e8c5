package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gorilla/websocket"
)

// session is one connection.
type session struct {
	*Watcher
	ws     *websocket.Conn
	served bool // something was shown
}

// message is one of graphql-transport-ws.
type message struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// The operations of a session, by id.
const (
	dots    = "dots"
	notices = "notices"
)

func operations() map[string]string {
	return map[string]string{
		dots:    "subscription { redDot { feedCount feedCountCapped noticeCount newestPost { text author { handle } } } }",
		notices: "subscription { noticeAdded { kind actorCount actors { handle } post { text } } }",
	}
}

// failure is an error of GraphQL.
type failure struct {
	Message    string `json:"message"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

// keepAlive sends pings, and ends the connection when ctx ends.
func (s *session) keepAlive(ctx context.Context, ended <-chan struct{}) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		by := s.cfg.Clock.Now().Add(writeLimit)
		select {
		case <-tick.C:
			// Should it fail, the reader finds out.
			_ = s.ws.WriteControl(websocket.PingMessage, nil, by)
		case <-ctx.Done():
			_ = s.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), by)
			_ = s.ws.Close()
			return
		case <-ended:
			return
		}
	}
}

func (s *session) heard() error { return s.ws.SetReadDeadline(s.cfg.Clock.Now().Add(deaf)) }

// run introduces itself, subscribes, and prints until the connection ends.
func (s *session) run(introduction map[string]string) error {
	s.ws.SetReadLimit(maxMessage)
	s.ws.SetPongHandler(func(string) error { return s.heard() })
	payload, err := json.Marshal(introduction)
	if err != nil {
		return fmt.Errorf("introducing: %w", err)
	}
	if err := s.send(message{Type: "connection_init", Payload: payload}); err != nil {
		return err
	}
	for {
		if err := s.heard(); err != nil {
			return fmt.Errorf("the connection is lost: %w", err)
		}
		var m message
		if err := s.ws.ReadJSON(&m); err != nil {
			return lost(err)
		}
		if err := s.take(m); err != nil {
			return err
		}
	}
}

// lost says why nothing more can be read.
func lost(err error) error {
	closed, ok := errors.AsType[*websocket.CloseError](err)
	switch {
	case !ok:
		return fmt.Errorf("the connection is lost: %w", err)
	case closed.Code >= 4400 && closed.Code < 4500:
		return &RefusedError{Text: plain(closed.Text)}
	case closed.Code == websocket.CloseServiceRestart, closed.Code == websocket.CloseGoingAway:
		return errors.New("the gateway restarts")
	default:
		return fmt.Errorf("the gateway closed the connection (%d %s)", closed.Code, plain(closed.Text))
	}
}

func (s *session) send(m message) error {
	if err := s.ws.SetWriteDeadline(s.cfg.Clock.Now().Add(writeLimit)); err != nil {
		return fmt.Errorf("the connection is lost: %w", err)
	}
	if err := s.ws.WriteJSON(m); err != nil {
		return fmt.Errorf("the connection is lost: %w", err)
	}
	return nil
}

// take does what a message asks for.
func (s *session) take(m message) error {
	switch m.Type {
	case "connection_ack":
		return s.subscribe()
	case "ping":
		return s.send(message{Type: "pong"})
	case "next":
		return s.show(m)
	case "error":
		var errs []failure
		if err := json.Unmarshal(m.Payload, &errs); err != nil || len(errs) == 0 {
			return errors.New("the gateway sends what can't be read")
		}
		return &RefusedError{Text: plain(errs[0].Message)}
	case "complete":
		return errors.New("the gateway ended the subscription")
	default:
		return nil
	}
}

func (s *session) subscribe() error {
	for id, query := range operations() {
		payload, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			return fmt.Errorf("subscribing: %w", err)
		}
		if err := s.send(message{ID: id, Type: "subscribe", Payload: payload}); err != nil {
			return err
		}
	}
	return nil
}

// show prints a result.
func (s *session) show(m message) error {
	var got struct {
		Data struct {
			RedDot      *dot    `json:"redDot"`
			NoticeAdded *notice `json:"noticeAdded"`
		} `json:"data"`
		Errors []failure `json:"errors"`
	}
	if err := json.Unmarshal(m.Payload, &got); err != nil {
		return errors.New("the gateway sends what can't be read")
	}
	switch {
	case got.Data.RedDot != nil:
		s.served = true
		s.paper.dot(got.Data.RedDot)
	case got.Data.NoticeAdded != nil:
		s.served = true
		s.paper.notice(got.Data.NoticeAdded)
	case len(got.Errors) > 0:
		switch text := plain(got.Errors[0].Message); got.Errors[0].Extensions.Code {
		case "UNAVAILABLE", "INTERNAL":
			s.paper.note("the gateway does not know now: " + text)
		case "RATE_LIMITED":
			return errors.New(text)
		default:
			return &RefusedError{Text: text}
		}
	}
	return s.paper.err
}
