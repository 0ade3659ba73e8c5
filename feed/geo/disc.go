package geo

import "math"

// disc is the disc of radius reach around a point of a latitude.
//
// A point of the disc at latitude y lies at most x from the centre's meridian,
//
//	hav reach = hav(y - centre) + cos(centre) cos(y) hav x
//
// which grows up to the latitude where meridians are tangents of the disc, a
// little poleward of the centre (sin y = sin centre / cos reach), and falls
// beyond it. So the widest place of a row is as near to that as the row comes,
// and a cell of the row is touched exactly if it begins within that width.
type disc struct {
	centre   float64 // latitude in radians
	cos      float64 // of centre
	hav      float64 // of reach
	tangents float64 // latitude in radians at which the disc is widest
}

func newDisc(latitude float64) disc {
	centre := radians(latitude)
	sin, cos := math.Sincos(centre)
	return disc{
		centre:   centre,
		cos:      cos,
		hav:      haversine(reach),
		tangents: math.Asin(min(max(sin/math.Cos(reach), -1), 1)),
	}
}

// side is how far in degrees of longitude the disc goes to either side of its
// centre between two latitudes; false if it does not come there. A disc around
// a pole goes 180.
func (d disc) side(south, north float64) (float64, bool) {
	y := min(max(d.tangents, radians(south)), radians(north))
	rest := d.hav - haversine(y-d.centre)
	if rest < 0 {
		return 0, false
	}
	x := rest / (d.cos * math.Cos(y))
	if x >= 1 {
		return 180, true
	}
	return degrees(2 * math.Asin(math.Sqrt(x))), true
}

// sideOfRows is how far in degrees of longitude the discs around the points of
// one meridian between two latitudes go at most to either side, in another row
// or the same one; false if they don't come there.
//
// The widest place of a disc is poleward of its centre, so of two rows of one
// hemisphere the one near the equator has its part of the pair at its border
// toward the pole, and there the pair is a disc and a row as above. (That which
// is the centre and which the point does not matter.) The equator is a border
// of rows, so that none lies in both hemispheres.
func sideOfRows(south, north, otherSouth, otherNorth float64) (float64, bool) {
	if otherSouth < south { // now the other one is the same or north of it
		south, north, otherSouth, otherNorth = otherSouth, otherNorth, south, north
	}
	if otherNorth > 0 {
		return newDisc(north).side(otherSouth, otherNorth)
	}
	return newDisc(otherSouth).side(south, north)
}
