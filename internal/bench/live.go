package bench

import (
	"context"
	"fmt"
	"time"

	"feedgate/feed"
)

// Ids of the part live.
const (
	nearAuthor   feed.ID = 9_100_000 // followed by all who are connected
	farAuthor    feed.ID = 9_100_001 // and by those who are not there
	firstOther   feed.ID = 9_100_002 // the first of the others that everybody follows
	firstPresent feed.ID = 100_000_000
	firstAbsent  feed.ID = 200_000_000
)

const (
	othersFollowed = 18 // besides the two authors
	absentAtOnce   = 100_000
	waves          = "the wave of round"
	pace           = 500 * time.Millisecond // between two posts while commands are counted
)

// people writes the authors, those who are connected and those who are not there.
func (b *bench) people(ctx context.Context) error {
	b.say("making %d followers who are connected, and %d who are not there", b.Sockets, b.Offline)
	w := &world{now: b.Clock.Now(), conf: b.Bench}
	record := b.gateway.Record
	users := []feed.User{w.user(nearAuthor, "near"), w.user(farAuthor, "far")}
	for i := range othersFollowed {
		users = append(users, w.user(firstOther+feed.ID(i), "other"))
	}
	authors := users
	since := w.now.Add(-span).UnixMilli()
	var edges []feed.Follow
	for i := range b.Sockets {
		id := firstPresent + feed.ID(i)
		users = append(users, w.user(id, "present"))
		for _, a := range authors {
			edges = append(edges, feed.Follow{Follower: id, Followee: a.ID, At: since})
		}
	}
	err := firstError(
		func() error { return put(ctx, users, record.ImportUsers) },
		func() error { return put(ctx, edges, record.ImportFollows) },
	)
	for done := 0; done < b.Offline && err == nil; done += absentAtOnce {
		users, edges = users[:0], edges[:0]
		for i := done; i < min(done+absentAtOnce, b.Offline); i++ {
			id := firstAbsent + feed.ID(i)
			users = append(users, w.user(id, "absent"))
			edges = append(edges, feed.Follow{Follower: id, Followee: farAuthor, At: since})
		}
		err = firstError(
			func() error { return put(ctx, users, record.ImportUsers) },
			func() error { return put(ctx, edges, record.ImportFollows) },
		)
		b.say("%d of %d written", done+len(users), b.Offline)
	}
	if err != nil {
		return err
	}
	b.say("counting their followers")
	if err := record.RecountAll(ctx, func(int64, int64) {}); err != nil {
		return err
	}
	if b.Active {
		return b.activate(ctx, firstAbsent, b.Offline)
	}
	return nil
}

// measureLive measures red dots.
func (b *bench) measureLive(ctx context.Context) error {
	b.report.Live = &Live{Sockets: b.Sockets, Offline: b.Offline, Active: b.Active}
	if err := b.measureWaves(ctx); err != nil {
		return err
	}
	b.server.stop()
	return b.measureCommands(ctx)
}

// measureWaves measures what idle sockets cost, and how long posts take to all of them.
func (b *bench) measureWaves(ctx context.Context) error {
	live := b.report.Live
	b.say("live: looking at the server without sockets")
	var err error
	if live.Before, err = b.usage(ctx, b.serverAt, firstPresent); err != nil {
		return err
	}
	c, err := b.gather(b.serverAt)
	if err != nil {
		return err
	}
	defer c.stop()
	b.say("live: opening %d sockets", b.Sockets)
	opened, err := c.ask(ctx, order{Open: b.Sockets})
	if err != nil {
		return err
	}
	b.say("live: open after %.1f s; looking at the server with all of them idle", opened.Took/1e6)
	live.Opened = opened.Took
	if live.Idle, err = b.usage(ctx, b.serverAt, firstPresent); err != nil {
		return err
	}
	live.Each = live.Idle.each(live.Before, b.Sockets)
	t := newTarget(b.url(), 1)
	for round := range b.Rounds + 1 { // the first one warms up
		for _, side := range []struct {
			name      string
			author    feed.ID
			followers int
			waves     *[]Wave
		}{
			{"near", nearAuthor, b.Sockets, &live.Near},
			{"far", farAuthor, b.Sockets + b.Offline, &live.Far},
		} {
			got, err := c.ask(ctx, order{Author: side.author, Publish: 1, Text: fmt.Sprintf("%s %d, %s author,", waves, round, side.name)})
			if err != nil {
				return err
			}
			start := b.Clock.Now()
			if err := b.delivered(ctx, t, side.author, got.Waves[0].Post, side.followers); err != nil {
				return err
			}
			b.say("live: round %d, %d followers: all %d sockets after %.0f ms, all inboxes %.1f s later", round, side.followers, b.Sockets,
				got.Waves[0].Last/1000, b.Clock.Now().Sub(start).Seconds())
			if round > 0 {
				*side.waves = append(*side.waves, got.Waves[0])
			}
			if err := wait(ctx, b.Quiet/2); err != nil {
				return err
			}
		}
	}
	live.Ratio50, live.RatioLast = ratios(live.Far, live.Near)
	return nil
}

// ratios compares the medians of two sides.
func ratios(far, near []Wave) (p50, last float64) {
	of := func(waves []Wave, f func(Wave) float64) float64 { return median(column(waves, f)) }
	half, end := func(w Wave) float64 { return w.P50 }, func(w Wave) float64 { return w.Last }
	return of(far, half) / of(near, half), of(far, end) / of(near, end)
}

func column(waves []Wave, f func(Wave) float64) []float64 {
	values := make([]float64, len(waves))
	for i, w := range waves {
		values[i] = f(w)
	}
	return values
}
