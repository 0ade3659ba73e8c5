// Package idgen makes ids that are unique among all processes: 39 bits of time
// in units of 10 ms, 8 bits of a sequence, 16 bits of a process number. The
// number is leased on the record and renewed in the background; without a
// lease there are no ids.
package idgen

import (
	"context"
	"crypto/rand"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/sony/sonyflake"

	"feedgate/feed"
)

const (
	numbers = math.MaxUint16 + 1
	unit    = 10 * time.Millisecond // of an id's time
	skip    = 1 << (sonyflake.BitLenSequence + 2)
)

// Settings tune the lease; a zero field takes the default named with it.
type Settings struct {
	TTL    time.Duration // of the lease; 60 s
	Renew  time.Duration // how often it is renewed; 15 s
	Margin time.Duration // no ids in this last part of a lease; 10 s
	Retry  time.Duration // pause after a failed renewal; 1 s
}

// Source implements [feed.IDs]. [Source.Run] keeps its number leased.
type Source struct {
	record feed.ProcessRecord
	clock  feed.Clock
	log    *slog.Logger
	set    Settings
	owner  string

	mu     sync.Mutex
	number int                  // -1: none is leased
	flake  *sonyflake.Sonyflake // of number
	start  time.Time            // time 0 of the ids
	until  time.Time            // the lease on the record ends, by the wall clock
	since  time.Time            // the lease was asked for, by the monotonic clock
	last   feed.ID              // the id given last
	used   bool                 // ids were made under number
}

// New makes a source without a number; clock is to be the system's, since the
// ids carry its time.
func New(record feed.ProcessRecord, clock feed.Clock, log *slog.Logger, set Settings) *Source {
	return &Source{
		record: record, clock: clock, log: log, owner: rand.Text(), number: -1,
		start: time.Date(2014, 9, 1, 0, 0, 0, 0, time.UTC),
		set: Settings{
			TTL:    or(set.TTL, time.Minute),
			Renew:  or(set.Renew, 15*time.Second),
			Margin: or(set.Margin, 10*time.Second),
			Retry:  or(set.Retry, time.Second),
		},
	}
}

func or(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// NextID gives an id above 2^53 and above every earlier one of this source. It
// is UNAVAILABLE while no number is leased, and when the system's clock was
// turned back by more than a second. Above 25,600 ids a second it waits.
func (s *Source) NextID() (feed.ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A new number may have a lower sequence within the same 10 ms, so ids are
	// skipped until they rise; a turn of the sequence brings the next 10 ms.
	for range skip {
		if err := s.ready(); err != nil {
			return 0, err
		}
		raw, err := s.flake.NextID()
		if err != nil || raw > math.MaxInt64 {
			return 0, feed.Unavailable("no new ids can be made", err)
		}
		s.used = true
		if id := feed.ID(raw); id > s.last {
			s.last = id
			return id, nil
		}
	}
	return 0, feed.Unavailable("no new ids can be made now: try again", nil)
}

// ready reports why no id can be made now.
func (s *Source) ready() error {
	now := s.clock.Now()
	if s.number < 0 {
		return feed.Unavailable("no process number is leased: try again in a moment", nil)
	}
	// By the wall clock, which the others see, and by the monotonic one, which
	// nobody turns back. Whoever leases the number next begins after until, and
	// no id under this lease carries a time after it.
	if !now.Round(0).Before(s.until.Add(-s.set.Margin)) || now.Sub(s.since) >= s.set.TTL-s.set.Margin {
		return feed.Unavailable("the process number could not be renewed: try again in a moment", nil)
	}
	if s.last > 0 && s.timeOf(s.last).Sub(now) > time.Second {
		return feed.Unavailable("the clock was turned back: try again in a moment", nil)
	}
	return nil
}

// timeOf is the time that an id carries.
func (s *Source) timeOf(id feed.ID) time.Time {
	units := int64(id) >> (sonyflake.BitLenSequence + sonyflake.BitLenMachineID)
	return s.start.Add(time.Duration(units) * unit)
}

// Start leases a number, so that ids can be made when it returns. Run does so
// too, but in the background.
func (s *Source) Start(ctx context.Context) error { return s.renew(ctx) }

// Run renews the lease, and leases another number when it is lost, until ctx
// ends. It returns nil. A number under which ids were made is left to run out:
// the next holder's ids then carry later times whatever its clock shows.
func (s *Source) Run(ctx context.Context) error {
	for {
		wait := s.set.Renew
		if err := s.renew(ctx); err != nil && ctx.Err() == nil {
			wait = s.set.Retry
			s.log.LogAttrs(ctx, slog.LevelWarn, "process number: cannot renew the lease", slog.Any("error", err))
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			s.leave(ctx)
			return nil
		}
	}
}

// renew extends the lease, or gets a new one if there is none or it was lost.
func (s *Source) renew(ctx context.Context) error {
	s.mu.Lock()
	number, until := s.number, s.until
	s.mu.Unlock()

	asked := s.clock.Now()
	// Never shorten the lease, even when the clock was turned back: ids may
	// carry times up to the old end.
	if next := asked.Round(0).Add(s.set.TTL); number < 0 || next.After(until) {
		until = next
	}
	if number >= 0 {
		err := s.record.RenewProcess(ctx, number, s.owner, until.UnixMilli())
		if err == nil {
			s.extend(asked, until)
			return nil
		}
		if feed.CodeOf(err) != feed.CodeConflict {
			return err
		}
		s.log.LogAttrs(ctx, slog.LevelWarn, "process number: lost, leasing another", slog.Int("number", number))
		s.drop()
		until = asked.Round(0).Add(s.set.TTL)
	}
	number, err := s.record.LeaseProcess(ctx, s.owner, numbers, asked.UnixMilli(), until.UnixMilli())
	if err != nil {
		return err
	}
	flake, err := sonyflake.New(sonyflake.Settings{
		StartTime: s.start,
		MachineID: func() (uint16, error) { return uint16(number), nil }, //nolint:gosec // below numbers
	})
	if err != nil {
		return feed.Unavailable("no new ids can be made", err)
	}
	s.mu.Lock()
	s.number, s.flake, s.used = number, flake, false
	s.mu.Unlock()
	s.extend(asked, until)
	return nil
}

func (s *Source) extend(asked, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since, s.until = asked, until
}

func (s *Source) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number, s.flake = -1, nil
}

// leave ends the lease of a number that was never used.
func (s *Source) leave(ctx context.Context) {
	s.mu.Lock()
	number, used := s.number, s.used
	s.number, s.flake = -1, nil
	s.mu.Unlock()
	if number < 0 || used {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := s.record.ReleaseProcess(ctx, number, s.owner); err != nil {
		s.log.LogAttrs(ctx, slog.LevelInfo, "process number: left to run out", slog.Any("error", err))
	}
}
