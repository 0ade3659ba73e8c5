package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"feedgate/feed"
	"feedgate/feed/recommend"
	"feedgate/internal/auth"
	"feedgate/internal/httpapi"
	"feedgate/store/embedded"
	"feedgate/store/redis"
	"feedgate/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

// countingIDs are ids in order, above 2^53.
type countingIDs struct{ last atomic.Int64 }

func (c *countingIDs) NextID() (feed.ID, error) { return feed.ID(1<<53 + c.last.Add(1)), nil }

const secret = "a secret for tests, of at least 32 bytes"

// world is a whole feedgate but for its workers: what is published is seen
// without them.
type world struct {
	tb     testing.TB
	svc    *feed.Service
	record *sqlite.Record
	hot    *redis.Hot
	redis  *embedded.Server
	tokens *auth.Tokens
	server *httpapi.Server
	log    *logBook
	faults faults
	ids    countingIDs
	config httpapi.Config
	rest   func() // stops what runs in the background

	recordTrips, hotTrips atomic.Int64
}

func newWorld(tb testing.TB, change ...func(*httpapi.Config)) *world {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &world{tb: tb, log: &logBook{}}
	quiet := slog.New(slog.DiscardHandler)
	var err error
	w.redis, err = embedded.Open(ctx, wallClock{}, quiet, 64<<20)
	w.must(err)
	w.record, err = sqlite.Open(ctx, filepath.Join(tb.TempDir(), "feedgate.db"), quiet,
		sqlite.WithHook(func(command string) {
			if command != "Generation" && command != "SaveHeartbeats" { // these come by themselves as time goes by
				w.recordTrips.Add(1)
			}
		}))
	w.must(err)
	w.hot, err = redis.Open(ctx, redis.Config{URL: w.redis.URL(), Log: quiet, OnRoundTrip: func(int) { w.hotTrips.Add(1) }})
	w.must(err)
	w.svc = feed.New(feed.Config{
		Record: faulty{w.record, &w.faults}, Hot: w.hot, Pulse: w.hot, Beats: w.record, Seen: faulty{w.record, &w.faults}, Notices: w.record, Clock: wallClock{}, IDs: &w.ids,
		Tastes: w.record, Views: w.record, Recommender: recommender(w.hot, w.record),
		Log: quiet, Settings: feed.DefaultSettings(),
	})
	w.must(w.svc.Start(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { _ = w.svc.Run(ctx) })
	w.rest = func() {
		cancel()
		wg.Wait()
	}
	w.tokens, err = auth.New(secret, wallClock{})
	w.must(err)
	w.config = httpapi.Config{
		Service: w.svc, Clock: wallClock{}, Log: slog.New(slog.NewJSONHandler(w.log, nil)), Metrics: httpapi.NewMetrics(),
		Tokens: w.tokens, Dev: true,
		Ready: map[string]func(context.Context) error{
			"record": func(ctx context.Context) error { _, err := w.record.Generation(ctx); return err },
			"hot":    func(ctx context.Context) error { _, err := w.hot.Beat(ctx, 0, nil); return err },
		},
	}
	for _, c := range change {
		c(&w.config)
	}
	w.server = httpapi.New(w.config)
	tb.Cleanup(func() {
		w.rest()
		_ = w.hot.Close()
		_ = w.record.Close(context.Background())
		w.redis.Close()
	})
	return w
}

// recommender is the real one.
func recommender(hot feed.Hot, record *sqlite.Record) feed.Recommender {
	return recommend.New(recommend.Config{
		Hot: hot, Recent: record, Authors: record, Clock: wallClock{}, Settings: recommend.DefaultSettings(),
	})
}

func (w *world) must(err error) {
	w.tb.Helper()
	if err != nil {
		w.tb.Fatal(err)
	}
}

// logBook keeps what was logged.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.text.String()), "\n")
}

// answer is a response as a client sees it.
type answer struct {
	status int
	header http.Header
	text   string
	Data   json.RawMessage `json:"data"`
	Errors []struct {
		Message    string `json:"message"`
		Path       []any  `json:"path"`
		Extensions struct {
			Code      string `json:"code"`
			Field     string `json:"field"`
			RequestID string `json:"requestId"`
		} `json:"extensions"`
	} `json:"errors"`
}

func (a *answer) code() string {
	if len(a.Errors) == 0 {
		return ""
	}
	return a.Errors[0].Extensions.Code
}

// into reads the data, which must have come without errors.
func (a *answer) into(tb testing.TB, v any) {
	tb.Helper()
	if a.status != http.StatusOK || len(a.Errors) > 0 {
		tb.Fatalf("status %d: %s", a.status, a.text)
	}
	if err := json.Unmarshal(a.Data, v); err != nil {
		tb.Fatalf("%v: %s", err, a.Data)
	}
}

// send sends any request.
func (w *world) send(r *http.Request) *answer {
	w.tb.Helper()
	rec := httptest.NewRecorder()
	w.server.ServeHTTP(rec, r)
	a := &answer{status: rec.Code, header: rec.Header(), text: rec.Body.String()}
	if strings.Contains(rec.Header().Get("Content-Type"), "json") {
		if err := json.Unmarshal(rec.Body.Bytes(), a); err != nil {
			w.tb.Fatalf("response is no JSON: %v: %s", err, a.text)
		}
	}
	return a
}

// post makes a POST of a JSON body.
func post(body io.Reader, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/graphql", body)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func operation(query string, vars map[string]any) io.Reader {
	text, err := json.Marshal(map[string]any{"query": query, "variables": vars})
	if err != nil {
		panic(err)
	}
	return bytes.NewReader(text)
}

// as runs a query for a reader, 0 for nobody.
func (w *world) as(reader feed.ID, query string, vars map[string]any) *answer {
	w.tb.Helper()
	r := post(operation(query, vars))
	if reader != 0 {
		r.Header.Set("X-Feedgate-User", reader.String())
	}
	return w.send(r)
}

func (w *world) person(handle string) feed.ID {
	w.tb.Helper()
	u, err := w.svc.CreateUser(context.Background(), w.svc.Reader(0), feed.NewUser{Handle: handle, Name: "The " + handle, AvatarURL: "https://example.com/" + handle + ".png"})
	w.must(err)
	return u.ID
}

func (w *world) follow(follower, followee feed.ID) {
	w.tb.Helper()
	_, err := w.svc.Follow(context.Background(), w.svc.Reader(follower), followee)
	w.must(err)
}

func (w *world) publish(author feed.ID, p feed.NewPost) feed.ID {
	w.tb.Helper()
	made, err := w.svc.PublishPost(context.Background(), w.svc.Reader(author), p)
	w.must(err)
	return made.ID
}

// town makes a reader who follows a few people with n posts among them, some
// of them reposts, with likes and comments.
func (w *world) town(n int) feed.ID {
	w.tb.Helper()
	ctx := context.Background()
	reader := w.person("reader")
	var people []feed.ID
	for i := range 5 {
		people = append(people, w.person(fmt.Sprintf("person_%d", i)))
		w.follow(reader, people[i])
	}
	for i := range n {
		author := people[i%len(people)]
		id := w.publish(author, feed.NewPost{
			Text:   fmt.Sprintf("Post %d: ", i) + strings.Repeat("the quick brown fox jumps \"over\" the lazy dog. ", 6),
			Topics: []string{"foxes", "dogs"},
		})
		if i%3 == 0 {
			_, err := w.svc.Like(ctx, w.svc.Reader(reader), id)
			w.must(err)
		}
		for c := range 2 {
			_, err := w.svc.CommentOn(ctx, w.svc.Reader(people[(i+c+1)%len(people)]), feed.NewComment{Post: id, Text: "Well said, once more."})
			w.must(err)
		}
	}
	return reader
}
