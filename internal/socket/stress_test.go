package socket_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"feedgate/internal/socket"
)

// usage is what a process holds.
type usage struct{ goroutines, heap, stacks, resident int }

func measure() usage {
	for range 3 { // pools let go of their contents in two rounds
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{goroutines: runtime.NumGoroutine(), heap: int(m.HeapAlloc), stacks: int(m.StackInuse)}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ := strconv.Atoi(fields[1])
			u.resident = pages * os.Getpagesize()
		}
	}
	return u
}

// until polls with a bound.
func until(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	end := time.After(limit)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !ok() {
		select {
		case <-end:
			t.Fatalf("%s: not within %v", what, limit)
		case <-poll.C:
		}
	}
}

// gathered is a crowd in its own process.
type gathered struct {
	t     *testing.T
	lines *bufio.Scanner
	leave func()
}

func gather(t *testing.T, url string, n int) *gathered {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crowdURL+"="+url, crowdSize+"="+strconv.Itoa(n))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	left := false
	g := &gathered{t: t, lines: bufio.NewScanner(out), leave: func() {
		if left {
			return
		}
		left = true
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the crowd ended badly: %v", err)
		}
	}}
	t.Cleanup(g.leave)
	return g
}

func (g *gathered) want(line string) {
	g.t.Helper()
	if !g.lines.Scan() || g.lines.Text() != line {
		g.t.Fatalf("the crowd says %q, want %q", g.lines.Text(), line)
	}
}

// Some clients stop reading and some vanish: the others notice nothing, and
// afterwards all is as before. FEEDGATE_TEST_SOCKETS=10000 does it at full size.
//
//nolint:paralleltest // it measures the whole process
func TestCrowdWithClientsThatStopReadingAndVanish(t *testing.T) {
	n, interval := 1000, 2*time.Second
	if text := os.Getenv("FEEDGATE_TEST_SOCKETS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		interval = 10 * time.Second
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := newPaddedWorld(t, listener, `,"pad":"`+strings.Repeat("x", 2<<10)+`"`, func(c *socket.Config) {
		c.PingInterval, c.WriteTimeout, c.SendBuffer, c.InitTimeout = interval, interval/5, 4<<10, time.Minute
		c.DrainSpread = time.Second
	})
	before := measure()
	crowd := gather(t, w.url, n)
	crowd.want("ready")
	idle := measure()
	per := func(a, b int) float64 { return float64(b-a) / float64(n) }
	memory := per(before.heap+before.stacks, idle.heap+idle.stacks) / 1024
	goroutines := per(before.goroutines, idle.goroutines)
	t.Logf("%d idle sockets with one subscription: each %.2f goroutines, %.1f KiB (heap %.1f, stacks %.1f), resident %.1f KiB",
		n, goroutines, memory, per(before.heap, idle.heap)/1024, per(before.stacks, idle.stacks)/1024, per(before.resident, idle.resident)/1024)
	if goroutines > 4 || memory > 30 {
		t.Errorf("a socket costs %.2f goroutines and %.1f KiB, want at most 4 and 30", goroutines, memory)
	}

	var took []time.Duration
	for i := 1; i <= 20; i++ {
		began := time.Now()
		w.hub.Publish(i)
		crowd.want(fmt.Sprintf("all %d", i))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("a state reaches the last of %d: median %v, worst %v", behaving(n), took[len(took)/2], took[len(took)-1])

	until(t, 5*interval, "those that stopped or vanished are cut", func() bool { return w.transport.Open() == behaving(n) })
	w.counts.look(func() {
		t.Logf("closed: %v, slow: %d", w.counts.closed, w.counts.slow)
		if w.counts.closed[1006] != n-behaving(n) { // whether by a write or by a ping, what comes first
			t.Errorf("closes %v, want %d cut", w.counts.closed, n-behaving(n))
		}
	})
	w.hub.Publish(99)
	crowd.want("all 99")
	crowd.leave()
	until(t, 10*time.Second, "the rest is gone", func() bool { return w.transport.Open() == 0 })
	until(t, 10*time.Second, "goroutines are back", func() bool { return runtime.NumGoroutine() <= before.goroutines+2 })
	after := measure()
	t.Logf("afterwards: %d goroutines (%d before), heap %+d KiB, stacks %+d KiB",
		after.goroutines, before.goroutines, (after.heap-before.heap)/1024, (after.stacks-before.stacks)/1024)
	// The runtime keeps the descriptors of goroutines that were, 450 bytes each.
	if grown := after.heap - before.heap; grown > 1<<20+n*2<<10 {
		t.Errorf("the heap has grown by %d KiB", grown/1024)
	}
}

// Clients that are cut without a word, all at once.
//
//nolint:paralleltest // it measures the whole process
func TestThousandSocketsThatVanishLeaveNothing(t *testing.T) {
	const n, interval = 1000, time.Second
	var lc net.ListenConfig
	listener, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, listener, func(c *socket.Config) { c.PingInterval = interval })
	before := measure()
	for range n {
		// The client never reads again: its kernel takes what comes, and no pong
		// comes back, as from a peer that lost its network.
		c := w.connected(t, hello)
		c.send(`{"id":"a","type":"subscribe","payload":{"query":"subscription { state }"}}`)
	}
	until(t, 5*interval, "all are cut", func() bool { return w.counts.closedBy(1006) == n })
	until(t, 10*time.Second, "goroutines are back", func() bool { return runtime.NumGoroutine() <= before.goroutines+2 })
	if listeners, _ := w.hub.Count(); listeners != 0 {
		t.Errorf("%d listeners are left", listeners)
	}
}
