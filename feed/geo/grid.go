package geo

import (
	"math"

	"github.com/mmcloughlin/geohash"
)

// Where the bands end, in degrees from the equator. Each is a whole number of
// cells of the precision that begins there: 180/1024 degrees high for 4
// characters, 180/128 for 3.
const (
	endOf5 = 63.28125
	endOf4 = 87.1875
	endOf3 = 88.59375
)

// The caps go by the name of their part that lies east of longitude 0.
const (
	northCap Cell = "upb"
	southCap Cell = "h00"
)

// grid is how geohash divides the globe with a number of characters. Rows and
// columns are counted from the equator and from longitude 0, to the north and
// to the east.
type grid struct {
	chars         uint
	columns       int
	height, width float64 // of a cell, in degrees
}

// gridOf is the grid of 1 to 12 characters. A character is five bits, which
// halve the longitude and the latitude by turns, the longitude first.
func gridOf(chars int) grid {
	bits := 5 * chars
	return grid{
		chars:   uint(chars),
		columns: 1 << (bits - bits/2),
		height:  180 / float64(uint64(1)<<(bits/2)),
		width:   360 / float64(uint64(1)<<(bits-bits/2)),
	}
}

// index is the row or column in which x lies. It is exact: a step is 45 times
// a power of two, so all borders are, and of the quotients only those of the
// smallest numbers are rounded to a border, upwards. (The geohash library rounds
// first, differently on each processor, and takes latitude 90 for -90.)
func index(x, step float64) int {
	k := math.Floor(x / step)
	if k*step > x {
		k--
	}
	return int(k)
}

// wrap brings a column back that lies beyond longitude 180.
func (g grid) wrap(column int) int {
	return (column+g.columns/2)&(g.columns-1) - g.columns/2
}

func (g grid) centre(row, column int) Point {
	return Point{Latitude: (float64(row) + 0.5) * g.height, Longitude: (float64(column) + 0.5) * g.width}
}

// name is the geohash of a cell. The centre is far from what rounding may move.
func (g grid) name(row, column int) Cell {
	c := g.centre(row, column)
	return Cell(geohash.EncodeWithPrecision(c.Latitude, c.Longitude, g.chars))
}

// row is a row of the partition: cells between two latitudes, side by side.
type row struct {
	grid
	number       int
	south, north float64
	cap          Cell // the one cell of the row, if it is a cap
}

// rowAt is the row in which a latitude lies.
func rowAt(latitude float64) row {
	switch {
	case latitude >= endOf3:
		return row{south: endOf3, north: 90, cap: northCap}
	case latitude < -endOf3:
		return row{south: -90, north: -endOf3, cap: southCap}
	}
	chars := 5
	switch {
	case latitude >= endOf4 || latitude < -endOf4:
		chars = 3
	case latitude >= endOf5 || latitude < -endOf5:
		chars = 4
	}
	r := row{grid: gridOf(chars)}
	r.number = index(latitude, r.height)
	r.south = float64(r.number) * r.height
	r.north = r.south + r.height
	return r
}

// at is the cell of the row in which a longitude lies.
func (r row) at(longitude float64) Cell {
	if r.cap != "" {
		return r.cap
	}
	return r.name(r.number, r.wrap(index(longitude, r.width)))
}

// between appends the cells of the row that hold a longitude from west to east.
// Either may lie beyond 180, but west is not above east.
func (r row) between(cells []Cell, west, east float64) []Cell {
	if r.cap != "" {
		return append(cells, r.cap)
	}
	first, last := index(west, r.width), index(east, r.width)
	last = min(last, first+r.columns-1) // once around is all
	for column := first; column <= last; column++ {
		cells = append(cells, r.name(r.number, r.wrap(column)))
	}
	return cells
}
