package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"feedgate/feed"
	"feedgate/feed/geo"
	"feedgate/internal/config"
	"feedgate/internal/importer"
)

// Ids of the part nearby.
const (
	firstCitizen feed.ID = 400_000_000
	firstSight   feed.ID = 410_000_000
)

// The city is about as dense as what people told of New York in the bundle that
// -nyc is for: an airport where one post of 80 comes from one spot, a centre with
// two thirds of all posts within five kilometres, and a wide rim.
const (
	citizens     = 2000
	venues       = 20_000
	cityLat      = 48.0
	cityLon      = 11.0
	centreShare  = 0.6  // of the venues are in the centre
	centreWidth  = 0.02 // degrees of latitude: the standard deviation
	rimWidth     = 0.12
	airportEast  = 0.16 // degrees of longitude from the centre
	airportShare = 80   // one post of so many is at the airport
	favourites   = 2.0  // the higher, the more posts the popular venues have
	cityForTrips = 5000 // posts, when only round trips are counted
)

// sight is a post of the part nearby.
type sight struct {
	feed.Position
	geo.Point
}

// sights keeps where the posts are that go into a record, and who wrote them.
type sights struct {
	importer.Record
	of      []sight
	authors []feed.ID // the first few
}

// ImportPosts implements [feed.ImportRecord].
func (s *sights) ImportPosts(ctx context.Context, rows []feed.Post) ([]feed.Outcome, error) {
	for i := range rows {
		p := &rows[i]
		if at, ok := p.Point(); ok {
			s.of = append(s.of, sight{p.Position(), at})
			if len(s.authors) < viewpoints && !slices.Contains(s.authors, p.Author) {
				s.authors = append(s.authors, p.Author)
			}
		}
	}
	return s.Record.ImportPosts(ctx, rows)
}

// sightsee makes or imports posts with places.
func (b *bench) sightsee(ctx context.Context) error {
	b.sights = &sights{Record: b.gateway.Record}
	if b.NYC != "" {
		b.say("importing %s", b.NYC)
		return importer.Run(ctx, importer.Config{Record: b.sights, Clock: b.Clock}, importer.Job{
			Files: []string{b.NYC}, Out: b.Notes, Strict: true, Generation: b.gateway.Generation, Settle: heard,
		})
	}
	n := b.Sights
	if !b.Has(config.BenchNearby) {
		n = min(n, cityForTrips)
	}
	b.say("making a city with %d posts", n)
	w := &world{now: b.Clock.Now(), conf: b.Bench, rand: rand.New(rand.NewPCG(5, 6))} //nolint:gosec // repeatable, not secret
	for i := range citizens {
		w.users = append(w.users, w.user(firstCitizen+feed.ID(i), "citizen"))
	}
	at := make([]geo.Point, venues)
	for i := range at {
		width := rimWidth
		if w.rand.Float64() < centreShare {
			width = centreWidth
		}
		at[i] = geo.Point{
			Latitude:  cityLat + w.rand.NormFloat64()*width,
			Longitude: cityLon + w.rand.NormFloat64()*width/math.Cos(cityLat*math.Pi/180),
		}
	}
	airport := geo.Point{Latitude: cityLat, Longitude: cityLon + airportEast}
	for i := range n {
		place := at[int(math.Pow(w.rand.Float64(), favourites)*venues)]
		if w.rand.IntN(airportShare) == 0 {
			place = airport
		}
		w.posts = append(w.posts, feed.Post{
			ID: firstSight + feed.ID(i), Author: firstCitizen + feed.ID(w.rand.IntN(citizens)), Kind: feed.KindOriginal, Text: w.text(),
			At:    w.now.UnixMilli() - span.Milliseconds()*int64(n-i)/int64(n),
			Place: &feed.Place{Latitude: place.Latitude, Longitude: place.Longitude, Precision: feed.PrecisionExact},
		})
	}
	return firstError(
		func() error { return put(ctx, w.users, b.sights.ImportUsers) },
		func() error { return put(ctx, w.posts, b.sights.ImportPosts) },
		func() error { return b.sights.RecountAll(ctx, func(int64, int64) {}) },
	)
}

// within counts the posts within the radius of a point.
func (s *sights) within(at geo.Point) int {
	n := 0
	for i := range s.of {
		p := &s.of[i]
		if math.Abs(p.Latitude-at.Latitude) < 0.05 && geo.Distance(at, p.Point) <= geo.MaxRadius {
			n++
		}
	}
	return n
}

// quietGrid is into how many rows and columns a map is cut to find a quiet place.
const quietGrid = 30

// places are those to read at: the spot with the most posts, the popular spot
// with the most posts around it, and a place with few posts around it.
func (s *sights) places(first int) ([]*NearbyPlace, error) {
	if len(s.of) == 0 {
		return nil, errors.New("no post has a place")
	}
	at := make(map[geo.Point]int)
	south, west, north, east := 90.0, 180.0, -90.0, -180.0
	for i := range s.of {
		p := s.of[i].Point
		at[p]++
		south, north = min(south, p.Latitude), max(north, p.Latitude)
		west, east = min(west, p.Longitude), max(east, p.Longitude)
	}
	spots := make([]geo.Point, 0, len(at))
	for p := range at {
		spots = append(spots, p)
	}
	slices.SortFunc(spots, func(a, b geo.Point) int {
		return cmp.Or(at[b]-at[a], cmp.Compare(a.Latitude, b.Latitude), cmp.Compare(a.Longitude, b.Longitude))
	})
	place := func(name string, p geo.Point) *NearbyPlace {
		return &NearbyPlace{Name: name, Latitude: p.Latitude, Longitude: p.Longitude, Spot: at[p], Within: s.within(p), Around: len(geo.Touched(p))}
	}
	busiest, centre := place("busiest spot", spots[0]), place("centre", spots[0])
	for _, p := range spots[:min(10, len(spots))] {
		if other := place("centre", p); other.Within > centre.Within {
			centre = other
		}
	}
	var quiet *NearbyPlace
	for i := range quietGrid * quietGrid {
		p := geo.Point{
			Latitude:  south + (north-south)*float64(i/quietGrid)/quietGrid,
			Longitude: west + (east-west)*float64(i%quietGrid)/quietGrid,
		}
		if other := place("quiet place", p); other.Within > 0 && other.Within <= first/2 && (quiet == nil || other.Within > quiet.Within) {
			quiet = other
		}
	}
	if quiet == nil {
		return nil, fmt.Errorf("there is no place with at most %d posts around it", first/2)
	}
	return []*NearbyPlace{busiest, centre, quiet}, nil
}
