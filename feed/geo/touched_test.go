package geo_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed/geo"
)

// checkTouched holds Touched(p) against points of the disc and against the
// distances of cells.
func checkTouched(t *testing.T, r *rand.Rand, p geo.Point, samples int) {
	t.Helper()
	touched := geo.Touched(p)
	if !slices.IsSorted(touched) || len(slices.Compact(slices.Clone(touched))) != len(touched) {
		t.Fatalf("Touched(%v) = %v: want it in order, none twice", p, touched)
	}
	if !slices.Contains(touched, geo.CellOf(p)) {
		t.Fatalf("Touched(%v) = %v is without its own cell %s", p, touched, geo.CellOf(p))
	}
	near := slices.Clone(touched)
	for range samples {
		q := within(r, p)
		if d := geo.Distance(p, q); d > geo.MaxRadius {
			t.Fatalf("%v is %v m from %v, want at most 5000", q, d, p)
		}
		if c := geo.CellOf(q); !slices.Contains(touched, c) {
			t.Fatalf("Touched(%v) = %v is without %s, where %v lies", p, touched, c, q)
		}
		if !slices.Contains(geo.Touched(q), geo.CellOf(p)) {
			t.Fatalf("Touched(%v) is without %s, where %v lies", q, geo.CellOf(p), p)
		}
		near = append(near, geo.CellOf(destination(p, r.Float64()*2*math.Pi, geo.MaxRadius+r.Float64()*2000)))
	}
	slices.Sort(near)
	for _, c := range slices.Compact(near) {
		d := boxOf(c).distance(p)
		switch in := slices.Contains(touched, c); {
		case in && d > geo.MaxRadius+slack:
			t.Fatalf("Touched(%v) has %s, which is %v m away", p, c, d)
		case !in && d <= geo.MaxRadius:
			t.Fatalf("Touched(%v) is without %s, which is %v m away", p, c, d)
		}
	}
}

func TestTouchedIsExactAtEdges(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for _, p := range edgePoints() {
		checkTouched(t, r, p, 8)
	}
}

func TestTouchedIsExactAnywhere(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range 1500 {
		checkTouched(t, r, randomPoint(r), 24)
	}
}

func TestTouchedIsExactAtLatitude85(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range 500 {
		checkTouched(t, r, geo.Point{Latitude: 85 + r.NormFloat64()*0.01, Longitude: r.Float64()*360 - 180}, 24)
	}
}

// A cell of which the disc holds no more than a grain is touched.
func TestTouchedAtTheRim(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range 3000 {
		b := boxOf(geo.CellOf(randomPoint(r)))
		// A point on the border of a cell, its southern and western corners
		// among them, and a reader just 5 km away from it.
		on := geo.Point{Latitude: b.south, Longitude: b.west}
		switch r.IntN(3) {
		case 0:
			on.Latitude += r.Float64() * (b.north - b.south)
		case 1:
			on.Longitude += r.Float64() * (b.east - b.west)
		default:
		}
		reader := destination(on, r.Float64()*2*math.Pi, geo.MaxRadius-1e-3)
		if d := geo.Distance(on, reader); d > geo.MaxRadius {
			t.Fatalf("%v is %v m from %v, want at most 5000", on, d, reader)
		}
		if !slices.Contains(geo.Touched(reader), geo.CellOf(on)) || !slices.Contains(geo.Touched(on), geo.CellOf(reader)) {
			t.Fatalf("%v and %v don't see each other", on, reader)
		}
	}
}

// A disc is widest beside a point poleward of its centre. The margin would hide
// it if that were left out, so what counts here is the disc with its margin.
func TestDiscsAreWidestAtTheirTangents(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range 3000 {
		p := randomPoint(r)
		if r.IntN(2) == 0 {
			p.Latitude = math.Copysign(86.9+1.69*r.Float64(), p.Latitude)
		}
		b := boxOf(geo.CellOf(p))
		if b.east-b.west >= 360 {
			continue
		}
		// The nearest point of the cell to a reader at a right angle to its border.
		on := geo.Point{Latitude: b.south + r.Float64()*(b.north-b.south), Longitude: b.west}
		direction := -math.Pi / 2
		if r.IntN(2) == 0 {
			on.Longitude = math.Nextafter(b.east, -180)
			direction = math.Pi / 2
		}
		if reader := destination(on, direction, geo.MaxRadius+0.98); !slices.Contains(geo.Touched(reader), geo.CellOf(on)) {
			t.Fatalf("Touched(%v) = %v is without %s, where %v lies", reader, geo.Touched(reader), geo.CellOf(on), on)
		}
	}
}

func TestWhoIsNearSeesEachOther(t *testing.T) {
	t.Parallel()
	coordinates := rapid.Custom(func(t *rapid.T) geo.Point {
		return geo.Point{
			Latitude:  rapid.OneOf(rapid.Float64Range(-90, 90), rapid.SampledFrom(borders()), rapid.Just(90.0)).Draw(t, "latitude"),
			Longitude: rapid.OneOf(rapid.Float64Range(-180, 180), rapid.SampledFrom([]float64{-180, 0, 180})).Draw(t, "longitude"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a := coordinates.Draw(t, "a")
		b := destination(a, rapid.Float64Range(0, 2*math.Pi).Draw(t, "direction"), rapid.Float64Range(0, geo.MaxRadius).Draw(t, "distance"))
		if geo.Distance(a, b) > geo.MaxRadius { // by rounding, at the rim
			return
		}
		if !slices.Contains(geo.Touched(b), geo.CellOf(a)) || !slices.Contains(geo.Touched(a), geo.CellOf(b)) {
			t.Fatalf("%v (%s) and %v (%s) are %v m apart and don't see each other",
				a, geo.CellOf(a), b, geo.CellOf(b), geo.Distance(a, b))
		}
	})
}

// near tells whether two points see each other by cell and distance, both ways.
func near(t *testing.T, a, b geo.Point) bool {
	t.Helper()
	ab := slices.Contains(geo.Touched(a), geo.CellOf(b)) && geo.Distance(a, b) <= geo.MaxRadius
	ba := slices.Contains(geo.Touched(b), geo.CellOf(a)) && geo.Distance(b, a) <= geo.MaxRadius
	if ab != ba {
		t.Fatalf("%v sees %v: %v, the other way %v", b, a, ab, ba)
	}
	return ab
}

func TestBothSidesOfTheAntimeridianSeeEachOther(t *testing.T) {
	t.Parallel()
	for _, latitude := range []float64{0, -17.8, 52, 63.28125, 71, 85, 87.2, 88.6, 89.9} {
		east, west := geo.Point{Latitude: latitude, Longitude: 179.99}, geo.Point{Latitude: latitude, Longitude: -179.99}
		if !near(t, east, west) {
			t.Errorf("%v and %v don't see each other", east, west)
		}
		one, other := geo.Point{Latitude: latitude, Longitude: 180}, geo.Point{Latitude: latitude, Longitude: -180}
		if geo.CellOf(one) != geo.CellOf(other) || !slices.Equal(geo.Touched(one), geo.Touched(other)) {
			t.Errorf("latitude %v: longitude 180 touches %v, -180 touches %v", latitude, geo.Touched(one), geo.Touched(other))
		}
		touched := geo.Touched(one)
		if len(slices.Compact(slices.Clone(touched))) != len(touched) {
			t.Errorf("Touched(%v) = %v has a cell twice", one, touched)
		}
	}
}

func TestNeighboursAcrossThePole(t *testing.T) {
	t.Parallel()
	for _, side := range []float64{1, -1} {
		at := func(latitude, longitude float64) geo.Point {
			return geo.Point{Latitude: side * latitude, Longitude: longitude}
		}
		if a, b := at(89.98, 10), at(89.98, -170); !near(t, a, b) {
			t.Errorf("%v and %v, 4.4 km apart over the pole, don't see each other", a, b)
		}
		if a, b := at(89.9, 0), at(89.9, 20); !near(t, a, b) {
			t.Errorf("%v and %v, 3.9 km apart, don't see each other", a, b)
		}
		if a, b := at(89.9, 0), at(89.9, 180); near(t, a, b) {
			t.Errorf("%v and %v, 22 km apart, see each other", a, b)
		}
		for _, c := range geo.Touched(at(89.9, 77)) {
			if south, _, north, _ := c.Box(); side*south < 0 || side*north < 0 {
				t.Errorf("latitude %v touches %s, latitudes %v to %v", side*89.9, c, south, north)
			}
		}
	}
	if near(t, geo.Point{Latitude: 89.9, Longitude: 3}, geo.Point{Latitude: -89.9, Longitude: 3}) {
		t.Error("the poles see each other")
	}
}

func TestPolesHaveAllLongitudes(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range 500 {
		for _, latitude := range []float64{90, -90} {
			reader := geo.Point{Latitude: latitude, Longitude: r.Float64()*360 - 180}
			post := destination(geo.Point{Latitude: latitude}, r.Float64()*2*math.Pi, r.Float64()*4999.999)
			if !near(t, reader, post) {
				t.Fatalf("%v and %v, %v m apart, don't see each other", reader, post, geo.Distance(reader, post))
			}
		}
	}
}

// Discs are wider than cells, so that to look into the cells beside is not enough.
func TestPointsInCellsThatAreNoNeighboursSeeEachOther(t *testing.T) {
	t.Parallel()
	for _, latitude := range []float64{60, 63.2, -63.2, 86.9, 87.15, -87.15} {
		a := geo.Point{Latitude: latitude, Longitude: 10.001}
		for turn := range 64 {
			b := destination(a, float64(turn)*math.Pi/32, 4990)
			if !near(t, a, b) {
				t.Errorf("%v and %v, %v m apart, don't see each other", a, b, geo.Distance(a, b))
			}
		}
		own := boxOf(geo.CellOf(a))
		width, between := own.east-own.west, 0.0
		for _, c := range geo.Touched(a) {
			between = max(between, boxOf(c).west-own.east)
		}
		if between < width*(1-1e-9) {
			t.Errorf("latitude %v: want a touched cell with a whole cell between, got %v of %v degrees", latitude, between, width)
		}
	}
	// 600 m apart with cells between, were cells as small as a street: what is
	// asked for is the distance, whatever the cells.
	for _, latitude := range []float64{0, 52.5, 60.17, 69.6, 85, 87.2, 88.5931, 89.9, 89.9973} {
		a := geo.Point{Latitude: latitude, Longitude: 24.94}
		for turn := range 64 {
			if b := destination(a, float64(turn)*math.Pi/32, 600); !near(t, a, b) {
				t.Errorf("%v and %v, 600 m apart, don't see each other", a, b)
			}
		}
	}
}

func TestWhatIsNotValidTouchesNothing(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for _, p := range []geo.Point{
		{Latitude: nan},
		{Longitude: nan},
		{Latitude: inf},
		{Latitude: -inf},
		{Longitude: inf},
		{Latitude: math.Nextafter(90, 91)},
		{Latitude: -90.1},
		{Longitude: math.Nextafter(180, 181)},
		{Longitude: -180.1},
	} {
		if c := geo.CellOf(p); c != "" {
			t.Errorf("CellOf(%v) = %q, want none", p, c)
		}
		if cells := geo.Touched(p); cells != nil {
			t.Errorf("Touched(%v) = %v, want none", p, cells)
		}
		if c := geo.Centre(p, 6); !math.IsNaN(c.Latitude) || !math.IsNaN(c.Longitude) {
			t.Errorf("Centre(%v, 6) = %v, want NaN", p, c)
		}
	}
}
