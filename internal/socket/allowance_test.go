package socket_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"feedgate/internal/socket"
)

// A client that begins and completes operations without end is refused, gets
// its place again when it slows down, and is cut off when it does not.
func TestBeginningOperationsWithoutEndIsRefusedAndThenCutOff(t *testing.T) {
	t.Parallel()
	for protocol, begin := range map[string]string{modern: "subscribe", legacy: "start"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil, func(c *socket.Config) { c.OperationBurst, c.OperationRate = 4, 2 })
				c := w.dial(t, protocol)
				c.send(hello)
				c.want(`{"type":"connection_ack"}`)
				next, refused := "next", `[{"message":%q,"extensions":{"code":"RATE_LIMITED"}}]`
				if protocol == legacy {
					c.want(`{"type":"ka"}`)
					next, refused = "data", `{"message":%q,"extensions":{"code":"RATE_LIMITED"}}`
				}
				refused = fmt.Sprintf(refused, "a socket begins at most 2 operations a second: wait, and keep subscriptions open")
				ask := func(i int) { c.send(fmt.Sprintf(`{"id":"%d","type":%q,"payload":{"query":"{ hello }"}}`, i, begin)) }
				served := func(i int) {
					t.Helper()
					ask(i)
					c.want(fmt.Sprintf(`{"id":"%d","type":%q,"payload":{"data":{"hello":"world"}}}`, i, next), fmt.Sprintf(`{"id":"%d","type":"complete"}`, i))
				}
				turnedDown := func(i int) {
					t.Helper()
					ask(i)
					c.want(fmt.Sprintf(`{"id":"%d","type":"error","payload":%s}`, i, refused))
				}
				for i := range 4 {
					served(i)
				}
				turnedDown(4)
				time.Sleep(time.Second) // one was taken by the refusal
				served(5)
				turnedDown(6)
				turnedDown(7)
				turnedDown(8)
				ask(9)
				if protocol == legacy {
					c.want(`{"type":"connection_error","payload":{"message":"too many operations are begun","extensions":{"code":"RATE_LIMITED"}}}`)
				}
				c.wantClose(websocket.ClosePolicyViolation, "too many operations")
			})
		})
	}
}
