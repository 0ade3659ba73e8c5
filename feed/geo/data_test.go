package geo_test

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mmcloughlin/geohash"

	"feedgate/feed/geo"
)

// redisRadius is the radius of the sphere in metres that Redis measures on.
const redisRadius = 6372797.560856

// record is a line of a table, by the names of its columns.
type record struct {
	t    *testing.T
	line string
	text map[string]string
}

func (r record) float(column string) float64 {
	r.t.Helper()
	x, err := strconv.ParseFloat(r.text[column], 64)
	if err != nil {
		r.t.Fatalf("column %s of %q: %v", column, r.line, err)
	}
	return x
}

func (r record) point(latitude, longitude string) geo.Point {
	r.t.Helper()
	return geo.Point{Latitude: r.float(latitude), Longitude: r.float(longitude)}
}

// table reads a table of reference values, which is no part of the project, and
// wants at least so many lines.
func table(t *testing.T, name string, atLeast int) []record {
	t.Helper()
	path := filepath.Join(cmp.Or(os.Getenv("FEEDGATE_SHARED_DATA"), "../../../shared/data"), "geo", name)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		say := t.Skipf
		if os.Getenv("CI") == "true" {
			say = t.Fatalf
		}
		say("THE REFERENCE VALUES ARE ABSENT, SO THIS TEST SHOWS NOTHING: put %s there, or set FEEDGATE_SHARED_DATA", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	names := strings.Split(lines[0], "\t")
	records := make([]record, 0, len(lines)-1)
	for _, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != len(names) {
			t.Fatalf("%s: %d columns in %q, want %d", name, len(cells), line, len(names))
		}
		r := record{t: t, line: line, text: make(map[string]string, len(names))}
		for n, cell := range cells {
			r.text[names[n]] = cell
		}
		records = append(records, r)
	}
	if len(records) < atLeast {
		t.Fatalf("%s has %d lines, want at least %d", name, len(records), atLeast)
	}
	return records
}

func TestReferenceGeohashes(t *testing.T) {
	t.Parallel()
	for _, r := range table(t, "geohash_encode.tsv", 4000) {
		p, want := r.point("lat", "lon"), r.text["geohash12"]
		if got := geohash.Encode(p.Latitude, p.Longitude); got != want {
			t.Errorf("geohash of %v is %s, want %s", p, got, want)
		}
		if got := "0x" + pad(geohash.EncodeInt(p.Latitude, p.Longitude)); got != r.text["hash_uint64_hex"] {
			t.Errorf("geohash of %v is %s, want %s", p, got, r.text["hash_uint64_hex"])
		}
		if c := geo.CellOf(p); math.Abs(p.Latitude) < 88.59375 && !strings.HasPrefix(want, string(c)) {
			t.Errorf("CellOf(%v) = %s, want a prefix of %s", p, c, want)
		}
		for precision := 1; precision <= 12; precision++ {
			latitude, longitude := geohash.DecodeCenter(want[:precision])
			got := geo.Centre(p, precision)
			if math.Abs(got.Latitude-latitude) > 1e-12 || math.Abs(got.Longitude-longitude) > 1e-12 {
				t.Errorf("Centre(%v, %d) = %v, want that of %s: %v, %v", p, precision, got, want[:precision], latitude, longitude)
			}
		}
	}
	for _, r := range table(t, "geohash_named_points.tsv", 5) {
		p, want := r.point("lat", "lon"), r.text["geohash"]
		if got := geohash.EncodeWithPrecision(p.Latitude, p.Longitude, uint(r.float("precision"))); got != want {
			t.Errorf("geohash of %v is %s, want %s", p, got, want)
		}
		if !strings.HasPrefix(want, string(geo.CellOf(p))) {
			t.Errorf("CellOf(%v) = %s, want a prefix of %s", p, geo.CellOf(p), want)
		}
	}
}

func pad(x uint64) string {
	digits := strconv.FormatUint(x, 16)
	return strings.Repeat("0", 16-len(digits)) + digits
}

func TestReferenceBoxes(t *testing.T) {
	t.Parallel()
	const rounded = 1e-9 // the table has ten digits
	for _, r := range table(t, "geohash_decode_box.tsv", 4000) {
		c := geo.Cell(r.text["geohash"])
		if c == "upb" || c == "h00" {
			continue // the caps: more than their geohash
		}
		south, west, north, east := c.Box()
		for _, one := range []struct {
			column string
			got    float64
		}{{"min_lat", south}, {"min_lon", west}, {"max_lat", north}, {"max_lon", east}} {
			if want := r.float(one.column); math.Abs(one.got-want) > rounded {
				t.Errorf("%s of %s is %v, want %v", one.column, c, one.got, want)
			}
		}
		if len(c) > 10 {
			continue // the digits of the table are too few to stand inside
		}
		inside := geo.Point{
			Latitude:  (r.float("min_lat") + r.float("max_lat")) / 2,
			Longitude: (r.float("min_lon") + r.float("max_lon")) / 2,
		}
		got := geo.Centre(inside, len(c))
		if math.Abs(got.Latitude-inside.Latitude) > rounded || math.Abs(got.Longitude-inside.Longitude) > rounded {
			t.Errorf("Centre(%v, %d) = %v", inside, len(c), got)
		}
	}
}

// The eight geohashes around one are around it in the partition as well, where
// they are cells of it.
func TestReferenceNeighbours(t *testing.T) {
	t.Parallel()
	directions := []string{"n", "ne", "e", "se", "s", "sw", "w", "nw"}
	cells := 0
	for _, r := range slices.Concat(table(t, "geohash_neighbors.tsv", 1000), table(t, "geohash_named_neighbors.tsv", 2)) {
		hash := r.text["geohash"]
		library := geohash.Neighbors(hash)
		around := geo.Around(geo.Cell(hash))
		if around != nil {
			cells++
		}
		for n, direction := range directions {
			want := r.text[direction]
			if want != library[n] {
				t.Errorf("%s of %s is %s, want %s", direction, hash, library[n], want)
			}
			if around != nil && geo.Around(geo.Cell(want)) != nil && !slices.Contains(around, geo.Cell(want)) {
				t.Errorf("Around(%s) = %v is without %s in the %s", hash, around, want, direction)
			}
		}
	}
	if cells == 0 {
		t.Error("no cell of the partition among them")
	}
}

func TestReferenceDistances(t *testing.T) {
	t.Parallel()
	for _, r := range table(t, "haversine.tsv", 10) {
		a, b := r.point("lat1", "lon1"), r.point("lat2", "lon2")
		got := geo.Distance(a, b) / geo.EarthRadius * r.float("earth_radius_m")
		if want := r.float("expected_m"); math.Abs(got-want) > r.float("tolerance_m") {
			t.Errorf("%v and %v are %v m apart, want %v (%s)", a, b, got, want, r.text["source"])
		}
	}
}

// onRedis is a distance as Redis measures it, on its sphere.
func onRedis(a, b geo.Point) float64 { return geo.Distance(a, b) / geo.EarthRadius * redisRadius }

func TestRedisFindsTheSame(t *testing.T) {
	t.Parallel()
	members := table(t, "redis_geo_points_nyc.tsv", 7)
	for _, m := range members {
		// Redis keeps a position as a geohash of 52 bits, over latitudes up to
		// 85.05112878 alone; so its score is a hash of a stretched latitude.
		p := m.point("lat", "lon")
		stretched := p.Latitude / 85.05112878 * 90
		if got := strconv.FormatUint(geohash.EncodeIntWithPrecision(stretched, p.Longitude, 52), 10); got != m.text["redis_zset_score_52bit"] {
			t.Errorf("%s has the score %s, want %s", m.text["member"], got, m.text["redis_zset_score_52bit"])
		}
	}
	for _, q := range table(t, "redis_geo_queries.tsv", 4) {
		centre := q.point("lat", "lon")
		var size []float64
		for side := range strings.SplitSeq(q.text["km"], "x") {
			km, err := strconv.ParseFloat(side, 64)
			if err != nil {
				t.Fatalf("%q: %v", q.line, err)
			}
			size = append(size, km*1000)
		}
		var got []string
		for _, m := range members {
			p := m.point("lat", "lon")
			in := onRedis(centre, p) <= size[0]
			if q.text["shape"] == "box" {
				// Its width is measured along the latitude of the member.
				in = onRedis(geo.Point{Latitude: p.Latitude, Longitude: centre.Longitude}, p) <= size[0]/2 &&
					onRedis(geo.Point{Latitude: p.Latitude}, geo.Point{Latitude: centre.Latitude}) <= size[1]/2
			}
			if in {
				got = append(got, m.text["member"])
			}
			touches := slices.Contains(geo.Touched(p), geo.CellOf(centre))
			if geo.Distance(centre, p) <= geo.MaxRadius && !touches {
				t.Errorf("%s does not touch the cell of %s", m.text["member"], q.text["name"])
			}
		}
		want := strings.Split(q.text["expected_members"], "|")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s finds %q, want %q", q.text["name"], got, want)
		}
	}
}

func TestRedisFindsTheSameAtThePole(t *testing.T) {
	t.Parallel()
	near := 0
	for _, r := range table(t, "redis_geo_polar.tsv", 4) {
		a, b := r.point("a_lat", "a_lon"), r.point("b_lat", "b_lon")
		if got := onRedis(a, b); got > r.float("radius_m") {
			t.Errorf("%s: %v m apart, want at most %v", r.text["case"], got, r.float("radius_m"))
		}
		if geo.Distance(a, b) > geo.MaxRadius {
			continue
		}
		near++
		if !slices.Contains(geo.Touched(a), geo.CellOf(b)) || !slices.Contains(geo.Touched(b), geo.CellOf(a)) {
			t.Errorf("%s: %v and %v don't see each other", r.text["case"], a, b)
		}
	}
	if near == 0 {
		t.Error("no pair within 5 km among them")
	}
}
