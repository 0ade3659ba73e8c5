package socket_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"feedgate/internal/socket"
)

// mailbox collects what a client reads.
type mailbox struct {
	mu    sync.Mutex
	texts []string
}

func (m *mailbox) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	got := m.texts
	m.texts = nil
	slices.Sort(got)
	return got
}

func (c *client) collect() *mailbox {
	m := new(mailbox)
	go func() {
		for {
			_, text, err := c.ws.ReadMessage()
			if err != nil {
				return
			}
			m.mu.Lock()
			m.texts = append(m.texts, string(text))
			m.mu.Unlock()
		}
	}()
	return m
}

// After every step of a random walk the client has exactly the messages that a
// simple model expects.
func TestRandomWalkAgainstAModel(t *testing.T) {
	t.Parallel()
	for range 20 {
		seed := rand.Uint64()
		synctest.Test(t, func(t *testing.T) { walk(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func walk(t *testing.T, seed uint64) {
	t.Helper()
	const limit = 4
	random := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, nil, func(c *socket.Config) { c.MaxOperations = limit })
	c := w.connected(t, hello)
	box := c.collect()
	active, state := map[string]bool{}, 0
	names := []string{"a", "b", "c", "d", "e", "f"}
	for step := range 300 {
		name := names[random.IntN(len(names))]
		var want []string
		did := ""
		switch action := random.IntN(6); action {
		case 0, 1:
			query := "subscription { state }"
			if action == 1 {
				query = "subscription { countTo(n: 2) }"
			}
			if active[name] {
				continue // that closes the socket
			}
			did = name + ": " + query
			c.send(`{"id":"` + name + `","type":"subscribe","payload":{"query":"` + query + `"}}`)
			switch {
			case len(active) == limit:
				want = []string{fmt.Sprintf(`{"id":%q,"type":"error","payload":[{"message":"a socket runs at most %d operations at a time: complete one, or open another socket","extensions":{"code":"RATE_LIMITED"}}]}`, name, limit)}
			case action == 0:
				active[name] = true
				want = []string{fmt.Sprintf(`{"id":%q,"type":"next","payload":{"data":{"state":%d}}}`, name, state)}
			default:
				want = []string{
					fmt.Sprintf(`{"id":%q,"type":"complete"}`, name),
					fmt.Sprintf(`{"id":%q,"type":"next","payload":{"data":{"countTo":1}}}`, name),
					fmt.Sprintf(`{"id":%q,"type":"next","payload":{"data":{"countTo":2}}}`, name),
				}
			}
		case 2:
			did = "complete " + name
			c.send(`{"id":"` + name + `","type":"complete"}`)
			delete(active, name)
		case 3, 4:
			state++
			did = fmt.Sprint("publish ", state)
			w.hub.Publish(state)
			for name := range active {
				want = append(want, fmt.Sprintf(`{"id":%q,"type":"next","payload":{"data":{"state":%d}}}`, name, state))
			}
		case 5:
			did = "ping"
			c.send(`{"type":"ping","payload":{"n":1}}`)
			want = []string{`{"type":"pong","payload":{"n":1}}`}
		}
		synctest.Wait()
		slices.Sort(want)
		if got := box.take(); !slices.Equal(got, want) {
			t.Fatalf("seed %d, step %d, %s: got %q, want %q", seed, step, did, got, want)
		}
		if n, _ := w.hub.Count(); n != len(active) {
			t.Fatalf("seed %d, step %d, %s: %d listeners, want %d", seed, step, did, n, len(active))
		}
	}
}

// Hundreds of sockets whose tokens end at random, some beyond what the wheel
// looks ahead: none is early, none late.
func TestWheelIsNeitherEarlyNorLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, nil)
		random := rand.New(rand.NewPCG(1, 2))
		var all sync.WaitGroup
		for range 300 {
			c := w.dial(t, modern)
			life := time.Duration(random.IntN(180_000)+1) * time.Millisecond
			c.send(`{"type":"connection_init","payload":{"expires":"` + life.String() + `"}}`)
			began := time.Now()
			all.Go(func() {
				c.wantClose(4403, "token expired")
				if took := time.Since(began); took < life || took > life+tick {
					t.Errorf("a token of %v ended after %v", life, took)
				}
			})
			if random.IntN(10) == 0 {
				time.Sleep(time.Duration(random.IntN(700)) * time.Millisecond)
			}
		}
		all.Wait()
	})
}
