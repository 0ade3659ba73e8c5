package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"feedgate/feed"
	"feedgate/internal/config"
)

// Config is what a bench runs with.
type Config struct {
	*config.Bench
	Open    Opener
	Program string // the feedgate binary, for children
	Clock   feed.Clock
	Out     io.Writer
	Notes   io.Writer // what is being done, for people who wait
}

type bench struct {
	Config
	dir      string
	redisURL string
	redis    *redis.Client
	own      bool // the redis-server is ours
	children []*child
	gateway  *Gateway
	tap      *tap
	world    *world
	sights   *sights
	server   *child
	serverAt string
	payload  []byte // the simple query
	report   *Report
}

// Run measures and prints the report.
func Run(ctx context.Context, cfg Config) (err error) {
	b := &bench{Config: cfg, tap: &tap{}, report: newReport(cfg.Bench)}
	if b.payload, err = body(simpleQuery, map[string]any{"first": cfg.First}); err != nil {
		return err
	}
	if cfg.Target != "" {
		if err := b.measureTarget(ctx); err != nil {
			return err
		}
		return b.report.print(cfg.Out, cfg.JSON)
	}
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	if err := b.open(ctx); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		do   func(context.Context) error
	}{
		{config.BenchRead, b.measureRead},
		{config.BenchCPU, b.measureCPU},
		{config.BenchRecommend, b.measureRecommend},
		{config.BenchNearby, b.measureNearby},
		{config.BenchTrips, b.measureTrips},
		{config.BenchFanout, b.measureFanout},
		{config.BenchLive, b.measureLive}, // last: it stops the server
	} {
		if !b.Has(part.name) {
			continue
		}
		b.say("measuring %s", part.name)
		if err := part.do(ctx); err != nil {
			return fmt.Errorf("measuring %s: %w", part.name, err)
		}
	}
	return b.report.print(cfg.Out, cfg.JSON)
}

func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.Notes, "bench: "+format+"\n", args...) // nobody may be listening
}

// open starts Redis, makes the data and starts the server.
func (b *bench) open(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "feedgate-bench-"); err != nil {
		return err
	}
	if err := b.openRedis(ctx); err != nil {
		return err
	}
	data := filepath.Join(b.dir, "data")
	if b.gateway, err = b.Open(ctx, b.redisURL, data, b.tap.taps()); err != nil {
		return err
	}
	if err := b.fill(ctx); err != nil {
		return err
	}
	if b.serverAt, err = freeAddr(ctx); err != nil {
		return err
	}
	b.server, err = b.child("feedgate", b.Program, "serve", "-addr", b.serverAt, "-redis-url", b.redisURL, "-data", data,
		"-log-level", "warn", "-sample=false", "-nearby-cell-age", "0s")
	if err != nil {
		return err
	}
	t := newTarget("", 1)
	if err := b.server.await(ctx, serving(t.client, "http://"+b.serverAt+"/readyz")); err != nil {
		return err
	}
	if err := b.learned(ctx); err != nil {
		return err
	}
	if b.world == nil {
		return nil
	}
	b.say("building the inboxes of %d readers", len(b.world.readers()))
	warm := newTarget(b.url(), 4)
	readers := b.world.readers()
	return spread(4, 2*len(readers), func(_, i int) error {
		var buf bytes.Buffer
		return warm.post(ctx, readers[i%len(readers)], b.payload, &buf)
	})
}

// fill makes the data that the wanted parts need.
func (b *bench) fill(ctx context.Context) error {
	if b.Has(config.BenchRead) || b.Has(config.BenchCPU) || b.Has(config.BenchFanout) || b.Has(config.BenchTrips) {
		b.say("making %d people and %d posts", b.Users, b.Posts)
		b.world = newWorld(b.Bench, b.Clock.Now())
		if err := b.world.fill(ctx, b.gateway.Record); err != nil {
			return fmt.Errorf("making the data: %w", err)
		}
	}
	if b.Has(config.BenchFanout) {
		b.say("making %d followers", b.Followers)
		if err := b.world.followers(ctx, b.gateway.Record, b.Followers); err != nil {
			return fmt.Errorf("making the followers: %w", err)
		}
	}
	if b.Has(config.BenchRecommend) {
		if err := b.fans(ctx); err != nil {
			return fmt.Errorf("making people with tastes: %w", err)
		}
	}
	if b.Has(config.BenchNearby) || b.Has(config.BenchTrips) {
		if err := b.sightsee(ctx); err != nil {
			return fmt.Errorf("making posts with places: %w", err)
		}
	}
	if b.Has(config.BenchLive) {
		if err := b.people(ctx); err != nil {
			return fmt.Errorf("making the followers: %w", err)
		}
	}
	return nil
}

func (b *bench) url() string { return "http://" + b.serverAt + "/graphql" }

func (b *bench) child(name, program string, args ...string) (*child, error) {
	c, err := start(name, program, args...)
	if err == nil {
		b.children = append(b.children, c)
	}
	return c, err
}

func (b *bench) openRedis(ctx context.Context) error {
	b.redisURL = b.RedisURL
	if b.redisURL == "" {
		c, url, err := startRedis(ctx, b.dir)
		if err != nil {
			return err
		}
		b.children = append(b.children, c)
		b.redisURL, b.own = url, true
	}
	client, err := connect(b.redisURL, 64)
	if err != nil {
		return err
	}
	size, err := client.DBSize(ctx).Result()
	switch {
	case err != nil:
		return errors.Join(fmt.Errorf("asking Redis: %w", err), client.Close())
	case size > 0:
		return errors.Join(fmt.Errorf("the Redis of -redis-url holds %d keys: pass an empty one, or another database as in redis://HOST:PORT/9", size), client.Close())
	}
	b.redis = client
	return nil
}

// close stops everything, newest first, and leaves nothing behind.
func (b *bench) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var failed error
	for _, c := range slices.Backward(b.children) {
		if c.name != "redis-server" {
			c.stop()
		}
	}
	if b.gateway != nil {
		failed = b.gateway.Close(ctx)
	}
	if b.redis != nil {
		if !b.own { // it was empty before
			failed = errors.Join(failed, b.redis.FlushDB(ctx).Err())
		}
		failed = errors.Join(failed, b.redis.Close())
	}
	for _, c := range b.children {
		if c.name == "redis-server" {
			c.stop()
		}
	}
	if b.dir != "" {
		failed = errors.Join(failed, os.RemoveAll(b.dir))
	}
	return failed
}

// scripts records what each reader's query awaits, when all is warm.
func (b *bench) scripts(ctx context.Context) ([]*script, []byte, error) {
	var scripts []*script
	var first []byte
	for _, reader := range b.world.readers() {
		s, answer, err := b.record(ctx, reader, b.payload)
		if err != nil {
			return nil, nil, err
		}
		scripts = append(scripts, s)
		if first == nil {
			first = answer
		}
	}
	return scripts, first, nil
}

// measureRead compares followFeed over HTTP with its bare commands, one client.
func (b *bench) measureRead(ctx context.Context) error {
	scripts, _, err := b.scripts(ctx)
	if err != nil {
		return err
	}
	b.report.Read, err = b.beside(ctx, scripts, func(int) []byte { return b.payload })
	return err
}

// beside times queries over HTTP, one client, and their bare commands by turns.
// payload gives the query of each script.
func (b *bench) beside(ctx context.Context, scripts []*script, payload func(i int) []byte) (*Read, error) {
	t := newTarget(b.url(), 1)
	bare := make([][]together, len(scripts))
	for i, s := range scripts {
		bare[i] = s.waves()
	}
	var p50, p99, bare50, ratio []float64
	var buf bytes.Buffer
	for range b.Rounds {
		served, err := timed(b.Clock, b.Requests, func(i int) error {
			i %= len(scripts)
			return t.post(ctx, scripts[i].Reader, payload(i), &buf)
		})
		if err != nil {
			return nil, err
		}
		alone, err := timed(b.Clock, b.Requests, func(i int) error {
			for _, w := range bare[i%len(bare)] {
				if err := w.run(ctx, b.redis); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		p50 = append(p50, micros(percentile(served, 0.5)))
		p99 = append(p99, micros(percentile(served, 0.99)))
		bare50 = append(bare50, micros(percentile(alone, 0.5)))
		ratio = append(ratio, p50[len(p50)-1]/bare50[len(bare50)-1])
	}
	return &Read{
		P50: median(p50), P99: median(p99), Bare: median(bare50), Ratio: median(ratio),
		Trips: len(scripts[0].Trips), Commands: scripts[0].commands(),
	}, nil
}

// cpuFactor is how many more requests a round of cpu has, since /proc counts in hundredths of a second.
const cpuFactor = 10

// measureCPU compares processor time a request with that of the plain handler.
func (b *bench) measureCPU(ctx context.Context) error {
	scripts, answer, err := b.scripts(ctx)
	if err != nil {
		return err
	}
	path := filepath.Join(b.dir, "scripts.json")
	if err := writeScripts(path, scripts); err != nil {
		return err
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return err
	}
	hand, err := b.child("plain handler", b.Program, "bench", "plain", addr, b.redisURL, path, strconv.Itoa(b.First))
	if err != nil {
		return err
	}
	sides := []struct {
		of *child
		to *target
	}{{b.server, newTarget(b.url(), b.Clients)}, {hand, newTarget("http://"+addr+"/", b.Clients)}}
	if err := hand.await(ctx, serving(sides[1].to.client, sides[1].to.url)); err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := sides[1].to.post(ctx, scripts[0].Reader, b.payload, &buf); err != nil {
		return fmt.Errorf("the plain handler: %w", err)
	}
	if err := sameAnswer(answer, buf.Bytes()); err != nil {
		return err
	}
	requests := b.Requests * cpuFactor
	var used, rate [2][]float64
	var ratio []float64
	for range b.Rounds {
		for i, side := range sides {
			before, err := side.of.cpu()
			if err != nil {
				return err
			}
			bufs := make([]bytes.Buffer, b.Clients)
			start := b.Clock.Now()
			err = spread(b.Clients, requests, func(worker, n int) error {
				return side.to.post(ctx, scripts[n%len(scripts)].Reader, b.payload, &bufs[worker])
			})
			if err != nil {
				return err
			}
			took := b.Clock.Now().Sub(start)
			after, err := side.of.cpu()
			if err != nil {
				return err
			}
			used[i] = append(used[i], micros(after-before)/float64(requests))
			rate[i] = append(rate[i], float64(requests)/took.Seconds())
		}
		last := len(used[0]) - 1
		ratio = append(ratio, used[0][last]/max(used[1][last], 1))
	}
	b.report.CPU = &CPU{
		Micros: median(used[0]), Plain: median(used[1]), Ratio: median(ratio),
		Rate: median(rate[0]), PlainRate: median(rate[1]), Clients: b.Clients,
	}
	return nil
}

// sameAnswer checks that two answers say the same, but for the cursor, which
// carries the time.
func sameAnswer(a, b []byte) error {
	var docs [2]map[string]any
	for i, text := range [][]byte{a, b} {
		if err := json.Unmarshal(text, &docs[i]); err != nil {
			return err
		}
		dropCursor(docs[i])
	}
	if !reflect.DeepEqual(docs[0], docs[1]) {
		return fmt.Errorf("the plain handler answers otherwise, so nothing can be compared:\n%.600s\n%.600s", a, b)
	}
	return nil
}

func dropCursor(v any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	delete(m, "endCursor")
	delete(m, "extensions")
	for _, inner := range m {
		dropCursor(inner)
	}
}

// measureTarget reads from a running server.
func (b *bench) measureTarget(ctx context.Context) error {
	var readers []feed.ID
	for _, id := range splitIDs(b.As) {
		n, err := feed.ParseID(id)
		if err != nil {
			return fmt.Errorf("-as: %q is no user's id", id)
		}
		readers = append(readers, n)
	}
	if len(readers) == 0 {
		readers = []feed.ID{0}
	}
	one, many := newTarget(b.Target, 1), newTarget(b.Target, b.Clients)
	one.token, many.token = b.Token, b.Token
	var p50, p99, rate []float64
	var buf bytes.Buffer
	for range b.Rounds {
		took, err := timed(b.Clock, b.Requests, func(i int) error {
			return one.post(ctx, readers[i%len(readers)], b.payload, &buf)
		})
		if err != nil {
			return err
		}
		p50 = append(p50, micros(percentile(took, 0.5)))
		p99 = append(p99, micros(percentile(took, 0.99)))
		bufs := make([]bytes.Buffer, b.Clients)
		start := b.Clock.Now()
		if err := spread(b.Clients, b.Requests, func(worker, i int) error {
			return many.post(ctx, readers[i%len(readers)], b.payload, &bufs[worker])
		}); err != nil {
			return err
		}
		rate = append(rate, float64(b.Requests)/b.Clock.Now().Sub(start).Seconds())
	}
	b.report.Target = &Target{P50: median(p50), P99: median(p99), Rate: median(rate), Clients: b.Clients}
	return nil
}

// wait pauses for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
