package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"feedgate/fanout"
	"feedgate/feed"
)

// Hot is all that hot data can do.
type Hot interface {
	feed.Hot
	feed.Pulse
	fanout.Bells
	fanout.Tasks
	fanout.Inboxes
	fanout.Marks
	fanout.Readers
	Close() error
}

// HotBackend is hot data that a test has for itself, empty at its start.
type HotBackend struct {
	// Open gives one more process' handle on the same data, which calls onRoundTrip
	// for each awaited exchange. It is closed at the test's end.
	Open func(t *testing.T, onRoundTrip func(commands int)) Hot
	// Flush loses everything.
	Flush func(t *testing.T)
	// Evict loses all that has an expiry, as time or want of memory may.
	Evict func(t *testing.T)
	// Advance makes time pass for what expires. Nil: it cannot be hurried.
	Advance func(t *testing.T, by time.Duration)
	// ForgetScripts makes the servers forget all scripts.
	ForgetScripts func(t *testing.T)
}

// RunHot runs the suite for hot data. Serial says that the back ends share
// their data, so that one test must end before the next begins.
func RunHot(t *testing.T, serial bool, open func(t *testing.T) HotBackend) {
	t.Helper()
	groups := []struct {
		name  string
		tests map[string]func(s *hotSuite)
	}{
		{"relations", hotRelationTests()},
		{"posts", hotDetailTests(samplePost)},
		{"stats", hotDetailTests(sampleStats)},
		{"users", hotDetailTests(sampleUser)},
		{"counts", hotDetailTests(sampleCounts)},
		{"tastes", hotDetailTests(sampleTastes)},
		{"views", hotDetailTests(sampleViews)},
		{"lists", hotListTests()},
		{"paging", hotPagingTests()},
		{"marks", hotMarkTests()},
		{"active", hotActiveTests()},
		{"inboxes", hotInboxTests()},
		{"queue", hotQueueTests()},
		{"acks", hotAckTests()},
		{"cells", hotCellTests()},
		{"boards", hotBoardTests()},
		{"learning", hotLearningTests()},
		{"rest", hotRestTests()},
	}
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			if !serial {
				t.Parallel()
			}
			for name, test := range group.tests {
				t.Run(name, func(t *testing.T) {
					if !serial {
						t.Parallel()
					}
					test(newHotSuite(t, open(t)))
				})
			}
		})
	}
}

// firstGeneration is the generation that each test begins with.
const firstGeneration = 3

// hotSuite is what one test of the suite works with.
type hotSuite struct {
	t     *testing.T
	back  HotBackend
	hot   Hot
	other Hot // another process' handle
	trips atomic.Int64
	ids   Sequence
}

func newHotSuite(t *testing.T, back HotBackend) *hotSuite {
	t.Helper()
	s := &hotSuite{t: t, back: back}
	s.hot = back.Open(t, func(int) { s.trips.Add(1) })
	s.other = back.Open(t, func(int) {})
	s.setGeneration(firstGeneration)
	return s
}

func (s *hotSuite) setGeneration(gen int64) {
	s.hot.SetGeneration(gen)
	s.other.SetGeneration(gen)
}

func (s *hotSuite) ctx() context.Context { return s.t.Context() }

// do does operations that must succeed, in one round trip.
func (s *hotSuite) do(ops ...feed.Op) {
	s.t.Helper()
	if err := s.hot.Do(s.ctx(), ops...); err != nil {
		s.t.Fatalf("Do(%s): %v", kinds(ops), err)
	}
}

func kinds(ops []feed.Op) string {
	names := make([]string, len(ops))
	for i, op := range ops {
		names[i] = fmt.Sprintf("%T", op)
	}
	return fmt.Sprint(names)
}

// must fails the test on an error.
func (s *hotSuite) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// equal compares what can be compared.
func equal[T comparable](s *hotSuite, what string, got, want T) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// equalSlice compares element by element.
func equalSlice[T comparable](s *hotSuite, what string, got, want []T) {
	s.t.Helper()
	if !slices.Equal(got, want) {
		s.t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// until polls until ok is true, for at most ten seconds.
func (s *hotSuite) until(what string, ok func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx(), 10*time.Second)
	defer cancel()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			s.t.Fatalf("it never came to pass that %s", what)
		case <-poll.C:
		}
	}
}
