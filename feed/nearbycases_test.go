package feed_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
	"feedgate/feed/geo"
)

func TestCase26AcrossTheAntimeridianEachSeesTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	ann := w.person("ann")
	for _, latitude := range []float64{0, -17.5, 52, 71, 84} {
		east := w.at(ann, latitude, 179.99, feed.PrecisionExact)
		west := w.at(ann, latitude, -179.99, feed.PrecisionExact)
		for range 2 { // as the cell is filled, and from the cell
			wantNearby(t, w, 0, around(latitude, -179.99, 5000), 1, west.ID, east.ID)
			wantNearby(t, w, 0, around(latitude, 179.99, 5000), 20, west.ID, east.ID)
			wantNearby(t, w, 0, around(latitude, 180, 5000), 20, west.ID, east.ID)
			wantNearby(t, w, 0, around(latitude, -180, 5000), 20, west.ID, east.ID)
		}
	}
	for _, key := range cellKeys(t, w.url) {
		withRedis(t, w.url, func(ctx context.Context, r *goredis.Client) error {
			n, err := r.ZLexCount(ctx, key, "[0", "(9").Result()
			if err == nil && n > 2 {
				err = fmt.Errorf("%s holds %d entries, want at most one for each post", key, n)
			}
			return err
		})
	}
	for longitude := 179.9; longitude < 180; longitude += 0.001 {
		cells := geo.Touched(geo.Point{Latitude: 0.02, Longitude: longitude})
		if n := len(slices.Compact(slices.Sorted(slices.Values(cells)))); n != len(cells) {
			t.Fatalf("longitude %v: a cell comes twice in %v", longitude, cells)
		}
	}
}

// The record gives back 0 for -0, so that gateway and worker made two entries of one post.
func TestAPostAtNegativeZeroIsShownOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	ann := w.person("ann")
	wantNearby(t, w, 0, around(0, 0, 5000), 20) // from here on the cell exists
	zero := math.Copysign(0, -1)
	p := w.at(ann, zero, zero, feed.PrecisionExact)
	delivered := feed.NearbyEntry(feed.Entry{At: p.At, ID: p.ID}, &feed.Place{Precision: feed.PrecisionExact}, 1000, 0, p.At)
	if err := w.hot.Do(t.Context(), delivered); err != nil {
		t.Fatal(err)
	}
	wantNearby(t, w, 0, around(0, 0, 5000), 20, p.ID)
}

func TestCase27AcrossThePoleAndNothingFromTheOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	ann := w.person("ann")
	for _, pole := range []float64{1, -1} {
		beyond := w.at(ann, pole*89.98, 180, feed.PrecisionExact) // 4.5 km over the pole from 89.98, 0
		aside := w.at(ann, pole*89.9, 20, feed.PrecisionExact)
		on := w.at(ann, pole*90, -33, feed.PrecisionExact)
		for range 2 {
			wantNearby(t, w, 0, around(pole*89.98, 0, 5000), 20, on.ID, beyond.ID)
			wantNearby(t, w, 0, around(pole*89.9, 0, 5000), 20, aside.ID)
			wantNearby(t, w, 0, around(pole*90, 123, 5000), 1, on.ID, beyond.ID)
			wantNearby(t, w, 0, around(pole*89.98, 0, 4000), 20, on.ID)
		}
	}
}

func TestCase28NearInCellsThatAreNoNeighbours(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	ann := w.person("ann")
	const latitude, width = 87.18, 360.0 / 1024 // a cell is 1.9 km wide here, less than half of the radius
	here := geo.Point{Latitude: latitude, Longitude: width / 2}
	there := w.at(ann, latitude, width/2+2*width, feed.PrecisionExact)
	at, _ := there.Point()
	if a, b := geo.CellOf(here), geo.CellOf(at); a == b || geo.Distance(here, at) > 4500 {
		t.Fatalf("cells %s and %s, %v m apart: this is not the case", a, b, geo.Distance(here, at))
	}
	for range 2 {
		wantNearby(t, w, 0, feed.Nearby{Point: here, Radius: 5000}, 20, there.ID)
		wantNearby(t, w, 0, feed.Nearby{Point: here, Radius: 2000}, 20)
	}
	// 600 m apart on any side of any border of cells.
	for i := range 24 {
		angle := float64(i) * math.Pi / 12
		p := geo.Point{Latitude: 45 + 180.0/4096*float64(i%2), Longitude: 360.0 / 8192 * float64(10*i)}
		far := w.at(ann, p.Latitude+600/111_195.0*math.Sin(angle), p.Longitude+600/(111_195.0*math.Cos(p.Latitude*math.Pi/180))*math.Cos(angle), feed.PrecisionExact)
		wantNearby(t, w, 0, feed.Nearby{Point: p, Radius: 610}, 20, far.ID)
		wantNearby(t, w, 0, feed.Nearby{Point: p, Radius: 590}, 20)
	}
}

func TestCase29RandomPointsAreTheSameAsBruteForce(t *testing.T) {
	t.Parallel()
	set := usualLists()
	set.NearbyCellAge, set.NearbyCellLength = 0, 300
	w := newWorld(t, set, onEmbedded)
	ann := w.person("ann")
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 29))
	scatter := func(latitude, longitude float64) geo.Point { // over some 40 km
		high := min(max(latitude+rnd.Float64()*0.36-0.18, -90), 90)
		wide := 0.36 / max(math.Cos(high*math.Pi/180), 1e-3)
		return geo.Point{Latitude: high, Longitude: math.Mod(longitude+(rnd.Float64()-0.5)*wide+540, 360) - 180}
	}
	var posts []feed.Post
	centres := []geo.Point{{Latitude: 85, Longitude: 20}, {Latitude: 0, Longitude: 180}, {Latitude: -56.25, Longitude: -70}, {Latitude: 89.9, Longitude: 0}, {Latitude: 38.1, Longitude: 15}}
	for i := range 5_000 {
		c := centres[i%len(centres)]
		p := scatter(c.Latitude, c.Longitude)
		posts = append(posts, feed.Post{
			ID: feed.ID(i + 1), Author: ann, At: int64(i / 3), Kind: "original", Text: "p",
			Place: &feed.Place{Latitude: p.Latitude, Longitude: p.Longitude, Precision: feed.PrecisionExact},
		})
	}
	w.importPosts(posts...)
	found := 0
	for i := range 60 {
		c := centres[i%len(centres)]
		at := feed.Nearby{Point: scatter(c.Latitude, c.Longitude), Radius: 1 + rnd.IntN(5000)}
		want := nearIn(posts, at, func(*feed.Post) bool { return true })
		found += len(want)
		if got := nearbyAll(t, w, 0, at, 1+rnd.IntN(40)); !slices.Equal(got, want) {
			t.Fatalf("seed %d, near %v: got %d posts, want %d:\n got  %v\n want %v", seed, at, len(got), len(want), got, want)
		}
	}
	if found == 0 {
		t.Error("nothing was near anything")
	}
}

// Pages are the same with cells, without them, and with cells cut by length or age.
func TestBoundsOfCellsCostMemoryAndNeverAnswers(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*feed.Settings){
		"usual": func(*feed.Settings) {},
		"short": func(s *feed.Settings) { s.NearbyCellLength = 4 },
		"young": func(s *feed.Settings) { s.NearbyCellAge = time.Hour },
		"now":   func(s *feed.Settings) { s.NearbyCellAge = time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := usualLists()
			change(&set)
			w := newWorld(t, set, onEmbedded)
			ann := w.person("ann")
			rnd := rand.New(rand.NewPCG(7, 7))
			place := func() *feed.Place {
				return &feed.Place{Latitude: 48.85 + rnd.Float64()/10, Longitude: 2.3 + rnd.Float64()/10, Precision: feed.PrecisionExact}
			}
			var posts []feed.Post
			for i := range 150 { // over the last five hours, several in one millisecond
				at := time.Now().Add(-time.Duration(300-2*i) * time.Minute).UnixMilli()
				if i%5 > 0 {
					at = posts[i-1].At
				}
				posts = append(posts, feed.Post{ID: feed.ID(i + 1), Author: ann, At: at, Kind: "original", Text: "old", Place: place()})
			}
			w.importPosts(posts...)
			here := around(48.9, 2.35, 4000)
			all := func(*feed.Post) bool { return true }
			wantNearby(t, w, 0, here, 7, nearIn(posts, here, all)...)
			for range 12 { // onto cells that stand
				p, err := w.svc.PublishPost(context.Background(), w.reader(ann), feed.NewPost{Text: "new", Place: place()})
				if err != nil {
					t.Fatal(err)
				}
				posts = append(posts, *p)
				wantNearby(t, w, 0, here, 50, nearIn(posts, here, all)...)
			}
			want := nearIn(posts, here, all)
			if len(want) < 30 {
				t.Fatalf("only %d posts are near", len(want))
			}
			// Cells lost between pages.
			var got []feed.ID
			below := feed.Newest()
			for {
				p, err := w.svc.NearbyFeed(context.Background(), w.reader(0), here, 3, below, feed.Want{})
				if err != nil {
					t.Fatal(err)
				}
				for _, it := range p.Items {
					got = append(got, it.Post.ID)
				}
				if !p.HasNext {
					break
				}
				below = p.End
				w.flush()
			}
			if !slices.Equal(got, want) {
				t.Errorf("with cells lost between pages:\n got  %v\n want %v", got, want)
			}
			w.stopService()
			_ = w.hot.Close() // no hot data at all
			wantNearby(t, w, 0, here, 4, want...)
		})
	}
}

// numbHot is a hot store that cannot add to cells for a while.
type numbHot struct {
	feed.Hot
	left atomic.Int64 // tries that fail
}

func (h *numbHot) Do(ctx context.Context, ops ...feed.Op) error {
	for _, op := range ops {
		if _, ok := op.(*feed.AddToCells); ok && h.left.Add(-1) >= 0 {
			return feed.Unavailable("numb", nil)
		}
	}
	return h.Hot.Do(ctx, ops...)
}

// A publisher that dies between the record and the cells leaves a duty, and no
// duty ends before the post is in the cells.
func TestAPostThatMissedItsCellsIsBroughtThereWithItsDuty(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	ann := w.person("ann")
	here := around(-33.86, 151.2, 5000)
	first := w.at(ann, -33.86, 151.2, feed.PrecisionExact)
	wantNearby(t, w, 0, here, 20, first.ID) // the cell stands

	stamp, err := w.record.StampPost(ctx, ann, time.Now().UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	lost := feed.Post{
		ID: first.ID + 1_000, Author: ann, At: stamp.At, Kind: "original", Text: "its publisher dies here",
		Place: &feed.Place{Latitude: -33.87, Longitude: 151.21, Precision: feed.PrecisionNeighbourhood},
	}
	if _, err := w.record.InsertPost(ctx, lost, feed.Duty{
		Post: lost.ID, Author: ann, At: lost.At, Lane: feed.LaneSmall, Until: lost.At, State: feed.DeliveryPending,
	}); err != nil {
		t.Fatal(err)
	}
	wantNearby(t, w, 0, here, 20, first.ID)

	numb := &numbHot{Hot: w.hot}
	numb.left.Store(3)
	w.startWorkersOn(numb)
	w.quiet()
	if left := numb.left.Load(); left >= 0 {
		t.Errorf("the duty ended with %d failures still to come", left)
	}
	wantNearby(t, w, 0, here, 20, lost.ID, first.ID)
}

// A publish whose release fails says so, and joins the feed with its duty.
func TestAPublishThatCannotReachTheCellsIsUnavailableAndJoinsLater(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	ann := w.person("ann")
	here := around(10, 10, 5000)
	wantNearby(t, w, 0, here, 20)
	numb := &numbHot{Hot: w.hot}
	numb.left.Store(1000)
	svc := feed.New(feed.Config{
		Record: w.record, Hot: numb, Pulse: w.hot, Beats: w.record, Seen: w.record, Notices: w.record,
		Clock: wallClock{}, IDs: &countingIDs{}, Settings: w.set,
	})
	if err := svc.Start(ctx); err != nil {
		t.Fatal(err)
	}
	post := feed.NewPost{Text: "x", ClientMutationID: "once", Place: &feed.Place{Latitude: 10, Longitude: 10.01, Precision: feed.PrecisionExact}}
	if _, err := svc.PublishPost(ctx, svc.Reader(ann), post); feed.CodeOf(err) != feed.CodeUnavailable {
		t.Fatalf("got %v, want UNAVAILABLE", err)
	}
	w.startWorkers()
	w.quiet()
	if got := nearbyAll(t, w, 0, here, 20); len(got) != 1 {
		t.Errorf("got %v, want the post", got)
	}
	numb.left.Store(0) // to repeat it is safe
	p, err := svc.PublishPost(ctx, svc.Reader(ann), post)
	if err != nil {
		t.Fatal(err)
	}
	wantNearby(t, w, 0, here, 20, p.ID)
}

// Entries whose posts are not on the record are hidden, and go once they are old.
func TestGhostsLeaveCellsOnceTheyAreOld(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	ann := w.person("ann")
	here := around(20, 20, 5000)
	first := w.at(ann, 20, 20, feed.PrecisionExact)
	wantNearby(t, w, 0, here, 20, first.ID)
	now := time.Now().UnixMilli()
	for i, at := range []int64{now - 120_000, now} {
		near := feed.NearbyEntry(feed.Entry{At: at, ID: feed.ID(i + 1)}, first.Place, 1000, 0, now)
		if err := w.hot.Do(ctx, near); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		wantNearby(t, w, 0, here, 1, first.ID)
	}
	cell := &feed.ReadCell{Cell: geo.CellOf(here.Point), Below: feed.Newest(), Limit: 10}
	if err := w.hot.Do(ctx, cell); err != nil {
		t.Fatal(err)
	}
	ids := make([]feed.ID, 0, 3)
	for _, e := range cell.Entries {
		ids = append(ids, e.ID)
	}
	if want := []feed.ID{2, first.ID}; !slices.Equal(slices.Sorted(slices.Values(ids)), want) {
		t.Errorf("the cell holds %v, want %v", ids, want)
	}
}

func TestNearbyFeedRefusesWhatIsOutOfBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usualLists(), onEmbedded)
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		at    feed.Nearby
		field string
	}{
		{around(90.0001, 0, 5), "near.latitude"},
		{around(nan, 0, 5), "near.latitude"},
		{around(inf, 0, 5), "near.latitude"},
		{around(0, -180.0001, 5), "near.longitude"},
		{around(0, nan, 5), "near.longitude"},
		{around(0, 0, 0), "radiusMeters"},
		{around(0, 0, 5001), "radiusMeters"},
	} {
		_, err := w.svc.NearbyFeed(context.Background(), w.reader(0), c.at, 20, feed.Newest(), feed.Want{})
		var field string
		if e, ok := err.(*feed.Error); ok { //nolint:errorlint // the error itself
			field = e.Field
		}
		if feed.CodeOf(err) != feed.CodeBadInput || field != c.field {
			t.Errorf("%v: got %v, want BAD_USER_INPUT about %s", c.at, err, c.field)
		}
	}
}

func TestPostsOfOneMillisecondPageInOrder(t *testing.T) {
	t.Parallel()
	set := usualLists()
	set.NearbyCellAge, set.NearbyCellLength = 0, 20
	w := newWorld(t, set, onEmbedded)
	ann := w.person("ann")
	var posts []feed.Post
	for i := range 64 {
		posts = append(posts, feed.Post{
			ID: feed.ID(i + 1), Author: ann, At: 1000 + int64(i/40), Kind: "original", Text: "same",
			Place: &feed.Place{Latitude: 1, Longitude: 1 + float64(i%2), Precision: feed.PrecisionExact},
		})
	}
	w.importPosts(posts...)
	here := around(1, 1, 100)
	want := nearIn(posts, here, func(*feed.Post) bool { return true })
	for _, size := range []int{1, 3, 5, 100} {
		wantNearby(t, w, 0, here, size, want...)
	}
	if !slices.IsSortedFunc(want, func(a, b feed.ID) int { return cmp.Compare(b, a) }) {
		t.Errorf("not in order: %v", want)
	}
}
