package feed

import (
	"context"
	"log/slog"
	"maps"
	"time"
)

// How often the generation and the beats are looked after. A failover is known
// to the process that notices it after one beat, to all others after one more
// reading of the generation: together below a second.
const (
	beatEvery       = 250 * time.Millisecond
	generationEvery = 500 * time.Millisecond
	saveBeatsEvery  = 5 * time.Second
	watchTimeout    = 2 * time.Second
)

// watch keeps the generation in force known and raises it when a Redis master
// has lost its data or come back with older data.
func (s *Service) watch(ctx context.Context) {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	gen := time.NewTicker(generationEvery)
	defer gen.Stop()
	save := time.NewTicker(saveBeatsEvery)
	defer save.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			s.saveBeats(context.WithoutCancel(ctx))
			return
		case <-beat.C:
			err = s.beat(ctx, slog.LevelWarn)
		case <-gen.C:
			err = s.readGeneration(ctx)
		case <-save.C:
			s.saveBeats(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.log.DebugContext(ctx, "the generation could not be looked after", slog.Any("error", err))
		}
	}
}

func (s *Service) readGeneration(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	gen, err := s.record.Generation(ctx)
	if err != nil {
		return err
	}
	s.useGeneration(gen)
	return nil
}

func (s *Service) useGeneration(gen int64) {
	// Generations only rise: a slow answer must not bring an old one back.
	for {
		old := s.gen.Load()
		if gen <= old {
			return
		}
		if s.gen.CompareAndSwap(old, gen) {
			s.pulse.SetGeneration(gen)
			return
		}
	}
}

// beat writes the time to every master and raises the generation when one
// shows less than it did before. A loss is logged at the level given: at a start
// it is no alarm.
func (s *Service) beat(ctx context.Context, loss slog.Level) error {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	now := s.now()
	for _, seen := range s.seen {
		now = max(now, seen+1) // a beat rises even when a clock steps back
	}
	// Masters that answered are looked at even when others did not.
	before, beatErr := s.pulse.Beat(ctx, now, s.seen)
	turnedBack := false
	for name, was := range before {
		if was < s.seen[name] {
			turnedBack = true
			s.log.Log(ctx, loss, "hot data was lost or is older than it was: everything is read anew from the record",
				slog.String("master", name), slog.Int64("beat_ms", was), slog.Int64("seen_ms", s.seen[name]))
		}
	}
	if turnedBack {
		gen, err := s.record.RaiseGeneration(ctx, s.gen.Load())
		if err != nil {
			return err // s.seen stays, and so does the beat: the next one tries again
		}
		s.count(EventGenerationRaised)
		s.useGeneration(gen)
		// The loss is dealt with: beat at once, and look at it, so that the next one
		// is seen as well.
		for range 2 {
			maps.Copy(s.seen, before)
			before, beatErr = s.pulse.Beat(ctx, now, s.seen)
		}
	}
	// What was seen counts, not what was written: another process may have been faster.
	maps.Copy(s.seen, before)
	return beatErr
}

func (s *Service) saveBeats(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	if err := s.beats.SaveHeartbeats(ctx, s.seen); err != nil {
		s.log.DebugContext(ctx, "beats could not be saved", slog.Any("error", err))
	}
}
