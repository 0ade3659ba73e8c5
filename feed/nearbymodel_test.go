package feed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"feedgate/feed"
	"feedgate/feed/geo"
)

// somewhere are places where the globe or the cells have edges, and usual ones.
var somewhere = []geo.Point{
	{Latitude: 40.7769, Longitude: -73.874},
	{Latitude: 0, Longitude: 180},
	{Latitude: 65.1, Longitude: -180},
	{Latitude: -17, Longitude: 179.99},
	{Latitude: 90, Longitude: 0},
	{Latitude: 89.99, Longitude: -120},
	{Latitude: -90, Longitude: 77},
	{Latitude: 88.59375, Longitude: 45},
	{Latitude: -87.1875, Longitude: -180},
	{Latitude: 56.25, Longitude: 0},
	{Latitude: 0, Longitude: 0},
	{Latitude: 85, Longitude: 10},
}

// about draws a place some kilometres around another.
func about(t *rapid.T, p geo.Point) geo.Point {
	north := rapid.Float64Range(-6000, 6000).Draw(t, "metres north")
	east := rapid.Float64Range(-6000, 6000).Draw(t, "metres east")
	const degree = 111_195.0 // metres
	p.Latitude += north / degree
	if p.Latitude > 90 { // over the pole
		p.Latitude, p.Longitude = 180-p.Latitude, p.Longitude+180
	}
	if p.Latitude < -90 {
		p.Latitude, p.Longitude = -180-p.Latitude, p.Longitude+180
	}
	p.Longitude += east / (degree * max(math.Cos(p.Latitude*math.Pi/180), 1e-3))
	p.Longitude = math.Mod(p.Longitude+540, 360)
	if p.Longitude < 0 {
		p.Longitude += 360
	}
	p.Longitude = min(max(p.Longitude-180, -180), 180)
	return p
}

// nearbyMachine carries out the same random operations on a world and on the model.
type nearbyMachine struct {
	machine
	places []geo.Point
	url    string
}

func (c *nearbyMachine) place(t *rapid.T) geo.Point {
	return about(t, rapid.SampledFrom(c.places).Draw(t, "place"))
}

func (c *nearbyMachine) newPost(t *rapid.T) feed.NewPost {
	at := c.place(t)
	return feed.NewPost{Text: "here", Place: &feed.Place{Latitude: at.Latitude, Longitude: at.Longitude, Precision: rapid.SampledFrom([]feed.Precision{
		feed.PrecisionExact, feed.PrecisionExact, feed.PrecisionExact, feed.PrecisionNeighbourhood, feed.PrecisionCity, feed.PrecisionHidden,
	}).Draw(t, "precision")}}
}

func (c *nearbyMachine) publishAt(t *rapid.T) {
	author := c.someone(t, "author")
	for range rapid.IntRange(1, 5).Draw(t, "posts") {
		p, err := c.w.svc.PublishPost(context.Background(), c.w.reader(author), c.newPost(t))
		if err != nil {
			t.Fatalf("PublishPost: %v", err)
		}
		c.m.posts = append(c.m.posts, *p)
	}
}

func (c *nearbyMachine) repostAt(t *rapid.T) {
	if len(c.m.posts) == 0 {
		t.Skip("nothing to repost")
	}
	post := c.newPost(t)
	post.Text, post.RepostOf = "", rapid.SampledFrom(c.m.posts).Draw(t, "of").ID
	p, err := c.w.svc.PublishPost(context.Background(), c.w.reader(c.someone(t, "author")), post)
	if err == nil {
		c.m.posts = append(c.m.posts, *p)
	} else if feed.CodeOf(err) != feed.CodeNotFound {
		t.Fatalf("repost: %v", err)
	}
}

// want is what a reader's feed must be.
func (c *nearbyMachine) want(reader feed.ID, at feed.Nearby) []feed.ID {
	return nearIn(c.m.posts, at, func(p *feed.Post) bool {
		muted := c.m.mutes[[2]feed.ID{reader, p.Author}] || (p.RepostOf != 0 && c.m.mutes[[2]feed.ID{reader, p.OriginalAuthor}])
		return c.m.sees(reader, p) && (p.Author == reader || !muted)
	})
}

func (c *nearbyMachine) drawReading(t *rapid.T) (reader feed.ID, at feed.Nearby) {
	reader = rapid.SampledFrom(append([]feed.ID{0}, c.m.people...)).Draw(t, "reader")
	at = feed.Nearby{Point: c.place(t), Radius: rapid.SampledFrom([]int{5000, 5000, 5000, 3000, 1000, 100, 1}).Draw(t, "radius")}
	if len(c.m.posts) > 0 && rapid.IntRange(0, 3).Draw(t, "on a post") == 0 {
		post := rapid.SampledFrom(c.m.posts).Draw(t, "post")
		if p, ok := post.Point(); ok {
			at.Point = p
		}
	}
	return reader, at
}

func (c *nearbyMachine) readNear(t *rapid.T) {
	reader, at := c.drawReading(t)
	size := rapid.IntRange(1, 12).Draw(t, "size")
	wantNearby(t, c.w, reader, at, size, c.want(reader, at)...)
}

// loseCells loses cells, and nothing else.
func (c *nearbyMachine) loseCells(t *rapid.T) {
	for _, key := range cellKeys(t, c.url) {
		if rapid.Bool().Draw(t, "lost") {
			withRedis(t, c.url, func(ctx context.Context, r *goredis.Client) error { return r.Del(ctx, key).Err() })
		}
	}
}

func withRedis(tb rapid.TB, url string, do func(context.Context, *goredis.Client) error) {
	tb.Helper()
	opt, err := goredis.ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	r := goredis.NewClient(opt)
	defer func() { _ = r.Close() }()
	if err := do(context.Background(), r); err != nil {
		tb.Fatal(err)
	}
}

func cellKeys(tb rapid.TB, url string) (keys []string) {
	tb.Helper()
	withRedis(tb, url, func(ctx context.Context, r *goredis.Client) (err error) {
		keys, err = r.Keys(ctx, "cell:*").Result()
		return err
	})
	slices.Sort(keys)
	return keys
}

func (c *nearbyMachine) raiseGeneration(t *rapid.T) {
	ctx := context.Background()
	gen, err := c.w.record.Generation(ctx)
	if err == nil {
		gen, err = c.w.record.RaiseGeneration(ctx, gen)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.w.hot.SetGeneration(gen)
}

// storm has people publish and readers fill cells at the same time, some of
// them lost meanwhile. Whoever has published finds the post at once.
func (c *nearbyMachine) storm(t *rapid.T) {
	type share struct {
		author feed.ID
		post   feed.NewPost
		reader feed.ID
		at     feed.Nearby
	}
	shares := make([]share, rapid.IntRange(2, 8).Draw(t, "shares"))
	for i := range shares {
		shares[i] = share{author: c.someone(t, "author"), post: c.newPost(t)}
		shares[i].reader, shares[i].at = c.drawReading(t)
	}
	lose := rapid.Bool().Draw(t, "lose")
	keys := cellKeys(t, c.url)
	var mu sync.Mutex
	var failures []error
	fail := func(err error) {
		if err != nil {
			mu.Lock()
			failures = append(failures, err)
			mu.Unlock()
		}
	}
	ctx := context.Background()
	var wg sync.WaitGroup
	for _, s := range shares {
		wg.Go(func() {
			_, err := c.w.svc.NearbyFeed(ctx, c.w.reader(s.reader), s.at, 5, feed.Newest(), feed.Want{})
			fail(err)
		})
		wg.Go(func() {
			p, err := c.w.svc.PublishPost(ctx, c.w.reader(s.author), s.post)
			if err != nil {
				fail(err)
				return
			}
			mu.Lock()
			c.m.posts = append(c.m.posts, *p)
			mu.Unlock()
			fail(c.findsIt(ctx, p))
		})
	}
	if lose {
		wg.Go(func() {
			for _, key := range keys {
				withRedis(t, c.url, func(ctx context.Context, r *goredis.Client) error { return r.Del(ctx, key).Err() })
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
}

// findsIt looks for a post where it was published, on the page above it.
func (c *nearbyMachine) findsIt(ctx context.Context, p *feed.Post) error {
	at, ok := p.Point()
	if !ok {
		return nil
	}
	page, err := c.w.svc.NearbyFeed(ctx, c.w.reader(p.Author), feed.Nearby{Point: at, Radius: 1}, 20, feed.Newest(), feed.Want{})
	if err != nil {
		return err
	}
	for _, it := range page.Items {
		if it.Post.ID == p.ID {
			return nil
		}
	}
	return fmt.Errorf("post %d at %v was published and is not there", p.ID, at)
}

func (c *nearbyMachine) run(t *rapid.T) {
	c.places = []geo.Point{rapid.SampledFrom(somewhere).Draw(t, "first place"), rapid.SampledFrom(somewhere).Draw(t, "second place")}
	for i := range 3 {
		c.m.people = append(c.m.people, c.w.person(fmt.Sprintf("p%d", i)))
	}
	working := true
	c.w.startWorkers()
	t.Repeat(map[string]func(*rapid.T){
		"publish":    c.publishAt,
		"publish2":   c.publishAt,
		"publish3":   c.publishAt,
		"repost":     c.repostAt,
		"delete":     c.remove,
		"block":      func(t *rapid.T) { c.relate(t, "block", (*feed.Service).Block, c.m.blocks, true) },
		"unblock":    func(t *rapid.T) { c.relate(t, "unblock", (*feed.Service).Unblock, c.m.blocks, false) },
		"mute":       func(t *rapid.T) { c.relate(t, "mute", (*feed.Service).Mute, c.m.mutes, true) },
		"unmute":     func(t *rapid.T) { c.relate(t, "unmute", (*feed.Service).Unmute, c.m.mutes, false) },
		"read":       c.readNear,
		"read2":      c.readNear,
		"read3":      c.readNear,
		"storm":      c.storm,
		"storm2":     c.storm,
		"flush":      func(*rapid.T) { c.w.flush() },
		"loseCells":  c.loseCells,
		"generation": c.raiseGeneration,
		"workers": func(*rapid.T) {
			if working = !working; working {
				c.w.startWorkers()
			} else {
				c.w.stopWorkers()
			}
		},
	})
	for _, p := range c.places {
		for _, reader := range append([]feed.ID{0}, c.m.people...) {
			at := feed.Nearby{Point: p, Radius: 5000}
			wantNearby(t, c.w, reader, at, 3, c.want(reader, at)...)
		}
	}
}

func TestEveryNearbyPageEqualsTheModelsWhateverHappens(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]backend{"embedded": onEmbedded, "redis": onRedis} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := start(t)
			n := 0
			rapid.Check(t, func(rt *rapid.T) {
				n++
				flushAll(t, url)
				set := smallLists()
				if n%3 == 0 { // cells that hold the posts of the last moments
					set.NearbyCellAge = 50 * time.Millisecond
				}
				w := openWorld(t, set, url, fmt.Sprintf("%s/%d.db", t.TempDir(), n))
				defer w.close()
				c := &nearbyMachine{machine: machine{w: w, m: newModel()}, url: url}
				c.run(rt)
			})
		})
	}
}
