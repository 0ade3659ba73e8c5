package bench

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
)

// measureCommands counts the commands of a publish as more and more followers
// are connected, on a gateway without workers: no fan-out is counted.
func (b *bench) measureCommands(ctx context.Context) error {
	addr, err := freeAddr(ctx)
	if err != nil {
		return err
	}
	server, err := b.child("gateway without workers", b.Program, "serve", "-role", "api", "-addr", addr,
		"-redis-url", b.redisURL, "-data", filepath.Join(b.dir, "data"), "-log-level", "warn", "-sample=false")
	if err != nil {
		return err
	}
	defer server.stop()
	if err := server.await(ctx, serving(newTarget("", 1).client, "http://"+addr+"/readyz")); err != nil {
		return err
	}
	c, err := b.gather(addr)
	if err != nil {
		return err
	}
	defer c.stop()
	for n := 1; ; n = min(10*n, b.Sockets) {
		b.say("live: counting commands a publish with %d sockets", n)
		if _, err := c.ask(ctx, order{Open: n}); err != nil {
			return err
		}
		counted, err := b.commands(ctx, c, addr, n)
		if err != nil {
			return err
		}
		b.report.Live.Commands = append(b.report.Live.Commands, counted)
		if n == b.Sockets {
			return nil
		}
	}
}

// tally counts commands by name.
type tally map[string]float64

// since is by how much each has grown.
func (t tally) since(before tally) tally {
	grown := make(tally)
	for name, n := range t {
		if n > before[name] {
			grown[name] = n - before[name]
		}
	}
	return grown
}

func (t tally) sum() (n float64) {
	for _, of := range t {
		n += of
	}
	return n
}

// counts are the commands of all that use the Redis, and those of one gateway to the record.
type counts struct{ redis, record tally }

func (b *bench) counts(ctx context.Context, addr string) (counts, error) {
	c := counts{redis: make(tally), record: make(tally)}
	text, err := b.redis.Info(ctx, "commandstats").Result()
	if err != nil {
		return c, fmt.Errorf("asking Redis: %w", err)
	}
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, ":calls=")
		n, _, _ := strings.Cut(rest, ",")
		if calls, err := strconv.ParseFloat(n, 64); ok && err == nil {
			c.redis[strings.TrimPrefix(name, "cmdstat_")] = calls
		}
	}
	s, err := look(ctx, addr)
	if err != nil {
		return c, err
	}
	for name, n := range s {
		rest, ok := strings.CutPrefix(name, metricRecord)
		if command := strings.TrimSuffix(rest, `"}`); ok && !background(command) {
			c.record[command] = n
		}
	}
	return c, nil
}

// beat is a Redis command that only the heartbeat uses: it tells how often the
// background has come by, however busy the machine was.
const beat = "info"

// commands counts what a publish takes, less what goes on in the background.
func (b *bench) commands(ctx context.Context, c *talker, addr string, n int) (Commands, error) {
	if err := wait(ctx, b.Quiet/2); err != nil {
		return Commands{}, err
	}
	start, err := b.counts(ctx, addr)
	if err != nil {
		return Commands{}, err
	}
	if err := wait(ctx, b.Quiet); err != nil {
		return Commands{}, err
	}
	before, err := b.counts(ctx, addr)
	if err != nil {
		return Commands{}, err
	}
	text := fmt.Sprintf("counted with %d,", n)
	if _, err := c.ask(ctx, order{Author: nearAuthor, Publish: b.Publishes, Text: text, Pace: pace.Milliseconds()}); err != nil {
		return Commands{}, err
	}
	if err := wait(ctx, b.Quiet/2); err != nil {
		return Commands{}, err
	}
	after, err := b.counts(ctx, addr)
	if err != nil {
		return Commands{}, err
	}
	idle, busy := before.redis.since(start.redis), after.redis.since(before.redis)
	share := busy[beat] / max(idle[beat], 1)
	for name, n := range idle {
		busy[name] -= n * share
	}
	asked := after.record.since(before.record)
	each := func(t tally) tally {
		for name := range t {
			t[name] = math.Round(t[name]/float64(b.Publishes)*100) / 100
		}
		return t
	}
	counted := Commands{Online: n, ByRedis: each(busy), ByRecord: each(asked)}
	counted.Redis, counted.Record = counted.ByRedis.sum(), counted.ByRecord.sum()
	return counted, nil
}
