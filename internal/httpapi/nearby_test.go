package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"feedgate/feed"
)

func TestAPostIsNearbyAsSoonAsItIsPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	const publish = `mutation($lat: Float!, $lon: Float!, $p: PlacePrecision) {
	  publishPost(input: {text: "here", place: {latitude: $lat, longitude: $lon, precision: $p}}) { post { id } } }`
	const near = `query($r: Int, $after: String) { nearbyFeed(near: {latitude: 60, longitude: 10}, radiusMeters: $r, first: 1, after: $after) {
	  edges { distanceMeters node { place { latitude longitude precision } } } pageInfo { hasNextPage endCursor } } }`
	for i, p := range []string{"EXACT", "CITY", "HIDDEN", "NEIGHBOURHOOD"} {
		w.as(ann, publish, map[string]any{"lat": 60.0001 + float64(i)/1e5, "lon": 10, "p": p}).into(t, new(struct{}))
	}
	type answer struct {
		NearbyFeed struct {
			Edges []struct {
				DistanceMeters int
				Node           struct{ Place struct{ Precision string } }
			}
			PageInfo struct {
				HasNextPage bool
				EndCursor   *string
			}
		}
	}
	var got []string
	vars := map[string]any{}
	for range 5 {
		var page answer
		w.as(0, near, vars).into(t, &page)
		for _, e := range page.NearbyFeed.Edges {
			got = append(got, fmt.Sprint(e.Node.Place.Precision, " ", e.DistanceMeters))
		}
		if !page.NearbyFeed.PageInfo.HasNextPage {
			break
		}
		vars["after"] = *page.NearbyFeed.PageInfo.EndCursor
	}
	// The middle of the geohash-6 cell is within 200 m, that of the geohash-4 cell within 3,500.
	if text := strings.Join(got, ", "); text != "NEIGHBOURHOOD 200, CITY 3500, EXACT 100" {
		t.Errorf("got %s", text)
	}
	var page answer
	w.as(ann, near, map[string]any{"r": 100}).into(t, &page)
	if e := page.NearbyFeed.Edges; len(e) != 1 || e[0].DistanceMeters != 100 {
		t.Errorf("within 100 m: got %v, want the exact one", e)
	}
}

func TestNearbyFeedSaysWhatIsWrongWithItsArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	elsewhere := feed.EncodeCursor(feed.CursorPosts, feed.Position{At: 5, ID: 6}, 7)
	for args, field := range map[string]string{
		`near: {latitude: 90.001, longitude: 0}`:                                   "near.latitude",
		`near: {latitude: -91, longitude: 0}`:                                      "near.latitude",
		`near: {latitude: 1e308, longitude: 0}`:                                    "near.latitude",
		`near: {latitude: 0, longitude: 180.1}`:                                    "near.longitude",
		`near: {latitude: 0, longitude: -1e9}`:                                     "near.longitude",
		`near: {latitude: 0, longitude: 0}, radiusMeters: 0`:                       "radiusMeters",
		`near: {latitude: 0, longitude: 0}, radiusMeters: 5001`:                    "radiusMeters",
		`near: {latitude: 0, longitude: 0}, radiusMeters: -1`:                      "radiusMeters",
		`near: {latitude: 0, longitude: 0}, first: 101`:                            "first",
		`near: {latitude: 0, longitude: 0}, after: "` + elsewhere + `"`:            "after",
		`near: {latitude: 0, longitude: 0}, radiusMeters: 5, after: "x", first: 1`: "after",
	} {
		a := w.as(0, `{ nearbyFeed(`+args+`) { nodes { id } } }`, nil)
		if a.code() != "BAD_USER_INPUT" || a.Errors[0].Extensions.Field != field {
			t.Errorf("%s: got %s, want BAD_USER_INPUT about %s", args, a.text, field)
		}
	}
	for _, args := range []string{
		`near: {latitude: 90, longitude: 180}`, `near: {latitude: -90, longitude: -180}, radiusMeters: 1`,
		`near: {latitude: 0, longitude: 0}, radiusMeters: null, first: null, after: null`,
	} {
		if a := w.as(0, `{ nearbyFeed(`+args+`) { nodes { id } pageInfo { hasNextPage endCursor } } }`, nil); a.text !=
			`{"data":{"nearbyFeed":{"nodes":[],"pageInfo":{"hasNextPage":false,"endCursor":null}}}}` {
			t.Errorf("%s: got %s", args, a.text)
		}
	}
}
