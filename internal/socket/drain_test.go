package socket_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

func TestDrainClosesEverySocketSpreadOverTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		const n = 50
		ends := make(chan time.Duration, n)
		began := time.Now()
		for i := range n {
			protocol := modern
			if i%5 == 0 {
				protocol = legacy
			}
			c := w.dial(t, protocol)
			if i%10 != 9 { // some are not even welcomed yet
				c.send(hello)
				c.want(`{"type":"connection_ack"}`)
			}
			if protocol == modern && i%10 != 9 {
				c.send(`{"id":"a","type":"subscribe","payload":{"query":"subscription { state }"}}`)
			}
			go func() {
				c.wantClose(websocket.CloseServiceRestart, "restarts")
				ends <- time.Since(began)
			}()
		}
		synctest.Wait()
		drained := make(chan error, 1)
		go func() { drained <- w.transport.Drain(t.Context()) }()
		synctest.Wait()
		if status, header := w.refused(t, w.url, nil); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
			t.Errorf("a new socket while draining: %d %v", status, header)
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
		late := 0
		for range n {
			if d := <-ends; d > 2500*time.Millisecond {
				late++
			}
		}
		if late < 15 || late > 35 {
			t.Errorf("%d of %d ended in the second half, want about half", late, n)
		}
		if listeners, _ := w.hub.Count(); listeners != 0 || w.counts.closedBy(websocket.CloseServiceRestart) != n {
			t.Errorf("%d listeners, closes %v", listeners, w.counts)
		}
		if err := w.transport.Drain(t.Context()); err != nil {
			t.Errorf("a second drain: %v", err)
		}
	})
}

func TestDrainCutsWhatDoesNotGoInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		for range 3 { // none of them reads
			c := w.connected(t, hello)
			c.send(`{"id":"a","type":"subscribe","payload":{"query":"subscription { state }"}}`)
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := w.transport.Drain(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "3 were cut") {
			t.Errorf("got %v", err)
		}
		wantAbout(t, "the drain", began, time.Second)
		if n := w.transport.Open(); n != 0 {
			t.Errorf("%d are open", n)
		}
	})
}
