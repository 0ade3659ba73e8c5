package bench

import (
	"context"
	"fmt"
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
			trips, err := b.shape(ctx, shape.name, first, firstUser, payload)
			if err != nil {
				return err
			}
			b.report.Trips = append(b.report.Trips, trips)
		}
	}
	if !b.Has(config.BenchNearby) { // else counted there, as the next one
		if err := b.nearbyTrips(ctx); err != nil {
			return err
		}
	}
	if b.Has(config.BenchRecommend) {
		return nil
	}
	return b.recommendTrips(ctx, firstUser)
}

// shape counts the round trips of a query, cold and warm.
func (b *bench) shape(ctx context.Context, name string, first int, reader feed.ID, payload []byte) (Trips, error) {
	trips := Trips{Shape: name, First: first}
	if err := b.chill(ctx); err != nil {
		return trips, err
	}
	var err error
	if trips.ColdRedis, trips.ColdRecord, _, err = b.countAs(ctx, reader, payload); err != nil {
		return trips, err
	}
	// Warm: all that the cold query left to the background is done.
	if err := wait(ctx, heard); err != nil {
		return trips, err
	}
	trips.WarmRedis, trips.WarmRecord, _, err = b.countWarm(ctx, reader, payload)
	return trips, err
}

const (
	warmAlike = 3  // counts alike in a row that make a query warm
	warmMost  = 20 // counts until one gives up waiting for that
)

// countWarm counts like countAs, once the query takes the same each time: until
// then, what it asks for is still being filled in.
func (b *bench) countWarm(ctx context.Context, reader feed.ID, payload []byte) (hot, rec int, answer []byte, err error) {
	alike := 0
	for range warmMost {
		h, r, a, err := b.countAs(ctx, reader, payload)
		if err != nil {
			return 0, 0, nil, err
		}
		alike++
		if h != hot || r != rec {
			alike = 1
		}
		hot, rec, answer = h, r, a
		if alike == warmAlike {
			return hot, rec, answer, nil
		}
	}
	return 0, 0, nil, fmt.Errorf("the round trips of a query do not settle: %d and %d in the end", hot, rec)
}

// countAs runs a query and counts what it awaits. It gives the answer as well.
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
