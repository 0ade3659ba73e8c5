package geo

import "math"

// EarthRadius is the radius of the sphere in metres: the mean radius R1 that
// the IUGG derives from the Geodetic Reference System 1980.
const EarthRadius float64 = 6371008.8

// MaxRadius is the largest distance in metres at which a post is near.
const MaxRadius = 5000.0

// Point is a position in degrees.
type Point struct{ Latitude, Longitude float64 }

// valid reports whether p is a position at all.
func (p Point) valid() bool {
	return p.Latitude >= -90 && p.Latitude <= 90 && p.Longitude >= -180 && p.Longitude <= 180
}

// Distance is the length in metres of the shortest way from a to b over the
// sphere, by the haversine formula, which keeps its digits when the way is
// short. It is NaN when a coordinate is NaN or infinite.
func Distance(a, b Point) float64 {
	h := haversine(radians(b.Latitude-a.Latitude)) +
		math.Cos(radians(a.Latitude))*math.Cos(radians(b.Latitude))*haversine(radians(b.Longitude-a.Longitude))
	return 2 * EarthRadius * math.Asin(math.Sqrt(min(h, 1)))
}

// Centre is the centre of p's geohash cell of a precision from 1 to 12
// characters; what is outside counts as the nearest of these. A position that
// is not valid has the centre NaN, NaN: it never comes back as it was.
func Centre(p Point, precision int) Point {
	if !p.valid() {
		return Point{Latitude: math.NaN(), Longitude: math.NaN()}
	}
	g := gridOf(min(max(precision, 1), 12))
	row := index(p.Latitude, g.height)
	if p.Latitude == 90 {
		row-- // geohash gives the pole to the last row
	}
	return g.centre(row, g.wrap(index(p.Longitude, g.width)))
}

// haversine is half the versine of an angle in radians.
func haversine(angle float64) float64 {
	s := math.Sin(angle / 2)
	return s * s
}

func radians(degrees float64) float64 { return degrees * (math.Pi / 180) }

func degrees(radians float64) float64 { return radians * (180 / math.Pi) }
