package idgen_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sony/sonyflake"
	"go.uber.org/goleak"

	"feedgate/feed"
	"feedgate/internal/idgen"
	"feedgate/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shifted is the system's clock, turned by an offset. Turned clocks lose their
// monotonic reading, as those of other machines have none in common with ours.
type shifted struct{ by atomic.Int64 }

func (c *shifted) Now() time.Time {
	if by := time.Duration(c.by.Load()); by != 0 {
		return time.Now().Add(by)
	}
	return time.Now()
}

func record(t *testing.T) *sqlite.Record {
	t.Helper()
	r, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "feedgate.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return r
}

func source(t *testing.T, r feed.ProcessRecord, c feed.Clock) *idgen.Source {
	t.Helper()
	return idgen.New(r, c, slog.New(slog.DiscardHandler), idgen.Settings{})
}

func start(t *testing.T, s *idgen.Source) *idgen.Source {
	t.Helper()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func next(t *testing.T, s *idgen.Source) feed.ID {
	t.Helper()
	id, err := s.NextID()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func wantUnavailable(t *testing.T, s *idgen.Source) {
	t.Helper()
	if id, err := s.NextID(); feed.CodeOf(err) != feed.CodeUnavailable || err == nil {
		t.Errorf("NextID gave %d, %v, want UNAVAILABLE", id, err)
	}
}

func numberOf(id feed.ID) uint64 { return sonyflake.MachineID(uint64(id)) }

func TestNoIDsWithoutANumber(t *testing.T) {
	t.Parallel()
	wantUnavailable(t, source(t, record(t), &shifted{}))
}

func TestIDsOfManyProcessesAreUniqueAndRise(t *testing.T) {
	t.Parallel()
	r := record(t)
	var mu sync.Mutex
	seen := make(map[feed.ID]bool)
	var all sync.WaitGroup
	for range 4 {
		s := start(t, source(t, r, &shifted{}))
		for range 3 {
			all.Go(func() {
				last := feed.ID(1 << 53)
				for range 500 {
					id, err := s.NextID()
					if err != nil {
						t.Error(err)
						return
					}
					if id <= last {
						t.Errorf("got %d after %d", id, last)
					}
					last = id
					mu.Lock()
					if seen[id] {
						t.Errorf("%d came twice", id)
					}
					seen[id] = true
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	if len(seen) != 4*3*500 {
		t.Errorf("got %d ids, want %d", len(seen), 4*3*500)
	}
}

func TestAnExpiredLeaseGivesNoIDsUntilItIsRenewed(t *testing.T) {
	t.Parallel()
	c := &shifted{}
	s := start(t, source(t, record(t), c))
	first := next(t, s)
	c.by.Store(int64(51 * time.Second)) // within the margin of 10 s before the end
	wantUnavailable(t, s)
	start(t, s) // Run does this in the background
	second := next(t, s)
	if numberOf(first) != numberOf(second) || second <= first {
		t.Errorf("got %d of process %d after %d of process %d", second, numberOf(second), first, numberOf(first))
	}
}

func TestALostNumberGivesWayToAnotherAndIDsStillRise(t *testing.T) {
	t.Parallel()
	r := record(t)
	c := &shifted{}
	s := start(t, source(t, r, c))
	first := next(t, s)
	for range 300 { // more than one turn of the sequence
		first = next(t, s)
	}
	later := &shifted{}
	later.by.Store(int64(2 * time.Minute))
	thief := start(t, source(t, r, later))
	stolen := next(t, thief)
	if numberOf(stolen) != numberOf(first) {
		t.Fatalf("the thief got number %d, want %d", numberOf(stolen), numberOf(first))
	}
	start(t, s)
	second := next(t, s)
	if numberOf(second) == numberOf(first) {
		t.Errorf("number %d is still used after its loss", numberOf(first))
	}
	if second <= first {
		t.Errorf("got %d after %d", second, first)
	}
}

func TestAClockTurnedBackGivesNoIDs(t *testing.T) {
	t.Parallel()
	c := &shifted{}
	s := start(t, source(t, record(t), c))
	next(t, s)
	c.by.Store(int64(-time.Hour))
	wantUnavailable(t, s)
	c.by.Store(0)
	next(t, s)
}

func TestRunKeepsTheLeaseAndLeavesAUsedNumberToRunOut(t *testing.T) {
	t.Parallel()
	r := record(t)
	used, unused := source(t, r, &shifted{}), source(t, r, &shifted{})
	for _, s := range []*idgen.Source{used, unused} {
		start(t, s)
	}
	first := next(t, used)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, s := range []*idgen.Source{used, unused} {
		all.Go(func() {
			if err := s.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	cancel()
	all.Wait()
	wantUnavailable(t, used)
	// The number that was used may carry ids of this moment; the other is free.
	third := next(t, start(t, source(t, r, &shifted{})))
	if numberOf(third) == numberOf(first) || numberOf(third) > 1 {
		t.Errorf("got number %d after %d was used and left", numberOf(third), numberOf(first))
	}
}

// flaky fails while down is set.
type flaky struct {
	feed.ProcessRecord
	down atomic.Bool
	asks chan struct{}
}

func (f *flaky) RenewProcess(ctx context.Context, number int, owner string, until int64) error {
	defer func() { f.asks <- struct{}{} }()
	if f.down.Load() {
		return feed.Unavailable("down", nil)
	}
	return f.ProcessRecord.RenewProcess(ctx, number, owner, until)
}

func TestRunRenewsAfterAnOutage(t *testing.T) {
	t.Parallel()
	f := &flaky{ProcessRecord: record(t), asks: make(chan struct{})}
	c := &shifted{}
	s := start(t, idgen.New(f, c, slog.New(slog.DiscardHandler), idgen.Settings{Renew: time.Millisecond, Retry: time.Millisecond}))
	f.down.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	<-f.asks
	c.by.Store(int64(55 * time.Second))
	<-f.asks
	wantUnavailable(t, s)
	f.down.Store(false)
	<-f.asks
	<-f.asks // begun when the lease was extended for sure
	next(t, s)
	cancel()
	for ended != nil {
		select {
		case <-f.asks:
		case <-ended:
			ended = nil
		}
	}
}
