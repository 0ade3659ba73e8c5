package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(crowdAddr); addr != "" {
		runCrowd(addr) // this process is full of clients
		return
	}
	goleak.VerifyTestMain(m)
}

// settings answers for variables.
type settings map[string]string

func (s settings) getenv(name string) string {
	if v, ok := s[name]; ok {
		return v
	}
	if name == "FEEDGATE_LOG_LEVEL" {
		return "error"
	}
	return ""
}

// screenWriter hands out the address on the start screen.
type screenWriter struct {
	mu   sync.Mutex
	text bytes.Buffer
	addr chan string
}

func (w *screenWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if found := regexp.MustCompile(`listening on (\S+)`).FindSubmatch(p); found != nil {
		w.addr <- string(found[1])
	}
	return len(p), nil
}

func (w *screenWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// server is feedgate running in this process.
type server struct {
	t      *testing.T
	addr   string
	screen *screenWriter
	cancel context.CancelFunc
	done   chan error
	token  string
}

// patience is far above what anything here takes.
const patience = 30 * time.Second

func start(t *testing.T, vars settings, args ...string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{t: t, screen: &screenWriter{addr: make(chan string, 1)}, cancel: cancel, done: make(chan error, 1)}
	go func() {
		s.done <- run(ctx, append([]string{"serve", "-addr", "127.0.0.1:0"}, args...), vars.getenv, s.screen)
	}()
	t.Cleanup(func() { cancel() })
	select {
	case s.addr = <-s.screen.addr:
	case err := <-s.done:
		t.Fatalf("the server ended at once: %v", err)
	case <-time.After(patience):
		t.Fatal("the server does not start")
	}
	return s
}

func (s *server) stop() {
	s.t.Helper()
	s.cancel()
	select {
	case err := <-s.done:
		if err != nil {
			s.t.Errorf("stopping: %v", err)
		}
	case <-time.After(patience):
		s.t.Fatal("the server does not stop")
	}
}

// ask sends a query as a reader and reads the data into out; it returns the
// code of the first error.
func (s *server) ask(reader, query string, out any) string {
	s.t.Helper()
	payload, err := json.Marshal(map[string]any{"query": query})
	if err != nil {
		s.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, "http://"+s.addr+"/graphql", bytes.NewReader(payload))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	if reader != "" {
		req.Header.Set("X-Feedgate-User", reader)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors []struct {
			Extensions struct {
				Code string `json:"code"`
			} `json:"extensions"`
		} `json:"errors"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		s.t.Fatalf("%s: status %d, %v", query, resp.StatusCode, err)
	}
	if len(answer.Errors) > 0 {
		return answer.Errors[0].Extensions.Code
	}
	if err := json.Unmarshal(answer.Data, out); err != nil {
		s.t.Fatal(err)
	}
	return ""
}

func (s *server) must(reader, query string, out any) {
	s.t.Helper()
	if code := s.ask(reader, query, out); code != "" {
		s.t.Fatalf("%s: %s", query, code)
	}
}

func (s *server) newUser(handle string) string {
	s.t.Helper()
	var made struct {
		CreateUser struct{ User struct{ ID string } }
	}
	s.must("", fmt.Sprintf(`mutation { createUser(input: {handle: %q}) { user { id } } }`, handle), &made)
	return made.CreateUser.User.ID
}

func (s *server) feed(reader string) []string {
	s.t.Helper()
	var read struct {
		FollowFeed struct{ Nodes []struct{ Text string } }
	}
	s.must(reader, `{ followFeed(first: 100) { nodes { text } } }`, &read)
	var texts []string
	for _, node := range read.FollowFeed.Nodes {
		texts = append(texts, node.Text)
	}
	return texts
}

func (s *server) publish(author, text string) string {
	s.t.Helper()
	var made struct {
		PublishPost struct{ Post struct{ ID string } }
	}
	s.must(author, fmt.Sprintf(`mutation { publishPost(input: {text: %q}) { post { id } } }`, text), &made)
	return made.PublishPost.Post.ID
}

func (s *server) follow(follower, followee string) {
	s.t.Helper()
	s.must(follower, fmt.Sprintf(`mutation { followUser(input: {userId: %q}) { user { id } } }`, followee), &struct{}{})
}

// awaitDelivery polls until a post's fan-out is done.
func (s *server) awaitDelivery(author, post string, followers int) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		var seen struct {
			Post struct {
				Delivery struct {
					State            string
					Total, Delivered int
				}
			}
		}
		s.must(author, fmt.Sprintf(`{ post(id: %q) { delivery { state total delivered } } }`, post), &seen)
		d := seen.Post.Delivery
		if d.State == "DONE" {
			if d.Total != followers || d.Delivered != followers {
				s.t.Errorf("delivered to %d of %d, want %d", d.Delivered, d.Total, followers)
			}
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the delivery is stuck: %+v", d)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestPeoplePostAndReadAndASecondStartKeepsAll(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := start(t, nil, "-data", data, "-sample=false")
	alder, heron := s.newUser("alder"), s.newUser("heron")
	s.follow(alder, heron)
	post := s.publish(heron, "one")
	same(t, "right after publishing", s.feed(alder), "one")
	s.awaitDelivery(heron, post, 1)
	s.publish(heron, "two")
	s.stop()

	s = start(t, nil, "-data", data)
	same(t, "after the second start", s.feed(alder), "two", "one")
	s.publish(heron, "three")
	same(t, "and after another post", s.feed(alder), "three", "two", "one")
	s.stop()
}

func TestAFirstStartShowsASampleWorldAndWhomToBe(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := start(t, nil, "-data", data)
	said := s.screen.String()
	found := regexp.MustCompile(`X-Feedgate-User: (\d+)`).FindStringSubmatch(said)
	if found == nil || !strings.Contains(said, "http://"+s.addr+"/playground") || !strings.Contains(said, "Development mode") {
		t.Fatalf("the start screen says\n%s", said)
	}
	first := s.feed(found[1])
	if len(first) < 50 {
		t.Errorf("the feed of the sample world has %d posts", len(first))
	}
	query := regexp.MustCompile(`-d '(\{.*\})'`).FindStringSubmatch(said)
	var pasted map[string]string
	if len(query) != 2 || json.Unmarshal([]byte(query[1]), &pasted) != nil {
		t.Fatalf("there is no query to paste in\n%s", said)
	}
	var read struct {
		FollowFeed struct{ Nodes []struct{ ID string } }
	}
	s.must(found[1], pasted["query"], &read)
	if len(read.FollowFeed.Nodes) != 5 {
		t.Errorf("the pasted query gives %d posts, want 5", len(read.FollowFeed.Nodes))
	}
	s.stop()
	s = start(t, nil, "-data", data)
	same(t, "the second start", s.feed(found[1]), first...)
	s.stop()
}

func TestASecondProcessOnTheSameFolderIsRefused(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := start(t, nil, "-data", data, "-sample=false")
	err := run(t.Context(), []string{"-addr", "127.0.0.1:0", "-data", data}, settings{}.getenv, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "another feedgate uses the folder") {
		t.Errorf("got %v, want a refusal", err)
	}
	s.stop()
}

func TestOtherMachinesNeedAuthentication(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:80", "example.org:80"} {
		err := run(t.Context(), []string{"-addr", addr, "-data", t.TempDir()}, settings{}.getenv, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), "FEEDGATE_AUTH_SECRET") {
			t.Errorf("%s: got %v, want a refusal that names FEEDGATE_AUTH_SECRET", addr, err)
		}
	}
}

func TestWithASecretOnlyTokensSayWhoReads(t *testing.T) {
	t.Parallel()
	vars := settings{"FEEDGATE_AUTH_SECRET": "a secret for this test, long enough"}
	var token bytes.Buffer
	if err := run(t.Context(), []string{"token", "-user", "user:77"}, vars.getenv, &token); err != nil {
		t.Fatal(err)
	}
	s := start(t, vars, "-data", t.TempDir())
	if strings.Contains(s.screen.String(), "Development mode") {
		t.Error("with a secret the server is in development mode")
	}
	if code := s.ask("77", `{ viewer { id } }`, &struct{}{}); code != "UNAUTHENTICATED" {
		t.Errorf("the header gives %q, want UNAUTHENTICATED", code)
	}
	s.token = strings.TrimSpace(token.String())
	if id := s.newUser("alder"); id != "user:77" {
		t.Errorf("the token makes the profile of %s, want user:77", id)
	}
	s.stop()
}

func TestABundleImportedTwiceBesideAServerShowsOnce(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := start(t, nil, "-data", data, "-sample=false")
	lines := []string{
		`{"type":"user","id":"1","handle":"alder"}`,
		`{"type":"user","id":"2","handle":"heron"}`,
		`{"type":"follow","follower":"1","followee":"2"}`,
		`{"type":"nonsense"}`,
	}
	var want []string
	for i := range 150 {
		lines = append(lines, fmt.Sprintf(`{"type":"post","id":"%d","author":"2","at":"2020-01-02T03:04:05Z","text":"t%d"}`, i+10, i))
		want = append([]string{fmt.Sprintf("t%d", i)}, want...)
	}
	bundle := filepath.Join(t.TempDir(), "bundle.ndjson")
	if err := os.WriteFile(bundle, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	for pass := range 2 {
		var said bytes.Buffer
		if err := run(t.Context(), []string{"import", "-data", data, bundle}, settings{}.getenv, &said); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said.String(), "line 4") || !strings.Contains(said.String(), []string{"150 new", "150 there already"}[pass]) {
			t.Errorf("pass %d says\n%s", pass, said.String())
		}
		same(t, fmt.Sprintf("pass %d", pass), s.feed("1"), want[:100]...)
	}
	s.stop()
}

func TestEachCommandHelpsAndMistakesAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, says string }{
		{"help", "Usage: feedgate"},
		{"version", "feedgate"},
		{"serve --help", "FEEDGATE_BIG_AUTHOR_FOLLOWERS"},
		{"--help", "FEEDGATE_ACTIVE_WINDOW"},
		{"import -h", "FILE.ndjson"},
		{"token --help", "FEEDGATE_AUTH_SECRET"},
		{"bench --help", "-followers N"},
		{"watch --help", "-url URL"},
	} {
		var out bytes.Buffer
		if err := run(t.Context(), strings.Fields(c.args), settings{}.getenv, &out); err != nil || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: %v, says\n%s", c.args, err, out.String())
		}
	}
	for _, c := range []struct{ args, says string }{
		{"serv", "feedgate help"},
		{"-role worker", "FEEDGATE_REDIS_URL"},
		{"-mongo-url mongodb://127.0.0.1:1/x", "FEEDGATE_REDIS_URL"},
		{"-active-window 1h", "72h"},
		{"-inbox-length 100 -inbox-slack 100", "-inbox-slack"},
		{"-addr localhost", "HOST:PORT"},
		{"-redis-url localhost:6379", "redis://"},
		{"serve now", "flags only"},
		{"import", "Which files?"},
		{"import /does/not/exist.ndjson", "/does/not/exist.ndjson"},
		{"token -user 5", "FEEDGATE_AUTH_SECRET"},
		{"watch", "Whose red dots?"},
		{"watch 5", "-user 5"},
		{"watch -user ann", "whole number"},
		{"watch -user 5 -url ftp://x", "-url"},
		{"bench -only nothing", "read, cpu, fanout, trips"},
	} {
		args := strings.Fields(c.args)
		if args[0] == "import" && len(args) > 1 {
			args = append([]string{"import", "-data", t.TempDir()}, args[1:]...)
		}
		err := run(t.Context(), args, settings{}.getenv, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want something about %q", c.args, err, c.says)
		}
	}
}
