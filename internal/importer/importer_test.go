package importer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"feedgate/feed"
	"feedgate/internal/importer"
	"feedgate/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type clock struct{ at time.Time }

func (c *clock) Now() time.Time { return c.at }

type rig struct {
	t       *testing.T
	record  *sqlite.Record
	clock   *clock
	rejects []importer.Reject
}

func newRig(t *testing.T) *rig {
	t.Helper()
	record, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "feedgate.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := record.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &rig{t: t, record: record, clock: &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
}

func (r *rig) run(bundle io.Reader) *importer.Report {
	r.t.Helper()
	r.rejects = nil
	im := importer.New(importer.Config{Record: r.record, Clock: r.clock, Reject: func(x importer.Reject) { r.rejects = append(r.rejects, x) }})
	if err := im.File(r.t.Context(), "bundle", bundle); err != nil {
		r.t.Fatal(err)
	}
	return im.Report()
}

func (r *rig) text(lines ...string) *importer.Report {
	r.t.Helper()
	return r.run(strings.NewReader(strings.Join(lines, "\n")))
}

func (r *rig) want(report *importer.Report, what string, added, same int64) {
	r.t.Helper()
	got := importer.Count{}
	if c := report.Counts[what]; c != nil {
		got = *c
	}
	if want := (importer.Count{Added: added, Same: same}); got != want {
		r.t.Errorf("%s: got %+v, want %+v (rejects %+v)", what, got, want, r.rejects)
	}
}

func (r *rig) post() feed.Post {
	r.t.Helper()
	const id = 7
	rows, err := r.record.PostsByID(r.t.Context(), []feed.ID{id})
	if err != nil || len(rows) != 1 {
		r.t.Fatalf("post %d: got %d rows, %v", id, len(rows), err)
	}
	return rows[0].Post
}

const people = `{"type":"user","id":"1","handle":"alder"}
{"type":"user","id":"2","handle":"heron","name":"Heron"}`

func TestAllTypesArriveAndARepeatChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lines := []string{
		people,
		`{"type":"follow","follower":"1","followee":"2"}`,
		`{"type":"post","id":"7","author":"2","at":"2010-01-02T03:04:05.678Z","text":"naïve 木 👩‍👩‍👧","place":{"lat":40.7,"lon":-73.8},"topics":["a"],"attributes":{"b": [1,  2.50]}}`,
		`{"type":"like","user":"1","post":"7","weight":13883}`,
		``,
	}
	for pass := range 2 {
		added, same := int64(1), int64(0)
		if pass == 1 {
			added, same = 0, 1
			r.clock.at = r.clock.at.Add(time.Hour)
		}
		report := r.text(lines...)
		r.want(report, "users", 2*added, 2*same)
		r.want(report, "follows", added, same)
		r.want(report, "posts", added, same)
		r.want(report, "likes", added, same)
		if report.Refused != 0 {
			t.Errorf("pass %d refused %+v", pass, r.rejects)
		}
	}
	post := r.post()
	if post.At != 1262401445678 || post.Text != "naïve 木 👩‍👩‍👧" || string(post.Attributes) != `{"b": [1,  2.50]}` ||
		post.Place == nil || post.Place.Latitude != 40.7 || post.Place.Longitude != -73.8 {
		t.Errorf("the post came out as %+v, place %+v", post, post.Place)
	}
}

func TestABadLineIsRefusedWithItsNumberAndTheRunGoesOn(t *testing.T) {
	t.Parallel()
	bad := []struct{ line, reason string }{
		{`{"type":"user","id":"3"`, "not JSON"},
		{`["user"]`, "not an object"},
		{`{"id":"3","handle":"x"}`, "type is missing"},
		{`{"type":"song","id":"3"}`, "none of user, follow, post, like"},
		{`{"type":"user","id":3,"handle":"x"}`, "id must be a string"},
		{`{"type":"user","id":"0","handle":"x"}`, "id must be a whole number"},
		{`{"type":"user","id":"9223372036854775808","handle":"x"}`, "id must be a whole number"},
		{`{"type":"user","id":"3","handle":"Xy"}`, "a-z, 0-9 and _"},
		{`{"type":"user","id":"3","handle":""}`, "handle"},
		{`{"type":"user","id":"3","handle":"` + strings.Repeat("x", 31) + `"}`, "31 characters"},
		{`{"type":"user","id":"3","handle":"alder"}`, "alder"},
		{`{"type":"user","id":"1","handle":"other"}`, "1"},
		{`{"type":"follow","follower":"1","followee":"1"}`, "nobody follows themselves"},
		{`{"type":"follow","follower":"1","followee":"99"}`, ""},
		{`{"type":"follow","follower":"1"}`, "followee is missing"},
		{`{"type":"post","id":"7","author":"1","text":"x"}`, "at is missing"},
		{`{"type":"post","id":"7","author":"1","at":"yesterday","text":"x"}`, "must be a time"},
		{`{"type":"post","id":"7","author":"99","at":"2010-01-02T03:04:05Z","text":"x"}`, ""},
		{`{"type":"post","id":"7","author":"1","at":"2010-01-02T03:04:05Z","text":"x","place":{"lat":90.01,"lon":0}}`, "outside the globe"},
		{`{"type":"post","id":"7","author":"1","at":"2010-01-02T03:04:05Z","text":"x","place":{"lat":0,"lon":-180.5}}`, "outside the globe"},
		{`{"type":"post","id":"7","author":"1","at":"2010-01-02T03:04:05Z","text":"x","place":{"lat":1}}`, "lon is missing"},
		{`{"type":"post","id":"7","author":"1","at":"2010-01-02T03:04:05Z","text":"x","place":[1,2]}`, "place must be like"},
		{`{"type":"post","id":"7","author":"1","at":"2010-01-02T03:04:05Z","text":"` + strings.Repeat("é", 10_001) + `"}`, "10001 characters"},
		{`{"type":"post","id":"7","author":"1","at":"2010-01-02T03:04:05Z","text":"x","attributes":{"a":"` + strings.Repeat("b", 16<<10) + `"}}`, "bytes"},
		{`{"type":"post","id":"7","author":"1","at":"2010-01-02T03:04:05Z","text":"x","topics":"a"}`, "list of strings"},
		{`{"type":"like","user":"1","post":"999"}`, ""},
		{`{"type":"like","user":"1","post":"8","weight":1.5}`, "weight"},
		{"{\"type\":\"user\",\"id\":\"3\",\"handle\":\"x\",\"name\":\"\xff\"}", "UTF-8"},
		{strings.Repeat("x", importer.MaxLine+1), "longer than"},
		{strings.Repeat("x", 3*importer.MaxLine), "longer than"},
	}
	r := newRig(t)
	lines := []string{people}
	for _, b := range bad {
		lines = append(lines, b.line)
	}
	lines = append(lines, `{"type":"user","id":"5","handle":"last"}`)
	report := r.text(lines...)
	r.want(report, "users", 3, 0)
	if report.Refused != int64(len(bad)) {
		t.Fatalf("refused %d lines, want %d: %+v", report.Refused, len(bad), r.rejects)
	}
	reasons := map[int64]string{}
	for _, reject := range r.rejects {
		reasons[reject.Line] = reject.Reason
	}
	for i, b := range bad {
		got, ok := reasons[int64(i)+3]
		if !ok || got == "" || !strings.Contains(got, b.reason) {
			t.Errorf("line %d %.80s: got %q, want something about %q", i+3, b.line, got, b.reason)
		}
	}
}

func TestPostsFromTheFutureAreDatedAtTheImportThatBroughtThemFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	line := `{"type":"post","id":"7","author":"1","at":"2027-03-01T12:00:00Z","text":"x"}`
	first := r.clock.at.UnixMilli()
	report := r.text(people, line)
	if got := r.post().At; got != first || report.Redated != 1 {
		t.Errorf("dated %d, %d redated; want %d, 1", got, report.Redated, first)
	}
	for _, later := range []time.Duration{time.Hour, 2 * 366 * 24 * time.Hour} {
		r.clock.at = r.clock.at.Add(later)
		report = r.text(people, line)
		r.want(report, "posts", 0, 1)
		if got := r.post().At; got != first {
			t.Errorf("after a repeat %s later dated %d, want %d", later, got, first)
		}
	}
	report = r.text(`{"type":"post","id":"7","author":"1","at":"2009-03-01T12:00:00Z","text":"x"}`)
	if report.Refused != 1 {
		t.Errorf("another time for the same id: refused %d, want 1", report.Refused)
	}
}

func TestUnknownFieldsAndTopicsOverTheBoundAreLeftOutAndCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	long := strings.Repeat("t", 51)
	report := r.text(
		`{"type":"user","id":"1","handle":"alder","shoe":44}`,
		`{"type":"user","id":"2","handle":"heron","shoe":null,"hat":{}}`,
		`{"type":"post","id":"7","author":"1","at":"2010-01-02T03:04:05Z","text":"x","place":{"lat":1,"lon":2,"alt":3},"topics":["a","","`+long+`","a2"]}`,
	)
	if fmt.Sprint(report.Ignored) != "map[hat:1 place.alt:1 shoe:2]" || report.Trimmed != 2 || report.Refused != 0 {
		t.Errorf("ignored %v, trimmed %d, refused %d", report.Ignored, report.Trimmed, report.Refused)
	}
	if got := fmt.Sprint(r.post().Topics); got != "[a a2]" {
		t.Errorf("topics %s, want [a a2]", got)
	}
	var out bytes.Buffer
	if err := report.Print(&out); err != nil || !strings.Contains(out.String(), `unknown field "shoe" was left out 2 times`) {
		t.Errorf("the report says\n%s (%v)", out.String(), err)
	}
}

func TestManyRowsMixedAndCompressed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const n = 2100
	bundle := func() io.Reader {
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		for i := 1; i <= n; i++ {
			fmt.Fprintf(zip, "{\"type\":\"user\",\"id\":\"%d\",\"handle\":\"u%d\"}\n", i, i)
			if i > 1 {
				fmt.Fprintf(zip, "{\"type\":\"follow\",\"follower\":\"%d\",\"followee\":\"%d\",\"at\":\"2010-01-02T03:04:05Z\"}\n", i, i-1)
			}
			fmt.Fprintf(zip, "{\"type\":\"post\",\"id\":\"%d\",\"author\":\"%d\",\"at\":\"2010-01-02T03:04:05Z\",\"text\":\"t\"}\n", i, i)
			fmt.Fprintf(zip, "{\"type\":\"like\",\"user\":\"%d\",\"post\":\"%d\"}\n", i, i)
		}
		if err := zip.Close(); err != nil {
			t.Fatal(err)
		}
		return &packed
	}
	report := r.run(bundle())
	r.want(report, "users", n, 0)
	r.want(report, "follows", n-1, 0)
	r.want(report, "posts", n, 0)
	r.want(report, "likes", n, 0)
	report = r.run(bundle())
	r.want(report, "posts", 0, n)
	if report.Refused != 0 {
		t.Errorf("refused %+v", r.rejects)
	}
}

func TestASourceThatBreaksOffKeepsWhatCameBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	fmt.Fprintln(zip, people)
	if err := zip.Flush(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(zip, `{"type":"user","id":"3","handle":"rest"}`)
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	im := importer.New(importer.Config{Record: r.record, Clock: r.clock})
	err := im.File(t.Context(), "torn.gz", bytes.NewReader(packed.Bytes()[:packed.Len()-12]))
	if err == nil || !strings.Contains(err.Error(), "torn.gz after line") {
		t.Errorf("got %v, want an error that names the file and the line", err)
	}
	if got := im.Report().Counts["users"]; got == nil || got.Added < 2 {
		t.Errorf("got %+v, want what came before", got)
	}
}

// A run that took nothing of what it was given is no success; one that took a line is.
func TestARunThatTakesNothingFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, c := range []struct{ bundle, says string }{
		{`{"type":"song","id":"3"}` + "\n" + `{"type":"follow","follower":"1","followee":"2"}`, "all 2 lines were refused"},
		{`{"type":"song","id":"3"}` + "\n" + people, ""},
		{`{"type":"song","id":"3"}` + "\n" + people, ""}, // there already
		{"", ""},
	} {
		var said strings.Builder
		err := importer.Run(t.Context(), importer.Config{Record: r.record, Clock: r.clock}, importer.Job{
			Files: []string{"-"}, Stdin: strings.NewReader(c.bundle), Out: &said, Generation: r.record,
		})
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("run %d: got %v, want %q", i, err, c.says)
		}
	}
}
