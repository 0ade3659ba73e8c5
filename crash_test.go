package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"feedgate/store/storetest/redisserver"
)

// process is one process of the built binary.
type process struct {
	cmd  *exec.Cmd
	addr string
	log  *bytes.Buffer
}

// build makes the binary, without the race detector: what is tested is what runs.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "feedgate")
	out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// spawn starts a process and waits for its start screen.
func spawn(t *testing.T, binary string, env []string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(binary, args...), log: &bytes.Buffer{}}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill() })
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, addr, ok := strings.Cut(lines.Text(), "listening on "); ok {
				found <- strings.Fields(addr)[0]
			}
		}
		close(found)
	}()
	select {
	case addr, ok := <-found:
		if !ok {
			t.Fatalf("%v ended at once:\n%s", args, p.log)
		}
		p.addr = addr
	case <-time.After(patience):
		t.Fatalf("%v does not start", args)
	}
	return p
}

// kill ends the process without any chance to tidy up.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// crowd writes a bundle of one author, with id 1, whom followers 2 to n+1 follow.
func crowd(t *testing.T, followers int) string {
	t.Helper()
	var b strings.Builder
	for id := 1; id <= followers+1; id++ {
		fmt.Fprintf(&b, `{"type":"user","id":"%d","handle":"u%d"}`+"\n", id, id)
	}
	for id := 2; id <= followers+1; id++ {
		fmt.Fprintf(&b, `{"type":"follow","follower":"%d","followee":"1"}`+"\n", id)
	}
	path := filepath.Join(t.TempDir(), "crowd.ndjson")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Case 19: workers are killed in the middle of a fan-out. Nothing is lost and
// nothing is doubled, without anybody's help.
func TestKilledWorkersLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	const followers, attempts, wantKills = 10_000, 12, 3
	redis := redisserver.Start(t)
	client := redis.Client()
	defer func() { _ = client.Close() }()
	binary, data := build(t), t.TempDir()
	env := []string{"FEEDGATE_DATA=" + data, "FEEDGATE_REDIS_URL=" + redis.URL(), "FEEDGATE_LOG_LEVEL=error"}
	imported := exec.Command(binary, "import", crowd(t, followers))
	imported.Env = append(os.Environ(), env...)
	if out, err := imported.CombinedOutput(); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	api := spawn(t, binary, env, "serve", "-role", "api", "-addr", "127.0.0.1:0")
	s := &server{t: t, addr: api.addr}

	ctx := context.Background()
	kills := 0
	var posts []string
	for range attempts {
		if kills == wantKills {
			break
		}
		if err := client.FlushAll(ctx).Err(); err != nil { // all inboxes are counted anew
			t.Fatal(err)
		}
		worker := spawn(t, binary, env, "serve", "-role", "worker", "-addr", "127.0.0.1:0")
		posts = append(posts, s.publish("1", fmt.Sprint("post ", len(posts))))
		if killMidway(t, worker, followers, func() int64 { return client.DBSize(ctx).Val() }) {
			kills++
		}
		worker.kill()
	}
	if kills == 0 {
		t.Fatal("no worker was killed in the middle of a fan-out")
	}
	t.Logf("%d workers were killed in the middle", kills)
	spawn(t, binary, env, "serve", "-role", "worker", "-addr", "127.0.0.1:0")
	for _, post := range posts {
		s.awaitDelivery("1", post, followers)
	}
	// The last posts were published after the last loss of all inboxes: each inbox has the newest exactly once.
	id, err := strconv.ParseInt(strings.TrimPrefix(posts[len(posts)-1], "post:"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	pipe := client.Pipeline()
	for reader := 2; reader <= followers+1; reader++ {
		pipe.ZRange(ctx, fmt.Sprintf("inbox:{%d}", reader), 0, -1)
	}
	answers, err := pipe.Exec(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, answer := range answers {
		if n := strings.Count(answer.String(), fmt.Sprintf("%020d", id)); n != 1 {
			t.Fatalf("inbox of %d has the post %d times, want once", i+2, n)
		}
	}
	for _, reader := range []string{"2", "5000", "10001"} {
		got := s.feed(reader)
		if len(got) != len(posts) {
			t.Errorf("feed of %s: got %d posts, want each of %d once", reader, len(got), len(posts))
		}
	}
}

// killMidway kills the worker when some but not all inboxes exist, and reports
// whether it was in time.
func killMidway(t *testing.T, worker *process, followers int, keys func() int64) bool {
	t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		switch n := keys(); {
		case n > int64(followers)*9/10:
			return false
		case n > int64(followers)/10:
			worker.kill()
			return keys() < int64(followers)*9/10
		}
	}
	t.Fatal("the fan-out does not begin")
	return false
}
