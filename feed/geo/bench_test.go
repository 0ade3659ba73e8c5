package geo_test

import (
	"strconv"
	"testing"

	"feedgate/feed/geo"
)

// A place in each band, and the pole.
var benchLatitudes = []float64{0.01, 52.5, 69.6, 86.9, 88.2, 90}

func BenchmarkCellOf(b *testing.B) {
	for _, latitude := range benchLatitudes {
		b.Run(strconv.FormatFloat(latitude, 'f', -1, 64), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = geo.CellOf(geo.Point{Latitude: latitude, Longitude: 13.4})
			}
		})
	}
}

func BenchmarkTouched(b *testing.B) {
	for _, latitude := range benchLatitudes {
		b.Run(strconv.FormatFloat(latitude, 'f', -1, 64), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = geo.Touched(geo.Point{Latitude: latitude, Longitude: 13.4})
			}
		})
	}
}

func BenchmarkAround(b *testing.B) {
	cell := geo.CellOf(geo.Point{Latitude: 52.5, Longitude: 13.4})
	b.ReportAllocs()
	for b.Loop() {
		_ = geo.Around(cell)
	}
}

func BenchmarkDistance(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_ = geo.Distance(geo.Point{Latitude: 52.5, Longitude: 13.4}, geo.Point{Latitude: 52.51, Longitude: 13.45})
	}
}
