package feed_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
	"feedgate/feed/geo"
)

// Whoever asks from many points with many radii learns no more of a place than
// what was published: two posts whose published positions are the same can't be
// told apart by any answer, though they were written far from each other.
func TestNothingMorePreciseThanWhatWasPublishedIsFound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	ann, ben := w.person("ann"), w.person("ben")
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 1))
	for _, c := range []struct {
		precision feed.Precision
		chars     int
	}{{feed.PrecisionNeighbourhood, 6}, {feed.PrecisionCity, 4}, {feed.PrecisionHidden, 4}} {
		// Two places in opposite corners of one geohash cell.
		centre := geo.Centre(geo.Point{Latitude: 40.7 + rnd.Float64(), Longitude: -74 + rnd.Float64()}, c.chars)
		high, wide := 180/float64(int(1)<<(5*c.chars/2)), 360/float64(int(1)<<(5*c.chars-5*c.chars/2))
		one := w.at(ann, centre.Latitude+0.45*high, centre.Longitude+0.45*wide, c.precision)
		two := w.at(ann, centre.Latitude-0.45*high, centre.Longitude-0.45*wide, c.precision)
		truth := []geo.Point{{Latitude: one.Place.Latitude, Longitude: one.Place.Longitude}, {Latitude: two.Place.Latitude, Longitude: two.Place.Longitude}}
		if d := geo.Distance(truth[0], truth[1]); d < 900 {
			t.Fatalf("only %v m apart: this shows nothing", d)
		}
		shown := 0
		for range 150 {
			from := []geo.Point{centre, truth[0], truth[1]}[rnd.IntN(3)]
			spread := []float64{0, 0.001, 0.02, 0.06}[rnd.IntN(4)]
			from.Latitude += (rnd.Float64() - 0.5) * spread
			from.Longitude += (rnd.Float64() - 0.5) * spread
			at := feed.Nearby{Point: from, Radius: 1 + rnd.IntN(5000)}
			for _, reader := range []feed.ID{0, ben, ann} {
				page, err := w.svc.NearbyFeed(ctx, w.reader(reader), at, 100, feed.Newest(), feed.Want{})
				if err != nil {
					t.Fatal(err)
				}
				seen := map[feed.ID]string{}
				for _, it := range page.Items {
					metres, ok := it.Post.DistanceTo(from)
					if metres%feed.DistanceStep != 0 || metres > 5000 || !ok {
						t.Fatalf("distance %d", metres)
					}
					seen[it.Post.ID] = fmt.Sprint(metres, " away")
					if reader != ann {
						place, ok := w.svc.PublicPlace(w.reader(reader), it.Post)
						seen[it.Post.ID] = fmt.Sprint(metres, place, ok)
					}
				}
				if seen[one.ID] != seen[two.ID] {
					t.Fatalf("seed %d, %s for %d near %v: the two are told apart: %q and %q", seed, c.precision, reader, at, seen[one.ID], seen[two.ID])
				}
				if seen[one.ID] != "" {
					shown++
				}
			}
		}
		if hidden := c.precision == feed.PrecisionHidden; hidden != (shown == 0) {
			t.Errorf("%s was shown %d times", c.precision, shown)
		}
		// The index itself holds nothing that tells more.
		for _, key := range cellKeys(t, w.url) {
			withRedis(t, w.url, func(ctx context.Context, r *goredis.Client) error {
				members, err := r.ZRange(ctx, key, 0, -1).Result()
				for _, m := range members {
					for _, p := range truth {
						exact := binary.BigEndian.AppendUint64(nil, math.Float64bits(p.Latitude))
						if bytes.Contains([]byte(m), exact) {
							t.Errorf("%s holds the exact latitude of a post that is %s", key, c.precision)
						}
					}
				}
				return err
			})
		}
	}
}
