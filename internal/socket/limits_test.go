package socket_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"feedgate/feed"
	"feedgate/internal/socket"
)

func TestOperationsOfASocketAreCapped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.connected(t, hello)
		for i := range 20 {
			c.send(fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":{"query":"subscription { state }"}}`, i))
			c.want(fmt.Sprintf(`{"id":"%d","type":"next","payload":{"data":{"state":0}}}`, i))
		}
		more := `{"id":"more","type":"subscribe","payload":{"query":"{ hello }"}}`
		c.send(more)
		c.want(`{"id":"more","type":"error","payload":[{"message":"a socket runs at most 20 operations at a time: complete one, or open another socket","extensions":{"code":"RATE_LIMITED"}}]}`)
		c.send(`{"id":"7","type":"complete"}`)
		c.send(more)
		c.want(`{"id":"more","type":"next","payload":{"data":{"hello":"world"}}}`, `{"id":"more","type":"complete"}`)
	})
}

func TestReadersAreCapped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		places := make(chan struct{}, 2)
		w := newWorld(t, nil, func(cfg *socket.Config) {
			cfg.Reserve = func(context.Context) (func(), error) {
				select {
				case places <- struct{}{}:
					return func() { <-places }, nil
				default:
					return nil, &feed.Error{Code: feed.CodeRateLimited, Text: "you have too many sockets: close one"}
				}
			}
		})
		first, second := w.connected(t, hello), w.connected(t, hello)
		third := w.dial(t, modern)
		third.send(hello)
		third.wantClose(websocket.CloseTryAgainLater, "you have too many sockets")
		first.ws.Close()
		synctest.Wait()
		if len(places) != 1 {
			t.Errorf("%d places are taken, want 1", len(places))
		}
		first = w.connected(t, hello)
		for _, c := range []*client{first, second} {
			c.ws.SetCloseHandler(func(int, string) error { return nil }) // the server hears no answer
		}
		// Whoever has read that the socket closes may open another one at once.
		second.send(`bad`)
		second.wantClose(4400, "")
		if len(places) != 1 {
			t.Errorf("%d places are taken after the server closed a socket, want 1", len(places))
		}
		if err := first.ws.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")); err != nil {
			t.Fatal(err)
		}
		first.wantClose(websocket.CloseNormalClosure, "")
		if len(places) != 0 {
			t.Errorf("%d places are taken after a client closed a socket, want 0", len(places))
		}
		synctest.Wait()
		if len(places) != 0 {
			t.Errorf("%d places are taken at the end, want 0", len(places))
		}
	})
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header http.Header
		host   string
		status int
	}{
		"foreign origin": {http.Header{"Origin": {"https://evil.example"}}, "", http.StatusForbidden},
		"foreign host":   {nil, "evil", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil, nil)
				url := w.url
				if c.host != "" {
					url = "ws://" + c.host + "/graphql"
				}
				if status, _ := w.refused(t, url, c.header); status != c.status {
					t.Errorf("got %d, want %d", status, c.status)
				}
			})
		})
	}
}

func TestSocketsAreCapped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, func(cfg *socket.Config) { cfg.MaxSockets = 1 })
		c := w.connected(t, hello)
		if status, _ := w.refused(t, w.url, nil); status != http.StatusServiceUnavailable {
			t.Errorf("got %d", status)
		}
		c.ws.Close()
		synctest.Wait()
		w.connected(t, hello)
	})
}

// A client that does not read makes its subscription wait, and then sees the
// newest state.
func TestLatestStateWinsForASlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		slow, quick := w.connected(t, hello), w.connected(t, hello)
		for _, c := range []*client{slow, quick} {
			c.send(`{"id":"a","type":"subscribe","payload":{"query":"subscription { state }"}}`)
			c.want(`{"id":"a","type":"next","payload":{"data":{"state":0}}}`)
		}
		for i := 1; i <= 1000; i++ {
			w.hub.Publish(i)
			if i == 1 {
				synctest.Wait() // the slow one's first state is being written
			}
			quick.want(fmt.Sprintf(`{"id":"a","type":"next","payload":{"data":{"state":%d}}}`, i))
		}
		// The pipe holds nothing, so that the first state is being written and the
		// last one waits at its source.
		slow.want(`{"id":"a","type":"next","payload":{"data":{"state":1}}}`, `{"id":"a","type":"next","payload":{"data":{"state":1000}}}`)
	})
}

func TestClientThatStopsReadingIsCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.connected(t, hello)
		c.send(`{"id":"a","type":"subscribe","payload":{"query":"subscription { state }"}}`)
		began := time.Now()
		for w.transport.Open() > 0 {
			time.Sleep(tick)
		}
		wantAbout(t, "the end", began, 10*time.Second)
		if n, _ := w.hub.Count(); n != 0 || w.counts.slowOnes() != 1 {
			t.Errorf("%d listeners, %d slow closes", n, w.counts.slowOnes())
		}
	})
}

// What a client asks for without reading the answers is bounded: its own next
// message is not taken before the answer to the one before is written.
func TestFloodOfPingsFromAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.connected(t, hello)
		done := make(chan int)
		go func() {
			n := 0
			for c.ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"ping"}`)) == nil {
				n++
			}
			done <- n
		}()
		if n := <-done; n > 5 {
			t.Errorf("%d pings were taken", n)
		}
		if slow := w.counts.slowOnes(); slow != 1 {
			t.Errorf("%d slow closes", slow)
		}
	})
}

func TestFloodOfOperationsFromAClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.connected(t, hello)
		done := make(chan int)
		go func() {
			n := 0
			for c.ws.WriteMessage(websocket.TextMessage, []byte(fmt.Sprintf(`{"id":"%d","type":"subscribe","payload":{"query":"{ hello }"}}`, n))) == nil {
				n++
			}
			done <- n
		}()
		time.Sleep(time.Second)
		if n := w.counts.running(); n > 40 {
			t.Errorf("%d operations run", n)
		}
		if n := <-done; n > 50 {
			t.Errorf("%d operations were taken", n)
		}
	})
}
