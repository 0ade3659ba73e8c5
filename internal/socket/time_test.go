package socket_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

const (
	interval = 25 * time.Second       // between pings
	tick     = 100 * time.Millisecond // how exact the wheel is
)

func wantAbout(t *testing.T, what string, began time.Time, want time.Duration) {
	t.Helper()
	if took := time.Since(began); took < want-tick || took > want+tick {
		t.Errorf("%s took %v, want about %v", what, took, want)
	}
}

func TestInitTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		began := time.Now()
		w.dial(t, modern).wantClose(4408, "")
		wantAbout(t, "the close", began, 5*time.Second)
	})
}

func TestClientThatNeverAnswersIsCutWithinTwoIntervals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.connected(t, hello)
		c.ws.SetPingHandler(func(string) error { return nil })
		c.send(`{"id":"a","type":"subscribe","payload":{"query":"subscription { state }"}}`)
		began := time.Now()
		for {
			if _, _, err := c.ws.ReadMessage(); err != nil {
				if websocket.IsCloseError(err, 4408) {
					t.Errorf("got %v", err)
				}
				break
			}
		}
		if took := time.Since(began); took > 2*interval {
			t.Errorf("cut after %v, want at most %v", took, 2*interval)
		}
		synctest.Wait()
		if n, _ := w.hub.Count(); n != 0 || w.counts.closedBy(1006) != 1 {
			t.Errorf("%d listeners, closes %v", n, w.counts)
		}
	})
}

func TestAnyAnswerKeepsASocketOpen(t *testing.T) {
	t.Parallel()
	answers := map[string]func(c *client){
		"pong frame":   func(c *client) { _ = c.ws.WriteMessage(websocket.PongMessage, nil) },
		"ping frame":   func(c *client) { _ = c.ws.WriteMessage(websocket.PingMessage, nil) },
		"pong message": func(c *client) { c.send(`{"type":"pong"}`) },
		"ping message": func(c *client) { c.send(`{"type":"ping"}`) },
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil, nil)
				c := w.connected(t, hello)
				frames := 0
				c.ws.SetPingHandler(func(string) error {
					frames++
					return nil
				})
				for range 20 {
					c.want(`{"type":"ping"}`)
					answer(c)
					if name == "ping message" {
						c.want(`{"type":"pong"}`)
					}
				}
				if frames != 20 {
					t.Errorf("%d ping frames, want 20", frames)
				}
				if w.transport.Open() != 1 {
					t.Error("the socket was closed")
				}
			})
		})
	}
}

func TestLegacyKeepAliveComesWithEachInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.old(t)
		began := time.Now()
		for range 4 {
			c.want(`{"type":"ka"}`)
		}
		wantAbout(t, "four intervals", began, 4*interval-4*tick)
	})
}

func TestTokenThatExpiresEndsOperationsAndCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.connected(t, `{"type":"connection_init","payload":{"expires":"10m"}}`)
		for _, id := range []string{"a", "b"} {
			c.send(`{"id":"` + id + `","type":"subscribe","payload":{"query":"subscription { state }"}}`)
			c.want(`{"id":"` + id + `","type":"next","payload":{"data":{"state":0}}}`)
		}
		began := time.Now()
		c.wantClose(4403, "token expired")
		wantAbout(t, "the end", began, 10*time.Minute)
		synctest.Wait()
		if n, _ := w.hub.Count(); n != 0 {
			t.Errorf("%d listeners are left", n)
		}
	})
}

func TestClientThatDoesNotAnswerACloseIsCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.connected(t, hello)
		c.ws.SetCloseHandler(func(int, string) error { return nil })
		c.send(`nonsense`)
		began := time.Now()
		c.wantClose(4400, "")
		for w.transport.Open() > 0 {
			time.Sleep(tick)
		}
		wantAbout(t, "the end", began, 2*time.Second)
	})
}

func TestClientThatClosesIsAnsweredWithItsCode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.connected(t, hello)
		c.send(`{"id":"a","type":"subscribe","payload":{"query":"subscription { state }"}}`)
		c.want(`{"id":"a","type":"next","payload":{"data":{"state":0}}}`)
		if err := c.ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(4499, "bye")); err != nil {
			t.Fatal(err)
		}
		_, _, err := c.ws.ReadMessage()
		if closed, ok := errors.AsType[*websocket.CloseError](err); !ok || closed.Code != 4499 {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if n, _ := w.hub.Count(); n != 0 || w.counts.closedBy(4499) != 1 {
			t.Errorf("%d listeners, closes %v", n, w.counts)
		}
	})
}

func TestHalfAFrameDoesNotHoldASocket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.connected(t, hello)
		go func() {
			for { // what the server sends is taken, nothing is answered
				if _, err := c.ws.NetConn().Read(make([]byte, 100)); err != nil {
					return
				}
			}
		}()
		if _, err := c.ws.NetConn().Write([]byte{0x81, 0xfe, 0x10}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for w.transport.Open() > 0 {
			time.Sleep(tick)
		}
		if took := time.Since(began); took > 2*interval {
			t.Errorf("cut after %v", took)
		}
	})
}
