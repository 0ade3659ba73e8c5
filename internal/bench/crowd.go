package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"feedgate/feed"
)

const (
	openers   = 32               // sockets that are being opened at a time
	crowdWait = 60 * time.Second // for all sockets to show a post
	openWait  = 30 * time.Second // for one socket to show its first state
)

// order is what a crowd is to do: one JSON object a line on its standard input.
type order struct {
	Open    int     `json:"open,omitempty"`    // open sockets until there are so many
	Author  feed.ID `json:"author,omitempty"`  // publish a post
	Text    string  `json:"text,omitempty"`    // and wait until all sockets have shown this text
	Publish int     `json:"publish,omitempty"` // number of posts, one every Pace
	Pace    int64   `json:"pace_ms,omitempty"`
}

// outcome is the answer to an order: one JSON object a line.
type outcome struct {
	Error string  `json:"error,omitempty"`
	Took  float64 `json:"took_us"` // for all of it
	Waves []Wave  `json:"waves,omitempty"`
}

// Wave is one post on its way to all sockets, in microseconds from before
// publishPost was sent.
type Wave struct {
	Post     string  `json:"post"`
	Answered float64 `json:"answered_us"` // publishPost returned
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	Last     float64 `json:"last_us"`
}

// crowd is a process full of clients, each subscribed to the red dot of a
// reader of its own.
type crowd struct {
	clock  feed.Clock
	addr   string
	first  feed.ID // the first reader
	target *target
	pool   sync.Pool

	wanted  atomic.Pointer[wave]
	lost    chan error // holds the first error of a socket
	sockets []*websocket.Conn
	reading sync.WaitGroup
}

// wave is one text on its way to all sockets.
type wave struct {
	text    []byte
	arrived []time.Time
	missing atomic.Int64
	all     chan struct{}
}

// Crowd carries out orders until its input or ctx ends. It is started by bench
// itself; its arguments are the server's HOST:PORT and the first reader.
func Crowd(ctx context.Context, args []string, clock feed.Clock, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("bench crowd is started by bench itself")
	}
	first, err := feed.ParseID(args[1])
	if err != nil {
		return fmt.Errorf("the first reader: %w", err)
	}
	c := &crowd{
		clock: clock, addr: args[0], first: first, lost: make(chan error, 1),
		target: newTarget("http://"+args[0]+"/graphql", 1), pool: sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
	defer c.close()
	orders := make(chan order)
	go func() {
		defer close(orders)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			var o order
			if json.Unmarshal(lines.Bytes(), &o) != nil {
				return
			}
			select {
			case orders <- o:
			case <-ctx.Done():
				return
			}
		}
	}()
	answers := json.NewEncoder(out)
	for {
		select {
		case o, ok := <-orders:
			if !ok {
				return nil
			}
			if err := answers.Encode(c.obey(ctx, o)); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *crowd) close() {
	for _, ws := range c.sockets {
		if ws != nil {
			_ = ws.Close() // the server is told by the end of the connection
		}
	}
	c.reading.Wait()
}

func (c *crowd) obey(ctx context.Context, o order) outcome {
	start := c.clock.Now()
	var done outcome
	err := c.open(ctx, o.Open)
	for i := range o.Publish {
		if err != nil {
			break
		}
		if i > 0 {
			due := start.Add(time.Duration(i) * time.Duration(o.Pace) * time.Millisecond)
			if err = wait(ctx, due.Sub(c.clock.Now())); err != nil {
				break
			}
		}
		var w Wave
		w, err = c.publish(ctx, o.Author, fmt.Sprintf("%s number %d.", o.Text, i))
		done.Waves = append(done.Waves, w)
	}
	done.Took = micros(c.clock.Now().Sub(start))
	if err != nil {
		done.Error = err.Error()
	}
	return done
}

// open opens sockets until there are n.
func (c *crowd) open(ctx context.Context, n int) error {
	have := len(c.sockets)
	if n <= have {
		return nil
	}
	c.sockets = append(c.sockets, make([]*websocket.Conn, n-have)...)
	return spread(openers, n-have, func(_, i int) error { return c.connect(ctx, have+i) })
}

const dotQuery = `subscription { redDot { feedCount newestPost { id text author { handle } } } }`

// connect opens one socket, and waits for its first state.
func (c *crowd) connect(ctx context.Context, i int) error {
	d := websocket.Dialer{
		Subprotocols: []string{"graphql-transport-ws"}, ReadBufferSize: 512, WriteBufferSize: 512, WriteBufferPool: new(sync.Pool),
	}
	ws, resp, err := d.DialContext(ctx, "ws://"+c.addr+"/graphql", nil)
	if err != nil {
		return fmt.Errorf("opening socket %d: %w", i, err)
	}
	c.sockets[i] = ws
	if err := resp.Body.Close(); err != nil {
		return err
	}
	for _, text := range []string{
		`{"type":"connection_init","payload":{"user":"` + (c.first + feed.ID(i)).String() + `"}}`,
		`{"id":"1","type":"subscribe","payload":{"query":` + strconv.Quote(dotQuery) + `}}`,
	} {
		if err := ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			return err
		}
	}
	if err := ws.SetReadDeadline(c.clock.Now().Add(openWait)); err != nil {
		return err
	}
	for {
		_, text, err := ws.ReadMessage()
		switch {
		case err != nil:
			return fmt.Errorf("socket %d shows no state: %w", i, err)
		case bytes.Contains(text, []byte(`"data":{"redDot":{`)):
			c.reading.Go(func() { c.follow(ws, i) })
			return ws.SetReadDeadline(time.Time{})
		case bytes.Contains(text, []byte(`"errors"`)), bytes.Contains(text, []byte(`"type":"error"`)):
			return fmt.Errorf("socket %d is told %.300s", i, text)
		}
	}
}

// follow reads a socket for ever, and notes when it shows what is waited for.
func (c *crowd) follow(ws *websocket.Conn, i int) {
	var shown *wave
	for {
		text, err := c.read(ws)
		if err != nil {
			select {
			case c.lost <- fmt.Errorf("socket %d is lost: %w", i, err):
			default:
			}
			return
		}
		if w := c.wanted.Load(); w != nil && w != shown && bytes.Contains(text.Bytes(), w.text) {
			shown = w
			w.arrived[i] = c.clock.Now()
			if w.missing.Add(-1) == 0 {
				close(w.all)
			}
		}
		text.Reset()
		c.pool.Put(text)
	}
}

func (c *crowd) read(ws *websocket.Conn) (*bytes.Buffer, error) {
	_, r, err := ws.NextReader()
	if err != nil {
		return nil, err
	}
	text, ok := c.pool.Get().(*bytes.Buffer)
	if !ok {
		text = new(bytes.Buffer)
	}
	_, err = text.ReadFrom(r)
	return text, err
}

// publish publishes a post, and waits until all sockets have shown it.
func (c *crowd) publish(ctx context.Context, author feed.ID, text string) (Wave, error) {
	n := len(c.sockets)
	w := &wave{text: []byte(text), arrived: make([]time.Time, n), all: make(chan struct{})}
	w.missing.Store(int64(n))
	payload, err := body(publishQuery, map[string]any{"text": text})
	if err != nil {
		return Wave{}, err
	}
	c.wanted.Store(w)
	var buf bytes.Buffer
	start := c.clock.Now()
	if err := c.target.post(ctx, author, payload, &buf); err != nil {
		return Wave{}, err
	}
	answered := c.clock.Now().Sub(start)
	post, err := publishedID(buf.Bytes())
	if err != nil {
		return Wave{}, err
	}
	limit := time.NewTimer(crowdWait)
	defer limit.Stop()
	select {
	case <-w.all:
	case err := <-c.lost:
		return Wave{}, err
	case <-limit.C:
		return Wave{}, fmt.Errorf("%d of %d sockets do not show the post", w.missing.Load(), n)
	case <-ctx.Done():
		return Wave{}, ctx.Err()
	}
	took := make([]time.Duration, n)
	for i, at := range w.arrived {
		took[i] = at.Sub(start)
	}
	slices.Sort(took)
	return Wave{
		Post: post, Answered: micros(answered),
		P50: micros(percentile(took, 0.5)), P99: micros(percentile(took, 0.99)), Last: micros(took[n-1]),
	}, nil
}

// publishedID reads the answer of publishQuery.
func publishedID(answer []byte) (string, error) {
	var published struct {
		Data struct {
			PublishPost struct {
				Post struct {
					ID string `json:"id"`
				} `json:"post"`
			} `json:"publishPost"`
		} `json:"data"`
	}
	err := json.Unmarshal(answer, &published)
	return published.Data.PublishPost.Post.ID, err
}
