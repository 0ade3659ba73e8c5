package feed_test

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
	"feedgate/feed/geo"
)

// nearbyAll follows a nearby feed to its end by pages of a size, and returns
// the ids. It checks that positions move strictly downward and that the walk ends.
func nearbyAll(tb rapid.TB, w *world, reader feed.ID, at feed.Nearby, size int) []feed.ID {
	tb.Helper()
	var ids []feed.ID
	below := feed.Newest()
	for range 100_000 {
		p, err := w.svc.NearbyFeed(context.Background(), w.reader(reader), at, size, below, feed.Want{})
		if err != nil {
			tb.Fatalf("NearbyFeed: %v", err)
		}
		if len(p.Items) > size {
			tb.Fatalf("got %d items on a page of %d", len(p.Items), size)
		}
		for _, it := range p.Items {
			ids = append(ids, it.Post.ID)
		}
		if !p.HasNext {
			return ids
		}
		if !p.HasEnd || !p.End.Below(below) {
			tb.Fatalf("the end of the page is %v, want it below %v", p.End, below)
		}
		below = p.End
	}
	tb.Fatal("paging does not end")
	return nil
}

// wantNearby checks a whole nearby feed.
func wantNearby(tb rapid.TB, w *world, reader feed.ID, at feed.Nearby, size int, want ...feed.ID) {
	tb.Helper()
	if got := nearbyAll(tb, w, reader, at, size); !slices.Equal(got, want) {
		tb.Fatalf("near %v by pages of %d:\n got  %v\n want %v", at, size, got, want)
	}
}

// at publishes a post at a place.
func (w *world) at(author feed.ID, latitude, longitude float64, precision feed.Precision) *feed.Post {
	w.tb.Helper()
	p, err := w.svc.PublishPost(context.Background(), w.reader(author), feed.NewPost{
		Text: "here", Place: &feed.Place{Latitude: latitude, Longitude: longitude, Precision: precision},
	})
	if err != nil {
		w.tb.Fatalf("PublishPost: %v", err)
	}
	return p
}

// around is a place to look around.
func around(latitude, longitude float64, radius int) feed.Nearby {
	return feed.Nearby{Point: geo.Point{Latitude: latitude, Longitude: longitude}, Radius: radius}
}

// nearIn finds what is near among posts, in the simplest way.
func nearIn(posts []feed.Post, at feed.Nearby, shown func(*feed.Post) bool) []feed.ID {
	var near []feed.Post
	for i := range posts {
		point, ok := posts[i].Point()
		if ok && geo.Distance(at.Point, point) <= float64(at.Radius) && shown(&posts[i]) {
			near = append(near, posts[i])
		}
	}
	slices.SortFunc(near, func(a, b feed.Post) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.ID, a.ID)) })
	ids := make([]feed.ID, len(near))
	for i := range near {
		ids[i] = near[i].ID
	}
	return ids
}

func TestANearbyPostShowsWhenPublishPostReturns(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]backend{"embedded": onEmbedded, "redis": onRedis} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, usualLists(), start)
			ann := w.person("ann")
			here := around(52.52, 13.405, 5000)
			first := w.at(ann, 52.53, 13.41, feed.PrecisionExact)
			wantNearby(t, w, 0, here, 20, first.ID) // fills the cell
			second := w.at(ann, 52.5, 13.4, feed.PrecisionExact)
			_ = w.at(ann, 52.6, 13.4, feed.PrecisionExact)
			third := w.at(ann, 52.521, 13.4, feed.PrecisionExact)
			for range 2 {
				wantNearby(t, w, 0, here, 20, third.ID, second.ID, first.ID)
				wantNearby(t, w, ann, here, 1, third.ID, second.ID, first.ID)
			}
			if err := w.svc.DeletePost(context.Background(), w.reader(ann), second.ID); err != nil {
				t.Fatal(err)
			}
			wantNearby(t, w, 0, here, 20, third.ID, first.ID)
			if n := w.counter(feed.EventCellFilled).Load(); n != 1 {
				t.Errorf("the cell was filled %d times, want once", n)
			}
		})
	}
}
