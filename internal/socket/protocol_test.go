package socket_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorilla/websocket"
)

func TestSubscriptionGivesStatesUntilItIsCompleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.connected(t, hello)
		c.send(`{"id":"a","type":"subscribe","payload":{"query":"subscription { state }"}}`)
		c.want(`{"id":"a","type":"next","payload":{"data":{"state":0}}}`)
		w.hub.Publish(7)
		c.want(`{"id":"a","type":"next","payload":{"data":{"state":7}}}`)
		c.send(`{"id":"a","type":"complete"}`)
		synctest.Wait()
		if n, _ := w.hub.Count(); n != 0 {
			t.Errorf("%d listeners after complete", n)
		}
		w.hub.Publish(8)
		c.send(`{"id":"a","type":"subscribe","payload":{"query":"subscription { s: state }"}}`)
		c.want(`{"id":"a","type":"next","payload":{"data":{"s":8}}}`)
	})
}

func TestQueriesMutationsAndEndingSubscriptions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.connected(t, hello)
		c.send(`{"id":"q","type":"subscribe","payload":{"query":"{ who }"}}`)
		c.want(`{"id":"q","type":"next","payload":{"data":{"who":"45"}}}`, `{"id":"q","type":"complete"}`)
		c.send(`{"id":"m","type":"subscribe","payload":{"query":"mutation($n: Int!) { publish(n: $n) }","variables":{"n":3}}}`)
		c.want(`{"id":"m","type":"next","payload":{"data":{"publish":3}}}`, `{"id":"m","type":"complete"}`)
		c.send(`{"id":"\"é\n","type":"subscribe","payload":{"query":"subscription { countTo(n: 2) }"}}`)
		c.want(`{"id":"\"é\n","type":"next","payload":{"data":{"countTo":1}}}`,
			`{"id":"\"é\n","type":"next","payload":{"data":{"countTo":2}}}`,
			`{"id":"\"é\n","type":"complete"}`)
	})
}

func TestErrorsOfOperations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.connected(t, hello)
		for query, want := range map[string][]string{
			`{ nothing }`:           {`{"id":"e","type":"error","payload":[{"message":"Cannot query field \"nothing\" on type \"Query\".","extensions":{"code":"BAD_USER_INPUT"}}]}`},
			`subscription {`:        {`{"id":"e","type":"error","payload":[{"message":"Expected Name, found \u003cEOF\u003e","extensions":{"code":"BAD_USER_INPUT"}}]}`},
			`{ panic }`:             {`{"id":"e","type":"error","payload":[{"message":"something went wrong","extensions":{"code":"INTERNAL"}}]}`},
			`{ never }`:             {`{"id":"e","type":"error","payload":[{"message":"this took too long","extensions":{"code":"UNAVAILABLE"}}]}`},
			`subscription { panic}`: {`{"id":"e","type":"next","payload":{"data":{"panic":1}}}`, `{"id":"e","type":"error","payload":[{"message":"something went wrong","extensions":{"code":"INTERNAL"}}]}`},
			`subscription { broken}`: {
				`{"id":"e","type":"next","payload":{"errors":[{"message":"the store is away","extensions":{"code":"UNAVAILABLE"}}],"data":null}}`,
				`{"id":"e","type":"complete"}`,
			},
		} {
			c.send(`{"id":"e","type":"subscribe","payload":{"query":"` + query + `"}}`)
			c.want(want...)
		}
	})
}

func TestPingsAreAnsweredWithTheirPayload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.dial(t, modern)
		c.send(`{"type":"ping"}`)
		c.want(`{"type":"pong"}`)
		c.send(hello)
		c.want(`{"type":"connection_ack"}`)
		c.send(`{"type":"ping","payload":{"n":[1, 2]}}`)
		c.want(`{"type":"pong","payload":{"n":[1, 2]}}`)
		c.send(`{"type":"pong","payload":{"n":1}}`)
		got := make(chan string, 1)
		c.ws.SetPongHandler(func(text string) error {
			got <- text
			return nil
		})
		if err := c.ws.WriteMessage(websocket.PingMessage, []byte("frame")); err != nil {
			t.Fatal(err)
		}
		c.send(`{"type":"ping"}`)
		c.want(`{"type":"pong"}`)
		if text := <-got; text != "frame" {
			t.Errorf("got %q", text)
		}
	})
}

func TestProtocolErrorsCloseWithTheirCodes(t *testing.T) {
	t.Parallel()
	long, longID := strings.Repeat(" ", 64<<10+1), strings.Repeat("x", 257)
	sub := `{"id":"a","type":"subscribe","payload":{"query":"subscription { state }"}}`
	for name, c := range map[string]struct {
		code   int
		reason string
		send   []string
	}{
		"subscribe before ack":       {4401, "Unauthorized", []string{sub}},
		"second init":                {4429, "Too many initialisation requests", []string{hello, hello}},
		"no init":                    {4408, "Connection initialisation timeout", nil},
		"ping is no init":            {4408, "Connection initialisation timeout", []string{`{"type":"ping"}`}},
		"bad JSON":                   {4400, "Invalid message", []string{hello, `{"type":`}},
		"no JSON before init":        {4400, "Invalid message", []string{`hello`}},
		"null":                       {4400, "Invalid message", []string{`null`}},
		"list":                       {4400, "Invalid message", []string{`[]`}},
		"no text":                    {4400, "Invalid message", []string{"{\"type\":\"ping\",\"id\":\"\xff\"}"}},
		"no type":                    {4400, "Invalid message", []string{`{"id":"a"}`}},
		"unknown type":               {4400, "Invalid message", []string{hello, `{"type":"start","id":"a","payload":{"query":"{hello}"}}`}},
		"a server's type":            {4400, "Invalid message", []string{hello, `{"type":"next","id":"a","payload":{}}`}},
		"init payload is a list":     {4400, "Invalid message", []string{`{"type":"connection_init","payload":[]}`}},
		"init payload is a string":   {4400, "Invalid message", []string{`{"type":"connection_init","payload":"x"}`}},
		"init payload is a number":   {4400, "Invalid message", []string{`{"type":"connection_init","payload":5}`}},
		"ping payload is a string":   {4400, "Invalid message", []string{hello, `{"type":"ping","payload":"x"}`}},
		"pong payload is a string":   {4400, "Invalid message", []string{hello, `{"type":"pong","payload":"x"}`}},
		"no id":                      {4400, "Invalid message", []string{hello, `{"type":"subscribe","payload":{"query":"{hello}"}}`}},
		"id is a number":             {4400, "Invalid message", []string{hello, `{"id":1,"type":"subscribe","payload":{"query":"{hello}"}}`}},
		"no payload":                 {4400, "Invalid message", []string{hello, `{"id":"a","type":"subscribe"}`}},
		"no query":                   {4400, "Invalid message", []string{hello, `{"id":"a","type":"subscribe","payload":{}}`}},
		"query is a number":          {4400, "Invalid message", []string{hello, `{"id":"a","type":"subscribe","payload":{"query":1}}`}},
		"variables are a list":       {4400, "Invalid message", []string{hello, `{"id":"a","type":"subscribe","payload":{"query":"{hello}","variables":[]}}`}},
		"complete without id":        {4400, "Invalid message", []string{hello, `{"type":"complete"}`}},
		"id too long":                {4400, "Invalid message", []string{hello, `{"id":"` + longID + `","type":"complete"}`}},
		"same id twice":              {4409, "Subscriber for a already exists", []string{hello, sub, sub}},
		"message too long":           {1009, "too long", []string{hello, long}},
		"message too long, at first": {1009, "too long", []string{long}},
		"bad token":                  {4403, "this token does not hold", []string{`{"type":"connection_init","payload":{"fail":"bad"}}`}},
		"token has expired":          {4403, "token expired", []string{`{"type":"connection_init","payload":{"expires":"-1s"}}`}},
		"identity can't be checked":  {1013, "the store is away", []string{`{"type":"connection_init","payload":{"fail":"away"}}`}},
		"authentication panics":      {1013, "something went wrong", []string{`{"type":"connection_init","payload":{"fail":"panic"}}`}},
		"authentication hangs":       {4408, "Connection initialisation timeout", []string{`{"type":"connection_init","payload":{"fail":"hang"}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil, nil)
				cl := w.dial(t, modern)
				go func() {
					for _, text := range c.send {
						if cl.ws.WriteMessage(websocket.TextMessage, []byte(text)) != nil {
							return
						}
					}
				}()
				cl.wantClose(c.code, c.reason)
				synctest.Wait()
				if n := w.counts.closedBy(c.code); n != 1 {
					t.Errorf("%d closes with %d are counted, want 1", n, c.code)
				}
			})
		})
	}
}

func TestBinaryMessageIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		c := w.connected(t, hello)
		if err := c.ws.WriteMessage(websocket.BinaryMessage, []byte(`{"type":"ping"}`)); err != nil {
			t.Fatal(err)
		}
		c.wantClose(4400, "Invalid message")
	})
}

func TestSubprotocols(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		offered []string
		taken   string
	}{
		"modern":  {[]string{modern}, modern},
		"legacy":  {[]string{legacy}, legacy},
		"both":    {[]string{legacy, modern}, modern},
		"unknown": {[]string{"mqtt"}, ""},
		"none":    {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil, nil)
				cl := w.dial(t, c.offered...)
				if got := cl.ws.Subprotocol(); got != c.taken {
					t.Errorf("got %q, want %q", got, c.taken)
				}
				if c.taken == "" {
					cl.wantClose(4406, "Subprotocol not acceptable")
				}
			})
		})
	}
}
