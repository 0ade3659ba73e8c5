package feed

import (
	"context"
	"log/slog"
	"time"
)

const (
	// mutationTimeout is a third of [HoldTTL]: no hold ends under a mutation.
	mutationTimeout = HoldTTL / 3 * time.Millisecond
	releaseTimeout  = 2 * time.Second
	releaseTries    = 3
	releasePause    = 100 * time.Millisecond
)

// mutation is the one way in which the record is written: values that the
// write makes wrong are taken away first, so that nobody can fill them in
// while it is under way, and given back after it. If the hot data cannot be asked
// beforehand, nothing is written.
type mutation struct {
	hold    []Op
	write   func(context.Context) error
	release func(written bool) []Op // written is false when the outcome is not known to be a success
}

func (s *Service) mutate(ctx context.Context, m mutation) error {
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	if err := s.hot.Do(ctx, m.hold...); err != nil {
		return Unavailable("nothing was written because the hot data cannot be reached: try again in a moment", err)
	}
	err := m.write(ctx)
	released := s.giveBack(ctx, m.release(err == nil)...)
	if err != nil {
		return err
	}
	return released
}

// giveBack ends the holds, also when the caller has gone away meanwhile. When
// it fails for good, the holds end by themselves, and the caller is told that
// the write stands.
func (s *Service) giveBack(ctx context.Context, ops ...Op) error {
	ctx = context.WithoutCancel(ctx)
	var err error
	for try := range releaseTries {
		if try > 0 {
			time.Sleep(releasePause << try) //nolint:forbidigo // a bounded pause that must not end with the caller
		}
		attempt, cancel := context.WithTimeout(ctx, releaseTimeout)
		err = s.hot.Do(attempt, ops...)
		cancel()
		if err == nil {
			return nil
		}
	}
	s.count(EventReleaseFailed)
	s.log.WarnContext(ctx, "a mutation is on the record, but the hot data could not be told", slog.Any("error", err))
	return Unavailable("this is recorded, but may show late because the hot data cannot be reached: there is no need to repeat it", err)
}
