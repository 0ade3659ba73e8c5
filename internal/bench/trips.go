package bench

import (
	"context"
	"time"

	"feedgate/feed"
	"feedgate/internal/config"
)

// heard is how long a gateway may take to hear of a new generation.
const heard = 1500 * time.Millisecond

// measureTrips counts the round trips of query shapes, warm and cold.
func (b *bench) measureTrips(ctx context.Context) error {
	// Leases that earlier requests left behind would keep details from being filled in.
	if err := wait(ctx, feed.LeaseTTL*time.Millisecond); err != nil {
		return err
	}
	for _, shape := range []struct{ name, query string }{{"simple", simpleQuery}, {"full", fullQuery}} {
		for _, first := range []int{20, 100} {
			payload, err := body(shape.query, map[string]any{"first": first})
			if err != nil {
				return err
			}
			trips := Trips{Shape: shape.name, First: first}
			if err := b.chill(ctx); err != nil {
				return err
			}
			if trips.ColdRedis, trips.ColdRecord, err = b.count(ctx, payload); err != nil {
				return err
			}
			// Warm: all that the cold query left to the background is done.
			if err := wait(ctx, heard); err != nil {
				return err
			}
			if _, _, err = b.count(ctx, payload); err != nil {
				return err
			}
			if trips.WarmRedis, trips.WarmRecord, err = b.count(ctx, payload); err != nil {
				return err
			}
			b.report.Trips = append(b.report.Trips, trips)
		}
	}
	if b.Has(config.BenchRecommend) {
		return nil // counted there
	}
	return b.recommendTrips(ctx, firstUser)
}

// count runs a query as the first reader and counts what it awaits.
func (b *bench) count(ctx context.Context, payload []byte) (hot, rec int, err error) {
	hot, rec, _, err = b.countAs(ctx, firstUser, payload)
	return hot, rec, err
}

// countAs does so as any reader, and gives the answer as well.
func (b *bench) countAs(ctx context.Context, reader feed.ID, payload []byte) (hot, rec int, answer []byte, err error) {
	b.tap.record.Store(0)
	s, answer, err := b.record(ctx, reader, payload)
	if err != nil {
		return 0, 0, nil, err
	}
	return len(s.Trips), int(b.tap.record.Load()), answer, nil
}

// chill makes everything hot count as missing.
func (b *bench) chill(ctx context.Context) error {
	gen, err := b.gateway.Generation.Generation(ctx)
	if err != nil {
		return err
	}
	if _, err := b.gateway.Generation.RaiseGeneration(ctx, gen); err != nil {
		return err
	}
	return wait(ctx, heard)
}
