package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// The crowd is a second process full of clients: this test binary once more,
// told by the environment. It says "ready" when all are subscribed, and "all N"
// when every client that behaves has been shown N new posts. When it reads
// "misbehave", the others take to their manners, and it says "misbehaving". When
// it reads "compare", each of those that behave reads its red dot by a query
// too, and it says "same". It says "lost ERROR" when a client was closed or shown
// something wrong. It goes when its standard input ends.
const (
	crowdAddr = "FEEDGATE_TEST_CROWD_ADDR"
	crowdSize = "FEEDGATE_TEST_CROWD_SIZE"
)

const (
	crowdAuthor = 1
	crowdFirst  = 2 // the first follower
)

// How a client behaves, by its number: one in twenty stops reading with little
// place in its buffers, one in twenty vanishes: its kernel takes what comes, and
// it says nothing any more.
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

type throng struct {
	addr string
	good int
	out  sync.Mutex

	mu   sync.Mutex
	seen map[int]int       // clients by the most that they were shown
	last map[int][]byte    // what each client was shown last
	rude []*websocket.Conn // of those that will not behave: kept, else they are closed when they are collected
	idle bool              // those do not behave any more
}

func runCrowd(addr string) {
	n, err := strconv.Atoi(os.Getenv(crowdSize))
	if err != nil {
		panic(err)
	}
	c := &throng{addr: addr, good: behaving(n), seen: make(map[int]int), last: make(map[int][]byte)}
	pool := new(sync.Pool)
	if c.each(n, func(i int) error { return c.open(i, pool) }) {
		c.say("ready")
	}
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		switch order := orders.Text(); order {
		case "misbehave":
			c.misbehave()
			c.say("misbehaving")
		case "compare":
			if c.each(n, c.compare) {
				c.say("same")
			}
		default:
			c.say("lost: no such order:", order)
		}
	}
}

// misbehave has those stop reading that are to stop or to vanish.
func (c *throng) misbehave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = true
	for _, ws := range c.rude {
		if err := ws.SetReadDeadline(time.Unix(1, 0)); err != nil {
			c.say("lost", err)
		}
	}
}

// each does something for every client, and reports whether all went well.
func (c *throng) each(n int, do func(i int) error) bool {
	var working sync.WaitGroup
	var failed atomic.Bool
	next := atomic.Int64{}
	for range 16 {
		working.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(i); err != nil {
					failed.Store(true)
					c.say("lost", err)
				}
			}
		})
	}
	working.Wait()
	return !failed.Load()
}

func (c *throng) say(what ...any) {
	c.out.Lock()
	defer c.out.Unlock()
	fmt.Println(what...)
}

const crowdDot = `redDot { feedCount feedCountCapped newestPost { id text author { handle } } }`

// open subscribes a client, which reads on after the first state.
func (c *throng) open(i int, pool *sync.Pool) error {
	kind := manners(i)
	d := websocket.Dialer{
		Subprotocols: []string{"graphql-transport-ws"}, ReadBufferSize: 512, WriteBufferSize: 512, WriteBufferPool: pool,
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if tcp, ok := conn.(*net.TCPConn); ok && kind == stops {
				err = tcp.SetReadBuffer(2 << 10)
			}
			return conn, err
		},
	}
	ws, resp, err := d.Dial("ws://"+c.addr+"/graphql", nil)
	if err != nil {
		return err
	}
	resp.Body.Close()
	for _, text := range []string{
		fmt.Sprintf(`{"type":"connection_init","payload":{"user":"%d"}}`, crowdFirst+i),
		fmt.Sprintf(`{"id":"a","type":"subscribe","payload":{"query":"subscription { %s }"}}`, crowdDot),
	} {
		if err := ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			return err
		}
	}
	shown := -1
	for shown < 0 { // welcome and the first state
		_, text, err := ws.ReadMessage()
		if err == nil && bytes.Contains(text, []byte(`"type":"next"`)) {
			shown, err = c.take(i, -1, text)
		}
		if err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if kind != behaves {
		c.rude = append(c.rude, ws)
	}
	go c.follow(i, ws, shown)
	return nil
}

func (c *throng) follow(i int, ws *websocket.Conn, shown int) {
	for {
		_, text, err := ws.ReadMessage()
		if err == nil && bytes.Contains(text, []byte(`"type":"next"`)) {
			shown, err = c.take(i, shown, text)
		}
		if err != nil {
			if manners(i) == behaves || !c.misbehaving() {
				c.say("lost", i, err)
			}
			return
		}
	}
}

func (c *throng) misbehaving() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idle
}

// take checks what a client is shown, and notes it.
func (c *throng) take(i, before int, text []byte) (int, error) {
	// By hand: decoding takes more than all the rest, on the processors of the server.
	_, data, ok := bytes.Cut(text, []byte(`"payload":{"data":`))
	_, count, counted := bytes.Cut(data, []byte(`{"redDot":{"feedCount":`))
	count, _, ended := bytes.Cut(count, []byte(","))
	n, err := strconv.Atoi(string(count))
	if err != nil || !ok || !counted || !ended {
		return 0, fmt.Errorf("shown %.300s", text)
	}
	if n <= before {
		return 0, fmt.Errorf("%d new posts after %d", n, before)
	}
	if n > 0 && !bytes.Contains(data, fmt.Appendf(nil, `"text":"post %d `, n)) {
		return 0, fmt.Errorf("%d new posts with another post: %.300s", n, text)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[i] = bytes.TrimSuffix(data, []byte("}}"))
	if manners(i) == behaves {
		c.seen[n]++
		if n > 0 && c.seen[n] == c.good {
			defer c.say("all", n)
		}
	}
	return n, nil
}

// compare reads the red dot of a client that behaves by a query.
func (c *throng) compare(i int) error {
	if manners(i) != behaves {
		return nil
	}
	query, err := json.Marshal(map[string]string{"query": "{ " + crowdDot + " }"})
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, "http://"+c.addr+"/graphql", bytes.NewReader(query))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Feedgate-User", strconv.Itoa(crowdFirst+i))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	var read struct {
		Data json.RawMessage `json:"data"`
	}
	if err := errors.Join(json.NewDecoder(resp.Body).Decode(&read), resp.Body.Close()); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !bytes.Equal(read.Data, c.last[i]) {
		return fmt.Errorf("client %d reads %.200s and was shown %.200s", i, read.Data, c.last[i])
	}
	return nil
}
