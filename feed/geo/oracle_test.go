package geo_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"feedgate/feed/geo"
)

// What the tests measure with: vectors and search, where the package has
// formulas of its own.

const (
	deg   = math.Pi / 180
	slack = 1.01 // metres by which a touched cell may be too far: the margin, and roundings
)

type vector [3]float64

func vectorOf(p geo.Point) vector {
	sinLat, cosLat := math.Sincos(p.Latitude * deg)
	sinLon, cosLon := math.Sincos(p.Longitude * deg)
	return vector{cosLat * cosLon, cosLat * sinLon, sinLat}
}

// metres is the distance by the chord through the sphere.
func metres(a, b vector) float64 {
	chord := math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
	return 2 * geo.EarthRadius * math.Asin(min(chord/2, 1))
}

// destination is the point that one reaches from p in a direction (radians from
// north) after a distance in metres.
func destination(p geo.Point, direction, distance float64) geo.Point {
	sinLat, cosLat := math.Sincos(p.Latitude * deg)
	sinWay, cosWay := math.Sincos(distance / geo.EarthRadius)
	sinDir, cosDir := math.Sincos(direction)
	// Along the vectors to p, to its north and to its east.
	up := cosWay*cosLat - sinWay*cosDir*sinLat
	east := sinWay * sinDir
	z := cosWay*sinLat + sinWay*cosDir*cosLat
	longitude := p.Longitude + math.Atan2(east, up)/deg
	return geo.Point{Latitude: math.Atan2(z, math.Hypot(up, east)) / deg, Longitude: turn(longitude)}
}

// turn brings a longitude into -180 to 180, 180 excluded.
func turn(longitude float64) float64 {
	for longitude >= 180 {
		longitude -= 360
	}
	for longitude < -180 {
		longitude += 360
	}
	return longitude
}

// within is a point at most MaxRadius away from p: everywhere in the disc, often at its rim.
func within(r *rand.Rand, p geo.Point) geo.Point {
	distance := geo.MaxRadius * (1 - 1e-9)
	if r.IntN(3) == 0 {
		distance *= math.Sqrt(r.Float64())
	}
	direction := r.Float64() * 2 * math.Pi
	if r.IntN(8) == 0 {
		direction = float64(r.IntN(4)) * math.Pi / 2
	}
	return destination(p, direction, distance)
}

type box struct{ south, west, north, east float64 }

func boxOf(c geo.Cell) box {
	var b box
	b.south, b.west, b.north, b.east = c.Box()
	return b
}

// owns reports whether p lies in b by the half-open rule.
func (b box) owns(p geo.Point) bool {
	longitude := turn(p.Longitude)
	return b.south <= p.Latitude && (p.Latitude < b.north || p.Latitude == 90 && b.north == 90) &&
		b.west <= longitude && longitude < b.east
}

// distance is how far p is from b in metres. What is nearest lies on p's own
// meridian, or on one of the meridians that bound b, where it is searched.
func (b box) distance(p geo.Point) float64 {
	v := vectorOf(p)
	best := math.Inf(1)
	if b.east-b.west >= 360 || turn(p.Longitude-b.west) >= 0 && turn(p.Longitude-b.west) <= b.east-b.west {
		y := min(max(p.Latitude, b.south), b.north)
		best = math.Abs(y-p.Latitude) * deg * geo.EarthRadius
	}
	for _, x := range []float64{b.west, b.east} {
		low, high := b.south, b.north
		at := func(y float64) float64 { return metres(v, vectorOf(geo.Point{Latitude: y, Longitude: x})) }
		for range 40 {
			left, right := low+(high-low)/3, high-(high-low)/3
			if at(left) < at(right) {
				high = right
			} else {
				low = left
			}
		}
		best = min(best, at(low), at(b.south), at(b.north))
	}
	return best
}

// seeded is a source of random numbers that a failure can be repeated with.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// borders are the latitudes at which bands meet.
func borders() []float64 { return []float64{63.28125, 87.1875, 88.59375} }

// edgePoints are points where the sphere or the grid is special: poles, the
// antimeridian, the equator, borders of bands, corners of cells, and the
// nearest neighbours of all these in floating point and in metres.
func edgePoints() []geo.Point {
	latitudes := []float64{0, 45, 60, 84.375, 85, 85.0511, 88, 89, 89.9, 89.95, 89.955, 89.9999, 90}
	for _, border := range borders() {
		latitudes = append(latitudes, border, border-0.17578125, border-180.0/4096, border+180.0/1024)
	}
	for _, y := range latitudes {
		for _, d := range []float64{1e-9, 5000 / geo.EarthRadius / deg} {
			latitudes = append(latitudes, y-d, min(y+d, 90))
		}
		latitudes = append(latitudes, math.Nextafter(y, 0), math.Nextafter(y, 90))
	}
	longitudes := []float64{
		0, math.Copysign(0, -1), 1e-12, -1e-12, 5, 22.5, 45, 90, -90, 135,
		180, -180, 179.99, -179.99, math.Nextafter(180, 0), math.Nextafter(-180, 0),
	}
	points := make([]geo.Point, 0, 2*len(latitudes)*len(longitudes))
	for _, y := range latitudes {
		for _, x := range longitudes {
			points = append(points, geo.Point{Latitude: y, Longitude: x}, geo.Point{Latitude: -y, Longitude: x})
		}
	}
	return points
}

// randomPoint prefers high latitudes, borders and corners to the rest.
func randomPoint(r *rand.Rand) geo.Point {
	p := geo.Point{Latitude: math.Asin(2*r.Float64()-1) / deg, Longitude: r.Float64()*360 - 180}
	switch r.IntN(6) {
	case 0:
		p.Latitude = 84 + 6*r.Float64()
	case 1:
		border := borders()[r.IntN(len(borders()))]
		p.Latitude = border + (r.Float64()-0.5)*0.2
	case 2:
		p.Latitude = 90 - math.Abs(r.NormFloat64()*0.1)
	case 3: // near a corner
		b := boxOf(geo.CellOf(p))
		p = destination(geo.Point{Latitude: b.south, Longitude: b.west}, r.Float64()*2*math.Pi, r.Float64()*10)
	default:
	}
	if r.IntN(2) == 0 {
		p.Latitude = -p.Latitude
	}
	if r.IntN(8) == 0 {
		p.Longitude = turn(180 + r.NormFloat64()*0.02)
	}
	return p
}
