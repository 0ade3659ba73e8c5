package feed

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed/geo"
)

// No cell is left out that holds a post within the radius.
func TestCellsWithinARadiusAreAllThere(t *testing.T) {
	t.Parallel()
	fewer := 0
	rapid.Check(t, func(t *rapid.T) {
		latitude := rapid.OneOf(rapid.Float64Range(-90, 90), rapid.Float64Range(86, 90), rapid.Float64Range(-90, -86))
		p := geo.Point{Latitude: latitude.Draw(t, "latitude"), Longitude: rapid.OneOf(
			rapid.Float64Range(-180, 180), rapid.Float64Range(179.9, 180)).Draw(t, "longitude")}
		radius := rapid.Float64Range(1, geo.MaxRadius).Draw(t, "radius")
		cells := cellsWithin(p, radius)
		if len(cells) < len(geo.Touched(p)) {
			fewer++
		}
		for range 200 {
			q := geo.Point{
				Latitude:  min(max(p.Latitude+rapid.Float64Range(-0.05, 0.05).Draw(t, "north"), -90), 90),
				Longitude: rapid.OneOf(rapid.Float64Range(-180, 180), rapid.Just(p.Longitude), rapid.Just(-p.Longitude)).Draw(t, "east"),
			}
			if geo.Distance(p, q) <= radius && !slices.Contains(cells, geo.CellOf(q)) {
				t.Fatalf("%v is %v m from %v, but its cell %s is not in %v", q, geo.Distance(p, q), p, geo.CellOf(q), cells)
			}
		}
	})
	if fewer == 0 {
		t.Error("no cell was ever left out")
	}
}
