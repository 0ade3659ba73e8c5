package geo_test

import (
	"math"
	"slices"
	"testing"

	"github.com/mmcloughlin/geohash"

	"feedgate/feed/geo"
)

// Rows join from pole to pole and the cells of a row all around, and what is at
// a border lies in one of the two: so each point has one cell.
func TestCellsJoinWithoutGapOrOverlap(t *testing.T) {
	t.Parallel()
	rows := 0
	for south := -90.0; south < 90; rows++ {
		first := geo.CellOf(geo.Point{Latitude: south, Longitude: -180})
		row := boxOf(first)
		if row.south != south || row.west != -180 || row.north <= south {
			t.Fatalf("the row that begins at latitude %v has the box %v", south, row)
		}
		if below := math.Nextafter(row.north, -90); geo.CellOf(geo.Point{Latitude: below, Longitude: -180}) != first {
			t.Fatalf("latitude %v, just below the border of %s, is in another cell", below, first)
		}
		if rows%64 == 0 || row.north-row.south > 1 || bandBegins(row) {
			checkRow(t, row)
		}
		south = row.north
	}
	// 2*1440 of geohash-5, 2*136 of geohash-4, 2 of geohash-3, 2 caps.
	if want := 2880 + 272 + 2 + 2; rows != want {
		t.Errorf("%d rows, want %d", rows, want)
	}
}

func bandBegins(row box) bool {
	for _, border := range borders() {
		if slices.Contains([]float64{border, -border}, row.south) || slices.Contains([]float64{border, -border}, row.north) {
			return true
		}
	}
	return false
}

// checkRow walks a row to the east.
func checkRow(t *testing.T, row box) {
	t.Helper()
	seen := make(map[geo.Cell]bool)
	for west := -180.0; west < 180; {
		c := geo.CellOf(geo.Point{Latitude: row.south, Longitude: west})
		b := boxOf(c)
		if b.west != west || b.south != row.south || b.north != row.north || b.east <= west || seen[c] {
			t.Fatalf("the cell that begins at longitude %v of the row %v is %s with the box %v", west, row, c, b)
		}
		corner := geo.Point{Latitude: math.Nextafter(b.north, -90), Longitude: math.Nextafter(b.east, -180)}
		if got := geo.CellOf(corner); got != c {
			t.Fatalf("%v, the last corner of %s, is in %s", corner, c, got)
		}
		seen[c] = true
		west = b.east
	}
}

func TestEachPointLiesInOneCell(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	points := edgePoints()
	for range 3000 {
		points = append(points, randomPoint(r))
	}
	for _, p := range points {
		own := geo.CellOf(p)
		if !boxOf(own).owns(p) {
			t.Fatalf("CellOf(%v) = %s, whose box is %v", p, own, boxOf(own))
		}
		if math.Abs(p.Latitude) > 88.59 && r.IntN(50) > 0 {
			continue // many cells around a cap
		}
		for _, c := range geo.Around(own) {
			if c != own && boxOf(c).owns(p) {
				t.Fatalf("%v lies in %s and in %s", p, own, c)
			}
		}
	}
}

func TestCellsAreGeohashes(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range 5000 {
		p := geo.Point{Latitude: r.Float64()*177 - 88.5, Longitude: r.Float64()*360 - 180}
		c := geo.CellOf(p)
		if want := geohash.EncodeWithPrecision(p.Latitude, p.Longitude, uint(len(c))); string(c) != want {
			t.Fatalf("CellOf(%v) = %s, geohash has %s", p, c, want)
		}
	}
	for _, one := range []struct {
		p    geo.Point
		want geo.Cell
	}{
		{geo.Point{Latitude: 42.6, Longitude: -5.6}, "ezs42"},
		{geo.Point{}, "s0000"},
		{geo.Point{Latitude: math.Copysign(0, -1), Longitude: math.Copysign(0, -1)}, "s0000"},
		{geo.Point{Latitude: -1e-300, Longitude: -1e-300}, "7zzzz"},
		{geo.Point{Latitude: 63.28125}, "u520"},
		{geo.Point{Latitude: -63.28125, Longitude: 180}, geo.CellOf(geo.Point{Latitude: -63.28125, Longitude: -180})},
		{geo.Point{Latitude: 90, Longitude: -33}, "upb"},
		{geo.Point{Latitude: 88.59375, Longitude: 33}, "upb"},
		{geo.Point{Latitude: -90, Longitude: -33}, "h00"},
		{geo.Point{Latitude: -88.6, Longitude: 33}, "h00"},
	} {
		if got := geo.CellOf(one.p); got != one.want {
			t.Errorf("CellOf(%v) = %s, want %s", one.p, got, one.want)
		}
	}
}

func TestCapsHaveAllLongitudes(t *testing.T) {
	t.Parallel()
	for c, want := range map[geo.Cell]box{"upb": {88.59375, -180, 90, 180}, "h00": {-90, -180, -88.59375, 180}} {
		if got := boxOf(c); got != want {
			t.Errorf("%s.Box() = %v, want %v", c, got, want)
		}
		// What a cap is called is the geohash of a part of it.
		if part := geohash.BoundingBox(string(c)); part.MinLng != 0 || part.MinLat != want.south || part.MaxLat != want.north {
			t.Errorf("geohash %s has the box %v", c, part)
		}
	}
}

func TestBoxOfNoGeohash(t *testing.T) {
	t.Parallel()
	for _, c := range []geo.Cell{"", "a", "EZS42", "ezs42ezs42ezs42"} {
		if b := boxOf(c); !math.IsNaN(b.south) || !math.IsNaN(b.west) || !math.IsNaN(b.north) || !math.IsNaN(b.east) {
			t.Errorf("Cell(%q).Box() = %v, want NaN", c, b)
		}
	}
}

// Posts that touch a cell lie around it, and nothing far away is looked at.
func TestAroundHoldsWhatTouches(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	points := edgePoints()
	for range 1500 {
		points = append(points, randomPoint(r))
	}
	known := make(map[geo.Cell][]geo.Cell)
	around := func(c geo.Cell) []geo.Cell {
		if known[c] == nil {
			known[c] = geo.Around(c)
		}
		return known[c]
	}
	for _, p := range points {
		own := geo.CellOf(p)
		for _, c := range geo.Touched(p) {
			if !slices.Contains(around(c), own) {
				t.Fatalf("Around(%s) is without %s, where %v lies, which touches it", c, own, p)
			}
			if !slices.Contains(around(own), c) {
				t.Fatalf("Around(%s) is without %s", own, c)
			}
		}
		// The same from the cell's side: within reach of any point of it.
		b := boxOf(own)
		for range 8 {
			in := geo.Point{Latitude: b.south + r.Float64()*(b.north-b.south), Longitude: b.west + r.Float64()*(b.east-b.west)}
			switch r.IntN(4) {
			case 0:
				in.Latitude = math.Nextafter(b.north, -90)
			case 1:
				in.Longitude = math.Nextafter(b.east, -180)
			case 2:
				in = geo.Point{Latitude: b.south, Longitude: b.west}
			default:
			}
			if q := within(r, in); !slices.Contains(around(own), geo.CellOf(q)) {
				t.Fatalf("Around(%s) is without %s, where %v lies, near %v", own, geo.CellOf(q), q, in)
			}
		}
	}
	for c, cells := range known {
		if !slices.IsSorted(cells) || len(slices.Compact(slices.Clone(cells))) != len(cells) || !slices.Contains(cells, c) {
			t.Fatalf("Around(%s) = %v: want itself among them, in order, none twice", c, cells)
		}
	}
}

func TestAroundHoldsNothingFar(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	cells := []geo.Cell{"upb", "h00"}
	for range 60 {
		cells = append(cells, geo.CellOf(randomPoint(r)))
	}
	for _, border := range borders() {
		for _, y := range []float64{border, math.Nextafter(border, 0), -border, math.Nextafter(-border, -90)} {
			cells = append(cells, geo.CellOf(geo.Point{Latitude: y, Longitude: 180}))
		}
	}
	slices.Sort(cells)
	for _, c := range slices.Compact(cells) {
		for _, a := range geo.Around(c) {
			if d := apart(boxOf(a), boxOf(c)); d > geo.MaxRadius+slack {
				t.Errorf("Around(%s) has %s, which is %v m away", c, a, d)
			}
		}
	}
}

// apart is the least distance of two cells in metres, or a greater one that is
// small enough for both to be around each other: from points of the borders of
// each, with a search beside the best of them.
func apart(a, b box) float64 {
	if a.east-a.west >= 360 || b.east-b.west >= 360 {
		return max(0, a.south-b.north, b.south-a.north) * deg * geo.EarthRadius
	}
	if d := fromEdges(a, b); d <= geo.MaxRadius+slack {
		return d
	}
	return fromEdges(b, a)
}

func fromEdges(a, b box) float64 {
	best := math.Inf(1)
	for _, at := range []func(float64) geo.Point{
		func(x float64) geo.Point {
			return geo.Point{Latitude: a.south + x*(a.north-a.south), Longitude: a.west}
		},
		func(x float64) geo.Point {
			return geo.Point{Latitude: a.south + x*(a.north-a.south), Longitude: a.east}
		},
		func(x float64) geo.Point { return geo.Point{Latitude: a.south, Longitude: a.west + x*(a.east-a.west)} },
		func(x float64) geo.Point { return geo.Point{Latitude: a.north, Longitude: a.west + x*(a.east-a.west)} },
	} {
		const steps = 8
		x, step := 0.0, 1.0/steps
		for n := range steps + 1 {
			d := b.distance(at(float64(n) * step))
			if d < best {
				best, x = d, float64(n)*step
			}
			if best <= geo.MaxRadius+slack {
				return best
			}
		}
		for range 12 {
			step /= 2
			for _, y := range []float64{x - step, x + step} {
				if y >= 0 && y <= 1 {
					if d := b.distance(at(y)); d < best {
						best, x = d, y
					}
				}
			}
		}
	}
	return best
}

func TestAroundOfNoCell(t *testing.T) {
	t.Parallel()
	for _, c := range []geo.Cell{"", "a", "e", "ezs4", "ezs42u", "upbp", "up", "u5200"} {
		if cells := geo.Around(c); cells != nil {
			t.Errorf("Around(%q) = %v, want none", c, cells)
		}
	}
}

// The bound that the bands are for, and what a post costs by latitude.
func TestCellsTouchedByLatitude(t *testing.T) {
	t.Parallel()
	const bound = 16
	r := seeded(t)
	count := func(latitude float64, times int) (mean float64, most int) {
		sum := 0
		for range times {
			p := geo.Point{Latitude: latitude, Longitude: r.Float64()*360 - 180}
			if latitude != 90 && r.IntN(2) == 0 {
				p.Latitude = -p.Latitude
			}
			n := len(geo.Touched(p))
			sum, most = sum+n, max(most, n)
		}
		return float64(sum) / float64(times), most
	}
	t.Log("latitude, mean and most cells of points within 0.05 degrees; most cells around one")
	for _, latitude := range []float64{0, 10, 20, 30, 40, 50, 60, 63, 64, 70, 80, 85, 87, 88, 89, 89.9, 90} {
		sum, most := 0.0, 0
		for range 500 {
			mean, high := count(min(90, latitude+(r.Float64()-0.5)*0.1), 8)
			sum, most = sum+mean, max(most, high)
		}
		t.Logf("%5.1f %5.1f %3d %4d", latitude, sum/500, most, len(geo.Around(geo.CellOf(geo.Point{Latitude: latitude}))))
	}
	for latitude := 0.0; latitude < 90; latitude += 0.004 {
		if _, most := count(latitude+r.Float64()*0.004, 4); most > bound {
			t.Errorf("%d cells at latitude %v, want at most %d", most, latitude, bound)
		}
	}
	for _, border := range borders() {
		for range 20000 {
			latitude := border + (r.Float64()-0.6)*0.3
			if _, most := count(latitude, 1); most > bound {
				t.Errorf("%d cells at latitude %v, want at most %d", most, latitude, bound)
			}
		}
	}
}

func TestCentreIsThatOfTheGeohashCell(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range 5000 {
		p, precision := geo.Point{Latitude: r.Float64()*180 - 90, Longitude: r.Float64()*360 - 180}, 1+r.IntN(8)
		lat, lon := geohash.DecodeCenter(geohash.EncodeWithPrecision(p.Latitude, p.Longitude, uint(precision)))
		if got, want := geo.Centre(p, precision), (geo.Point{Latitude: lat, Longitude: lon}); got != want {
			t.Fatalf("Centre(%v, %d) = %v, want %v", p, precision, got, want)
		}
	}
	for _, one := range []struct {
		p         geo.Point
		precision int
		want      geo.Point
	}{
		{geo.Point{Latitude: 90, Longitude: 180}, 1, geo.Point{Latitude: 67.5, Longitude: -157.5}},
		{geo.Point{Latitude: -90, Longitude: -180}, 1, geo.Point{Latitude: -67.5, Longitude: -157.5}},
		{geo.Point{Latitude: -5e-324, Longitude: -5e-324}, 1, geo.Point{Latitude: -22.5, Longitude: -22.5}},
		{geo.Point{Latitude: 90, Longitude: 0}, 0, geo.Point{Latitude: 67.5, Longitude: 22.5}},
		{geo.Point{Latitude: 10, Longitude: 10}, 13, geo.Centre(geo.Point{Latitude: 10, Longitude: 10}, 12)},
	} {
		if got := geo.Centre(one.p, one.precision); got != one.want {
			t.Errorf("Centre(%v, %d) = %v, want %v", one.p, one.precision, got, one.want)
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	half := math.Pi * geo.EarthRadius
	for _, one := range []struct {
		a, b geo.Point
		want float64
	}{
		{geo.Point{}, geo.Point{}, 0},
		{geo.Point{}, geo.Point{Longitude: 180}, half},
		{geo.Point{Latitude: 90, Longitude: 12}, geo.Point{Latitude: -90, Longitude: -50}, half},
		{geo.Point{Latitude: 90, Longitude: 12}, geo.Point{Latitude: 90, Longitude: -150}, 0},
		{geo.Point{Latitude: 45, Longitude: 180}, geo.Point{Latitude: 45, Longitude: -180}, 0},
		{geo.Point{Latitude: 89.9}, geo.Point{Latitude: 89.9, Longitude: 180}, half / 900},
		{geo.Point{Longitude: 179.99}, geo.Point{Longitude: -179.99}, half / 9000},
	} {
		if got := geo.Distance(one.a, one.b); math.Abs(got-one.want) > 1e-6 {
			t.Errorf("Distance(%v, %v) = %v, want %v", one.a, one.b, got, one.want)
		}
	}
	for range 5000 {
		a, way := randomPoint(r), r.Float64()*20000
		b := destination(a, r.Float64()*2*math.Pi, way)
		if got := geo.Distance(a, b); math.Abs(got-way) > 1e-6 || got != geo.Distance(b, a) {
			t.Fatalf("Distance(%v, %v) = %v and back %v, want %v", a, b, got, geo.Distance(b, a), way)
		}
	}
	if d := geo.Distance(geo.Point{Latitude: math.NaN()}, geo.Point{}); !math.IsNaN(d) {
		t.Errorf("the distance from nowhere is %v, want NaN", d)
	}
}
