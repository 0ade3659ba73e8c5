package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"time"

	"feedgate/feed"
	"feedgate/feed/geo"
)

const nearbyQuery = `query($latitude: Float!, $longitude: Float!, $first: Int, $after: String) {
  nearbyFeed(near: {latitude: $latitude, longitude: $longitude}, radiusMeters: 5000, first: $first, after: $after) {
    edges { cursor distanceMeters node { id text publishedAt likeCount author { id handle name } } }
    pageInfo { hasNextPage endCursor } } }`

const (
	viewpoints   = 16    // readers about a place
	viewpointGap = 0.001 // degrees that they stand apart at most, each way
	manyAround   = 20_000
	fewer        = 10 // where so many posts are around, a round has a tenth of the requests
)

// viewpoint is somebody who reads at a place.
type viewpoint struct {
	reader feed.ID
	geo.Point
}

// viewpoints are those who take turns at a place.
func (b *bench) viewpoints(place *NearbyPlace) []viewpoint {
	rnd := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // repeatable, not secret
	views := make([]viewpoint, min(b.Readers, viewpoints))
	for i := range views {
		views[i] = viewpoint{b.sights.authors[i%len(b.sights.authors)], geo.Point{
			Latitude:  place.Latitude + (2*rnd.Float64()-1)*viewpointGap,
			Longitude: place.Longitude + (2*rnd.Float64()-1)*viewpointGap,
		}}
	}
	return views
}

func nearbyBody(at geo.Point, first int, after string) ([]byte, error) {
	variables := map[string]any{"latitude": at.Latitude, "longitude": at.Longitude, "first": first}
	if after != "" {
		variables["after"] = after
	}
	return body(nearbyQuery, variables)
}

// measureNearby compares nearbyFeed over HTTP with its bare commands, and with
// plain handlers that find the same posts in other ways.
func (b *bench) measureNearby(ctx context.Context) error {
	b.report.Nearby = &Nearby{Posts: len(b.sights.of), Page: b.First, Written: written()}
	places, err := b.sights.places(b.First)
	if err != nil {
		return err
	}
	rivals, err := b.rivals(ctx)
	if err != nil {
		return err
	}
	for _, place := range places {
		b.say("nearby: %s, %d posts around", place.Name, place.Within)
		if err := b.measurePlace(ctx, place, rivals); err != nil {
			return fmt.Errorf("%s: %w", place.Name, err)
		}
		b.report.Nearby.Places = append(b.report.Nearby.Places, place)
	}
	return b.nearbyTrips(ctx)
}

func (b *bench) measurePlace(ctx context.Context, place *NearbyPlace, rivals string) error {
	views := b.viewpoints(place)
	scripts, payloads, answers := make([]*script, len(views)), make([][]byte, len(views)), make([][]byte, len(views))
	for i, v := range views {
		var err error
		if payloads[i], err = nearbyBody(v.Point, b.First, ""); err != nil {
			return err
		}
		if err := b.warm(ctx, v.reader, payloads[i]); err != nil {
			return err
		}
		if scripts[i], answers[i], err = b.record(ctx, v.reader, payloads[i]); err != nil {
			return err
		}
	}
	var err error
	if place.Read, err = b.beside(ctx, scripts, func(i int) []byte { return payloads[i] }); err != nil {
		return err
	}
	sides := rivalSides(b.url(), rivals)
	for _, side := range sides[1:] {
		var buf bytes.Buffer
		for i, v := range views {
			if err := side.to.post(ctx, v.reader, payloads[i], &buf); err != nil {
				return fmt.Errorf("%s: %w", side.name, err)
			}
			if err := samePage(answers[i], buf.Bytes()); err != nil {
				return fmt.Errorf("%s: %w", side.name, err)
			}
		}
	}
	requests := b.Requests
	if place.Within > manyAround {
		requests = max(requests/fewer, 10)
	}
	times := make([][]float64, len(sides))
	var buf bytes.Buffer
	for range b.Rounds {
		for s, side := range sides {
			took, err := timed(b.Clock, requests, func(i int) error {
				i %= len(views)
				return side.to.post(ctx, views[i].reader, payloads[i], &buf)
			})
			if err != nil {
				return fmt.Errorf("%s: %w", side.name, err)
			}
			times[s] = append(times[s], micros(percentile(took, 0.5)))
		}
	}
	for s, side := range sides[1:] {
		place.Ways = append(place.Ways, NearbyWay{
			Name: side.name, P50: median(times[s+1]), OverFeedgate: ratioOf(times[s+1], times[0]), OverCell: ratioOf(times[s+1], times[1]),
		})
	}
	place.P50 = median(times[0])
	return nil
}

// ratioOf is the median of the ratios of the rounds.
func ratioOf(of, to []float64) float64 {
	ratios := make([]float64, len(of))
	for i := range of {
		ratios[i] = of[i] / to[i]
	}
	return median(ratios)
}

// samePage checks that two answers show the same posts at the same distances.
// Cursors carry the time.
func samePage(a, b []byte) error {
	var docs [2]any
	for i, text := range [][]byte{a, b} {
		if err := json.Unmarshal(text, &docs[i]); err != nil {
			return err
		}
		dropCursors(docs[i])
	}
	if !reflect.DeepEqual(docs[0], docs[1]) {
		return fmt.Errorf("it answers otherwise, so nothing can be compared:\n%.3000s\n%.3000s", a, b)
	}
	return nil
}

func dropCursors(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cursor")
		delete(v, "endCursor")
		delete(v, "extensions")
		for _, inner := range v {
			dropCursors(inner)
		}
	case []any:
		for _, inner := range v {
			dropCursors(inner)
		}
	}
}

// written counts the cells that a post is written into, by latitude.
func written() []NearbyWritten {
	const posts = 2000
	rnd := rand.New(rand.NewPCG(9, 10)) //nolint:gosec // repeatable, not secret
	var all []NearbyWritten
	for _, latitude := range []float64{0, 10, 20, 30, 40, 50, 60, 70, 80, 85, 87, 88, 89.9} {
		w := NearbyWritten{Latitude: latitude}
		sum := 0
		for range posts {
			n := len(geo.Touched(geo.Point{Latitude: latitude, Longitude: 360*rnd.Float64() - 180}))
			sum, w.Most = sum+n, max(w.Most, n)
		}
		w.Mean = float64(sum) / posts
		all = append(all, w)
	}
	return all
}

// nearbyTrips counts the round trips of nearbyFeed.
func (b *bench) nearbyTrips(ctx context.Context) error {
	if err := wait(ctx, feed.LeaseTTL*time.Millisecond); err != nil { // as for the other feeds
		return err
	}
	places, err := b.sights.places(b.First)
	if err != nil {
		return err
	}
	busiest, quiet := places[0], places[len(places)-1]
	for _, shape := range []struct {
		name  string
		place *NearbyPlace
		next  bool
	}{{"busiest", busiest, false}, {"next page", busiest, true}, {"quiet", quiet, false}} {
		v := b.viewpoints(shape.place)[0]
		for _, first := range []int{20, 100} {
			payload, err := nearbyBody(v.Point, first, "")
			if err != nil {
				return err
			}
			if shape.next {
				answer, err := b.ask(ctx, v.reader, payload)
				if err != nil {
					return err
				}
				end, err := endOf(answer)
				if err != nil {
					return err
				}
				if payload, err = nearbyBody(v.Point, first, end); err != nil {
					return err
				}
			}
			trips, err := b.shape(ctx, shape.name, first, v.reader, payload)
			if err != nil {
				return err
			}
			b.report.NearbyTrips = append(b.report.NearbyTrips, trips)
		}
	}
	return nil
}

// endOf gives the cursor at which a page of nearbyFeed ends.
func endOf(answer []byte) (string, error) {
	var page struct {
		Data struct {
			NearbyFeed struct {
				PageInfo struct {
					HasNextPage bool   `json:"hasNextPage"`
					EndCursor   string `json:"endCursor"`
				} `json:"pageInfo"`
			} `json:"nearbyFeed"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &page); err != nil {
		return "", err
	}
	info := page.Data.NearbyFeed.PageInfo
	if !info.HasNextPage || info.EndCursor == "" {
		return "", fmt.Errorf("the page is the last one: %.300s", answer)
	}
	return info.EndCursor, nil
}

// rivalSide is a server that answers nearbyQuery.
type rivalSide struct {
	name string
	to   *target
}

// rivalSides are feedgate, a plain handler that reads feedgate's own cells, and
// the plain handlers that it is compared with.
func rivalSides(feedgate, rivals string) []rivalSide {
	sides := []rivalSide{
		{"feedgate", newTarget(feedgate, 1)},
		{"own cell, plain handler", newTarget(rivals+pathCell, 1)},
		{"GEOSEARCH, plain handler", newTarget(rivals+pathSearch, 1)},
	}
	for _, head := range aroundHeads() {
		n := strconv.Itoa(head)
		sides = append(sides, rivalSide{"cells around, " + n + " of each", newTarget(rivals+pathAround+n, 1)})
	}
	return sides
}
