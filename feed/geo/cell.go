package geo

import (
	"math"
	"slices"

	"github.com/mmcloughlin/geohash"
)

// Cell is a cell of the partition, by its geohash; "" is none. A polar cap,
// which is one cell, has the geohash of its part east of longitude 0.
type Cell string

// reach is the radius of the disc in radians, with a metre for roundings: a
// cell too many costs a little, one too few would hide a post.
const reach = (MaxRadius + 1) / EarthRadius

// CellOf is the one cell in which p lies, "" if p is not valid.
func CellOf(p Point) Cell {
	if !p.valid() {
		return ""
	}
	return rowAt(p.Latitude).at(p.Longitude)
}

// Touched are all cells with a point at most [MaxRadius] away from p, in
// order, none twice; none if p is not valid. They may hold a cell that is up to
// a metre farther away.
func Touched(p Point) []Cell {
	if !p.valid() {
		return nil
	}
	cells := make([]Cell, 0, 16)
	d := newDisc(p.Latitude)
	eachRow(p.Latitude, p.Latitude, func(r row) {
		if side, ok := d.side(r.south, r.north); ok {
			cells = r.between(cells, p.Longitude-side, p.Longitude+side)
		}
	})
	slices.Sort(cells)
	return cells
}

// Around are all cells with a point at most [MaxRadius] away from a point of c,
// c among them, in order, none twice: where the posts lie that touch c. They
// may hold a cell that is up to a metre farther away. What is no cell of the
// partition has none around it.
func Around(c Cell) []Cell {
	south, west, north, east := c.Box()
	if CellOf(Point{Latitude: (south + north) / 2, Longitude: (west + east) / 2}) != c || c == "" {
		return nil
	}
	var cells []Cell
	eachRow(south, north, func(r row) {
		if side, ok := sideOfRows(south, north, r.south, r.north); ok {
			cells = r.between(cells, west-side, east+side)
		}
	})
	slices.Sort(cells)
	return cells
}

// Box gives the borders of c in degrees; a cap has all longitudes. They are NaN
// if c is no geohash.
func (c Cell) Box() (south, west, north, east float64) {
	switch {
	case c == northCap:
		return endOf3, -180, 90, 180
	case c == southCap:
		return -90, -180, -endOf3, 180
	case c == "" || geohash.Validate(string(c)) != nil:
		return math.NaN(), math.NaN(), math.NaN(), math.NaN()
	}
	box := geohash.BoundingBox(string(c))
	return box.MinLat, box.MinLng, box.MaxLat, box.MaxLng
}

// eachRow calls f with all rows that come within reach of the latitudes south
// to north, from the south to the north.
func eachRow(south, north float64, f func(row)) {
	from, to := max(south-degrees(reach), -90), min(north+degrees(reach), 90)
	for {
		r := rowAt(from)
		f(r)
		if r.north > to || r.north >= 90 {
			return
		}
		from = r.north
	}
}
