package socket_test

import (
	"testing"
	"testing/synctest"

	"github.com/gorilla/websocket"
)

// old gives a client of the legacy protocol that has been welcomed.
func (w *world) old(t *testing.T) *client {
	t.Helper()
	c := w.dial(t, legacy)
	c.send(hello)
	c.want(`{"type":"connection_ack"}`, `{"type":"ka"}`)
	return c
}

func TestLegacyOperations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.old(t)
		c.send(`{"id":"1","type":"start","payload":{"query":"{ who }","operationName":null,"variables":{}}}`)
		c.want(`{"id":"1","type":"data","payload":{"data":{"who":"45"}}}`, `{"id":"1","type":"complete"}`)
		c.send(`{"id":"2","type":"start","payload":{"query":"{ nothing }"}}`)
		c.want(`{"id":"2","type":"error","payload":{"message":"Cannot query field \"nothing\" on type \"Query\".","extensions":{"code":"BAD_USER_INPUT"}}}`)
		c.send(`{"id":"3","type":"start","payload":{"query":"subscription { state }"}}`)
		c.want(`{"id":"3","type":"data","payload":{"data":{"state":0}}}`)
		c.send(`{"id":"3","type":"stop"}`)
		synctest.Wait()
		if n, _ := w.hub.Count(); n != 0 {
			t.Errorf("%d listeners after stop", n)
		}
		c.send(`{"type":"connection_terminate"}`)
		c.wantClose(websocket.CloseNormalClosure, "")
	})
}

func TestLegacyStartReplacesAnOperationOfTheSameName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.old(t)
		c.send(`{"id":"1","type":"start","payload":{"query":"subscription { state }"}}`)
		c.want(`{"id":"1","type":"data","payload":{"data":{"state":0}}}`)
		c.send(`{"id":"1","type":"start","payload":{"query":"subscription { again: state }"}}`)
		c.want(`{"id":"1","type":"data","payload":{"data":{"again":0}}}`)
		synctest.Wait()
		if n, _ := w.hub.Count(); n != 1 {
			t.Errorf("%d listeners, want 1", n)
		}
		w.hub.Publish(1)
		c.want(`{"id":"1","type":"data","payload":{"data":{"again":1}}}`)
	})
}

func TestLegacyErrorsAreToldBeforeTheClose(t *testing.T) {
	t.Parallel()
	start := `{"id":"1","type":"start","payload":{"query":"{ hello }"}}`
	for name, c := range map[string]struct {
		code int
		send []string
		want string
	}{
		"bad token": {
			4403,
			[]string{`{"type":"connection_init","payload":{"fail":"bad"}}`},
			`{"type":"connection_error","payload":{"message":"this token does not hold: get a new one","extensions":{"code":"UNAUTHENTICATED"}}}`,
		},
		"start before ack": {
			4401,
			[]string{start},
			`{"type":"connection_error","payload":{"message":"Unauthorized","extensions":{"code":"UNAUTHENTICATED"}}}`,
		},
		"unknown type": {
			4400,
			[]string{`{"type":"subscribe","id":"1"}`},
			`{"type":"connection_error","payload":{"message":"Invalid message received","extensions":{"code":"BAD_USER_INPUT"}}}`,
		},
		"no init": {
			4408, nil,
			`{"type":"connection_error","payload":{"message":"Connection initialisation timeout","extensions":{"code":"UNAUTHENTICATED"}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil, nil)
				cl := w.dial(t, legacy)
				for _, text := range c.send {
					cl.send(text)
				}
				cl.want(c.want)
				cl.wantClose(c.code, "")
			})
		})
	}
}
