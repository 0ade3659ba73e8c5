package main

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"feedgate/feed"
	"feedgate/feed/geo"
)

// placed is a post of a bundle that has a place.
type placed struct {
	feed.Position
	geo.Point
}

// readPlaces reads the places of a bundle as anybody would, newest first.
func readPlaces(t *testing.T, path string) []placed {
	t.Helper()
	var all []placed
	eachLine(t, path, func(line []byte) {
		var row struct {
			Type  string    `json:"type"`
			ID    feed.ID   `json:"id,string"`
			At    time.Time `json:"at"`
			Place *struct {
				Lat float64 `json:"lat"`
				Lon float64 `json:"lon"`
			} `json:"place"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		if row.Type == "post" && row.Place != nil {
			all = append(all, placed{feed.Position{At: row.At.UnixMilli(), ID: row.ID}, geo.Point{Latitude: row.Place.Lat, Longitude: row.Place.Lon}})
		}
	})
	slices.SortFunc(all, func(a, b placed) int { return a.Compare(b.Position) })
	return all
}

// near scans all posts for what is near. What is too far north or south, or,
// away from the edges, too far east or west, needs no measuring.
func near(all []placed, at feed.Nearby) []feed.Position {
	var found []feed.Position
	radius := float64(at.Radius)
	for i := range all {
		p := &all[i]
		east := math.Abs(p.Longitude - at.Point.Longitude)
		if math.Abs(p.Latitude-at.Point.Latitude) > radius/111_000 ||
			(math.Abs(p.Latitude) < 50 && east > radius/71_000 && east < 359.9) {
			continue
		}
		if geo.Distance(at.Point, p.Point) <= radius {
			found = append(found, p.Position)
		}
	}
	return found
}

// compareNearby pages through nearby feeds to their ends and compares them with scans.
func compareNearby(t *testing.T, g *gateway, all []placed, asked []feed.Nearby, size int) {
	t.Helper()
	began, posts, pages := time.Now(), 0, 0
	for _, at := range asked {
		var got []feed.Position
		for below := feed.Newest(); ; pages++ {
			page, err := g.service.NearbyFeed(t.Context(), g.service.Reader(0), at, size, below, feed.Want{})
			if err != nil {
				t.Fatalf("near %v below %v: %v", at, below, err)
			}
			for _, item := range page.Items {
				got = append(got, item.Post.Position())
			}
			if !page.HasNext {
				pages++
				break
			}
			if !page.HasEnd || !page.End.Below(below) {
				t.Fatalf("near %v: more is to come, but the page ends at %+v, not below %+v", at, page.End, below)
			}
			below = page.End
		}
		want := near(all, at)
		posts += len(want)
		if !slices.Equal(got, want) {
			t.Errorf("near %v: got %d posts, want %d", at, len(got), len(want))
		}
	}
	t.Logf("%d readers, %d posts on %d pages in %s", len(asked), posts, pages, time.Since(began))
	if posts == 0 {
		t.Error("nothing was near anybody")
	}
}

// randomReaders stand anywhere in the city, and some of them beside a post. Who
// has more around than a walk of the test may take, though more than a cell
// holds, is drawn anew.
func randomReaders(t *testing.T, all []placed, n int) []feed.Nearby {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 500))
	south, west, north, east := 90.0, 180.0, -90.0, -180.0
	for _, p := range all {
		south, north = min(south, p.Latitude), max(north, p.Latitude)
		west, east = min(west, p.Longitude), max(east, p.Longitude)
	}
	asked := make([]feed.Nearby, 0, n)
	for len(asked) < n {
		at := feed.Nearby{Radius: 1 + rnd.IntN(5000), Point: geo.Point{
			Latitude: south + rnd.Float64()*(north-south), Longitude: west + rnd.Float64()*(east-west),
		}}
		if len(asked)%20 == 0 {
			at.Point = all[rnd.IntN(len(all))].Point
		}
		most := 300
		if len(asked)%50 == 0 {
			most = 1_500
		}
		if len(near(all, at)) <= most {
			asked = append(asked, at)
		}
	}
	return asked
}

func TestNewYorkNearbyPagedBy23IsAScanOfTheFile(t *testing.T) {
	t.Parallel()
	path := excerpt(t, sharedBundle(t, "nyc.ndjson.gz"))
	all := readPlaces(t, path)
	set := feed.DefaultSettings()
	set.NearbyCellAge = 0 // the posts are of 2009 and 2010
	g := importedWith(t, path, set)
	n := 500
	if raced {
		n = 40
	}
	asked := randomReaders(t, all, n)
	laguardia := feed.Nearby{Point: geo.Point{Latitude: 40.7769, Longitude: -73.874}, Radius: 1000}
	compareNearby(t, g, all, append(asked, laguardia), 23)
}

func TestEarthquakesAtTheEdgesOfTheMapAreNearby(t *testing.T) {
	t.Parallel()
	path := sharedBundle(t, "quakes.ndjson.gz")
	all := readPlaces(t, path)
	set := feed.DefaultSettings()
	set.NearbyCellAge = 0
	g := importedWith(t, path, set)
	var asked []feed.Nearby
	for _, p := range all {
		if math.Abs(p.Latitude) > 78 || 180-math.Abs(p.Longitude) < 0.5 {
			asked = append(asked, feed.Nearby{Point: p.Point, Radius: 5000})
		}
	}
	if len(asked) < 300 {
		t.Fatalf("only %d earthquakes are at the edges", len(asked))
	}
	slices.SortFunc(asked, func(a, b feed.Nearby) int {
		return cmp.Or(cmp.Compare(a.Point.Latitude, b.Point.Latitude), cmp.Compare(a.Point.Longitude, b.Point.Longitude))
	})
	compareNearby(t, g, all, asked, 23)
}
