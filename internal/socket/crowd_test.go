package socket_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/gorilla/websocket"
)

// The crowd is a second process full of clients: this test binary once more,
// told by the environment. It says "ready" when all are subscribed, "all N" when
// every client that behaves has seen state N, and "lost ERROR" when one of them
// was closed. It goes when its standard input ends.
const (
	crowdURL  = "FEEDGATE_TEST_CROWD_URL"
	crowdSize = "FEEDGATE_TEST_CROWD_SIZE"
)

// How a client behaves, by its number: one in twenty stops reading with little
// place in its buffers, one in twenty vanishes: it takes all that comes, since
// the kernel does, and says nothing any more.
const (
	behaves = iota
	stops
	vanishes
)

func manners(i int) int {
	switch i % 20 {
	case 7:
		return stops
	case 13:
		return vanishes
	}
	return behaves
}

// behaving gives how many of n clients behave.
func behaving(n int) (count int) {
	for i := range n {
		if manners(i) == behaves {
			count++
		}
	}
	return count
}

type crowd struct {
	url  string
	good int
	out  sync.Mutex

	mu   sync.Mutex
	seen map[int]int // clients by state
}

func runCrowd(url string) {
	n, err := strconv.Atoi(os.Getenv(crowdSize))
	if err != nil {
		panic(err)
	}
	c := &crowd{url: url, good: behaving(n), seen: make(map[int]int)}
	pool := new(sync.Pool)
	var opening sync.WaitGroup
	var failed atomic.Bool
	next := atomic.Int64{}
	for range 32 {
		opening.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := c.open(i, pool); err != nil {
					failed.Store(true)
					c.say("lost", err)
				}
			}
		})
	}
	opening.Wait()
	if !failed.Load() {
		c.say("ready")
	}
	bufio.NewScanner(os.Stdin).Scan()
}

func (c *crowd) say(what ...any) {
	c.out.Lock()
	defer c.out.Unlock()
	fmt.Println(what...)
}

// open subscribes a client, and leaves it to its manners after the first state.
func (c *crowd) open(i int, pool *sync.Pool) error {
	kind := manners(i)
	d := websocket.Dialer{
		Subprotocols: []string{modern}, ReadBufferSize: 512, WriteBufferSize: 512, WriteBufferPool: pool,
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if tcp, ok := conn.(*net.TCPConn); ok && kind == stops {
				err = tcp.SetReadBuffer(2 << 10)
			}
			return conn, err
		},
	}
	ws, resp, err := d.Dial(c.url, nil)
	if err != nil {
		return err
	}
	resp.Body.Close()
	for _, text := range []string{hello, `{"id":"a","type":"subscribe","payload":{"query":"subscription { state }"}}`} {
		if err := ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			return err
		}
	}
	for range 2 { // ack and the first state
		if _, _, err := ws.ReadMessage(); err != nil {
			return err
		}
	}
	if kind == behaves {
		go c.follow(ws)
	} else {
		kept.Store(ws, kind) // else the connection would be closed when it is collected
	}
	return nil
}

var kept sync.Map

func (c *crowd) follow(ws *websocket.Conn) {
	for {
		_, text, err := ws.ReadMessage()
		if err != nil {
			c.say("lost", err)
			return
		}
		_, rest, ok := bytes.Cut(text, []byte(`"state":`))
		if !ok {
			continue
		}
		n := 0
		for _, d := range rest {
			if d < '0' || d > '9' {
				break
			}
			n = 10*n + int(d-'0')
		}
		c.mu.Lock()
		c.seen[n]++
		all := c.seen[n] == c.good
		c.mu.Unlock()
		if all {
			c.say("all", n)
		}
	}
}
