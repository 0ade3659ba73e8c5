package storetest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
)

// Record is all that a record can do.
type Record interface {
	feed.Record
	feed.DutyRecord
	feed.CounterRecord
	feed.HeartbeatRecord
	feed.ProcessRecord
	feed.ImportRecord
	feed.SeenRecord
	feed.NoticeRecord
	feed.TasteRecord
	feed.ViewRecord
	feed.PlaceRecord
	Close(ctx context.Context) error
}

// OpenRecord opens a fresh, empty record that calls hook for each awaited
// command, and closes it at the test's end. Closing it earlier must do no harm.
type OpenRecord func(t *testing.T, hook func(command string)) Record

// RunRecord runs the suite for records. Batch is how many rows the largest test
// imports at once: 2,000, or less for a stand-in that is slow.
func RunRecord(t *testing.T, batch int, open OpenRecord) {
	t.Helper()
	groups := []struct {
		name  string
		tests map[string]func(s *suite)
	}{
		{"users", userTests()},
		{"posts", postTests()},
		{"entries", entryTests()},
		{"relations", relationTests()},
		{"likes", likeTests()},
		{"comments", commentTests()},
		{"claims", claimTests()},
		{"seen", seenTests()},
		{"notices", noticeTests()},
		{"places", placeTests()},
		{"tastes", tasteTests()},
		{"views", viewTests()},
		{"duties", dutyTests()},
		{"counters", counterTests()},
		{"meta", metaTests()},
		{"import", importTests()},
		{"failures", failureTests()},
	}
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for name, test := range group.tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := &suite{t: t, batch: batch}
					s.rec = open(t, func(string) { s.commands.Add(1) })
					test(s)
				})
			}
		})
	}
}

// suite is one test's record and what the test made in it.
type suite struct {
	t        *testing.T
	batch    int
	rec      Record
	commands atomic.Int64
	seq      Sequence
}

// now is the time at which tests happen, in ms.
const now = int64(1_780_000_000_000)

// cost tells how many commands fn waits for.
func (s *suite) cost(fn func()) int64 {
	before := s.commands.Load()
	fn()
	return s.commands.Load() - before
}

// user makes a user.
func (s *suite) user(t *testing.T) feed.ID {
	t.Helper()
	id := s.seq.Next()
	u := feed.User{ID: id, Handle: "u" + id.String(), Name: "User " + id.String(), CreatedAt: now}
	if err := s.rec.CreateUser(t.Context(), u); err != nil {
		t.Fatalf("CreateUser(%v): %v", u, err)
	}
	return id
}

// users makes many users in one go.
func (s *suite) users(t *testing.T, n int) []feed.ID {
	t.Helper()
	rows := make([]feed.User, n)
	ids := make([]feed.ID, n)
	for i := range rows {
		ids[i] = s.seq.Next()
		rows[i] = feed.User{ID: ids[i], Handle: "u" + strconv.FormatInt(int64(ids[i]), 36), CreatedAt: now}
	}
	wantOutcomes(t, slices.Repeat([]feed.OutcomeState{feed.Added}, n))(s.rec.ImportUsers(t.Context(), rows))
	return ids
}

// post publishes a post that is still to be fanned out.
func (s *suite) post(t *testing.T, author feed.ID, at int64) feed.ID {
	t.Helper()
	p := feed.Post{ID: s.seq.Next(), Author: author, At: at, Kind: "original", Text: "hello"}
	s.insert(t, p)
	return p.ID
}

// repost publishes a repost.
func (s *suite) repost(t *testing.T, author feed.ID, at int64, of, ofAuthor feed.ID) feed.ID {
	t.Helper()
	p := feed.Post{ID: s.seq.Next(), Author: author, At: at, Kind: "repost", RepostOf: of, OriginalAuthor: ofAuthor}
	s.insert(t, p)
	return p.ID
}

func (s *suite) insert(t *testing.T, p feed.Post) {
	t.Helper()
	wantBool(t, true)(s.rec.InsertPost(t.Context(), p, feed.Duty{Post: p.ID, Author: p.Author, At: p.At, Lane: feed.LaneSmall}))
}

// readUser reads one user.
func (s *suite) readUser(t *testing.T, id feed.ID) feed.UserRow {
	t.Helper()
	rows, err := s.rec.UsersByID(t.Context(), []feed.ID{id})
	if err != nil || len(rows) != 1 {
		t.Fatalf("UsersByID(%d) = %d rows, %v, want 1 row", id, len(rows), err)
	}
	return rows[0]
}

// readPost reads one post.
func (s *suite) readPost(t *testing.T, id feed.ID) feed.PostRow {
	t.Helper()
	rows, err := s.rec.PostsByID(t.Context(), []feed.ID{id})
	if err != nil || len(rows) != 1 {
		t.Fatalf("PostsByID(%d) = %d rows, %v, want 1 row", id, len(rows), err)
	}
	return rows[0]
}

// wantCounts checks a user's counters.
func (s *suite) wantCounts(t *testing.T, id feed.ID, want feed.UserCounts) {
	t.Helper()
	if got := s.readUser(t, id).UserCounts; got != want {
		t.Errorf("counters of user %d: got %+v, want %+v", id, got, want)
	}
}

// wantStats checks a post's numbers.
func (s *suite) wantStats(t *testing.T, id feed.ID, likes, comments, reposts int64) {
	t.Helper()
	got := s.readPost(t, id).Stats
	if got.Likes != likes || got.Comments != comments || got.Reposts != reposts {
		t.Errorf("post %d has %d likes, %d comments, %d reposts, want %d, %d, %d",
			id, got.Likes, got.Comments, got.Reposts, likes, comments, reposts)
	}
}

// The checks below take a method's results as they come: want(t, x)(method()).

func wantBool(t *testing.T, want bool) func(bool, error) {
	t.Helper()
	return func(got bool, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	}
}

func wantIDs(t *testing.T, want ...feed.ID) func([]feed.ID, error) {
	t.Helper()
	return func(got []feed.ID, err error) {
		t.Helper()
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	}
}

// wantSet is wantIDs in any order.
func wantSet(t *testing.T, want ...feed.ID) func([]feed.ID, error) {
	t.Helper()
	return func(got []feed.ID, err error) {
		t.Helper()
		slices.Sort(got)
		slices.Sort(want)
		wantIDs(t, want...)(got, err)
	}
}

func wantOutcomes(t *testing.T, want []feed.OutcomeState) func([]feed.Outcome, error) {
	t.Helper()
	return func(got []feed.Outcome, err error) {
		t.Helper()
		if err != nil || len(got) != len(want) {
			t.Fatalf("got %d outcomes, %v, want %d", len(got), err, len(want))
		}
		for i, o := range got {
			if o.State != want[i] || (o.State == feed.Refused) != (o.Reason != "") {
				t.Errorf("row %d: got state %d with reason %q, want state %d", i, o.State, o.Reason, want[i])
			}
		}
	}
}

func wantNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantCode checks an error's code, and its field unless that is "".
func wantCode(t *testing.T, err error, code feed.Code, field string) {
	t.Helper()
	e, ok := errors.AsType[*feed.Error](err)
	if !ok || e.Code != code || (field != "" && e.Field != field) {
		t.Fatalf("got error %v, want %s about field %q", err, code, field)
	}
}

// sparingly is rapid.Check for properties that write: it takes fewer rounds,
// unless one fails and rapid looks for the smallest that does.
func sparingly(t *testing.T, property func(rt *rapid.T)) {
	t.Helper()
	const most = 25
	rounds, failed := 0, false
	rapid.Check(t, func(rt *rapid.T) {
		rounds++
		if rounds > most && !failed {
			return
		}
		defer func() { failed = failed || rt.Failed() }()
		property(rt)
	})
}

// atOnce runs n functions at the same time and waits for them.
func atOnce(n int, fn func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { fn(i) })
	}
	all.Wait()
}
