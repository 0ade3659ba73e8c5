package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"feedgate/store/storetest/redisserver"
)

// memory is what this process holds after a collection of garbage.
type memory struct{ goroutines, heap int }

func measure() memory {
	for range 3 { // pools let go of their contents in two rounds
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{goroutines: runtime.NumGoroutine(), heap: int(m.HeapAlloc)}
}

// eventually polls with a bound.
func eventually(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, limit)
		}
	}
}

// metric reads one value from /metrics.
func (s *server) metric(name string) int {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+s.addr+"/metrics", http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return int(n)
		}
	}
	s.t.Fatalf("there is no metric %s", name)
	return 0
}

// gathered is a crowd in its own process.
type gathered struct {
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Scanner
	leave func()
}

func gather(t *testing.T, addr string, n int) *gathered {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), crowdAddr+"="+addr, crowdSize+"="+strconv.Itoa(n))
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
	g := &gathered{t: t, in: in, lines: bufio.NewScanner(out), leave: func() {
		if left {
			return
		}
		left = true
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the crowd ended badly: %v", err)
		}
		cancel()
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

// until skips states that all have seen too.
func (g *gathered) until(line string) {
	g.t.Helper()
	for g.lines.Scan() && g.lines.Text() != line {
		if !strings.HasPrefix(g.lines.Text(), "all ") {
			break
		}
	}
	if g.lines.Text() != line {
		g.t.Fatalf("the crowd says %q, want %q", g.lines.Text(), line)
	}
}

func (g *gathered) tell(line string) {
	g.t.Helper()
	if _, err := io.WriteString(g.in, line+"\n"); err != nil {
		g.t.Fatal(err)
	}
}

// longText is a post of a few kilobytes: those who stop reading fill what the
// kernel holds for them, and their writers wait.
func longText(i int) string { return fmt.Sprintf("post %d %s", i, strings.Repeat("long ", 900)) }

// Readers of one gateway are told of posts, while one in twenty stops reading
// and one in twenty vanishes: the others notice nothing, what they were shown
// last is what they read, and when all are gone the gateway is as before.
// FEEDGATE_TEST_SOCKETS=10000 does it at full size.
//
//nolint:paralleltest // it measures the whole process
func TestCrowdOfReadersWithSomeThatStopReadingAndVanish(t *testing.T) {
	n, interval := 1000, 5*time.Second
	if text := os.Getenv("FEEDGATE_TEST_SOCKETS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		interval = 20 * time.Second
	}
	const open = `feedgate_connections_open{transport="websocket"}`
	redis, data := redisserver.Start(t), t.TempDir()
	vars := settings{"FEEDGATE_REDIS_URL": redis.URL(), "FEEDGATE_DATA": data}
	if err := run(t.Context(), []string{"import", crowd(t, n)}, vars.getenv, io.Discard); err != nil {
		t.Fatal(err)
	}
	s := start(t, vars, "-sample=false", "-ping-interval", interval.String(), "-drain-spread", "1ms")
	author := strconv.Itoa(crowdAuthor)

	// Everything has been used once when the baseline is taken.
	warm := gather(t, s.addr, 60)
	warm.want("ready")
	s.publish(author, longText(1))
	warm.want("all 1")
	warm.tell("compare")
	warm.want("same")
	warm.leave()
	eventually(t, 3*interval, "the first few are gone", func() bool { return s.metric(open) == 0 })
	eventually(t, patience, "the hub has let go of them", func() bool { return s.metric("feedgate_connected_readers") == 0 })
	before := measure()

	throng := gather(t, s.addr, n)
	throng.want("all 1") // each one's first state
	throng.want("ready")
	if got := s.metric("feedgate_connected_readers"); got != n {
		t.Errorf("%d readers are connected, want %d", got, n)
	}
	throng.tell("misbehave")
	throng.want("misbehaving")
	posts := 1
	for range 20 {
		posts++
		began := time.Now()
		s.publish(author, longText(posts))
		throng.want(fmt.Sprintf("all %d", posts))
		t.Logf("post %d is with the last of %d after %v", posts, behaving(n), time.Since(began))
	}
	for range 20 { // faster than clients take them: each sees the latest state
		posts++
		s.publish(author, longText(posts))
	}
	throng.until(fmt.Sprintf("all %d", posts))
	eventually(t, 5*interval, "those that stopped or vanished are cut", func() bool { return s.metric(open) == behaving(n) })
	t.Logf("slow clients that were cut: %d", s.metric(`feedgate_slow_clients_total{transport="websocket"}`))
	posts++
	s.publish(author, longText(posts))
	throng.want(fmt.Sprintf("all %d", posts))
	throng.tell("compare")
	throng.want("same")
	throng.leave()

	eventually(t, patience, "the rest is gone", func() bool { return s.metric(open) == 0 })
	eventually(t, patience, "the hub has let go of them", func() bool { return s.metric("feedgate_connected_readers") == 0 })
	eventually(t, patience, "goroutines are back", func() bool { return runtime.NumGoroutine() <= before.goroutines+5 })
	after := measure()
	t.Logf("afterwards: %d goroutines (%d before), heap %d KiB (%d before)", after.goroutines, before.goroutines, after.heap>>10, before.heap>>10)
	// The runtime keeps the descriptors of goroutines that were, 450 bytes each.
	if grown := after.heap - before.heap; grown > 2<<20+n*2<<10 {
		t.Errorf("the heap has grown by %d KiB", grown>>10)
	}
	s.stop()
}
