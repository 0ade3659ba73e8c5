package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"feedgate/feed"
	"feedgate/feed/recommend"
	"feedgate/internal/bench"
	"feedgate/internal/config"
	"feedgate/internal/evaluate"
)

func runEvaluate(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	c, err := config.ParseEvaluate(args, getenv)
	if err != nil {
		return err
	}
	return evaluate.Run(ctx, evaluate.Config{
		Settings: c, Open: openWorld, Clock: systemClock{}, Out: stdout, Notes: os.Stderr,
	})
}

// usageSample is how many keys of a kind are asked for their size.
const usageSample = 2_000

// openWorld makes a feedgate without listener, with an empty record in a
// temporary folder and an empty Redis, both of which go with it.
func openWorld(ctx context.Context, redisURL string, clock feed.Clock) (_ *evaluate.World, err error) {
	g := newGateway(newLog("warn", false), 10*time.Second)
	defer func() {
		if err != nil {
			err = errors.Join(err, g.stack.Stop(ctx))
		}
	}()
	data, err := os.MkdirTemp("", "feedgate-evaluate-")
	if err != nil {
		return nil, fmt.Errorf("making a temporary folder: %w", err)
	}
	if err := g.push(ctx, "temporary folder", func(context.Context) error { return os.RemoveAll(data) }); err != nil {
		return nil, err
	}
	if err := g.openStores(ctx, config.Stores{Data: data, RedisURL: redisURL}, bench.Taps{}); err != nil {
		return nil, err
	}
	if err := g.emptyRedis(ctx); err != nil {
		return nil, err
	}
	g.service = feed.New(feed.Config{
		Record: g.record, Hot: g.hot, Pulse: g.hot, Beats: g.record, Seen: g.record, Notices: g.record,
		Tastes: g.record, Views: g.record, Clock: clock, Log: g.log, Settings: feed.DefaultSettings(),
	})
	if err := g.service.Start(ctx); err != nil {
		return nil, fmt.Errorf("looking at the hot data: %w", err)
	}
	return &evaluate.World{
		Record: g.record, Load: g.service, Close: g.stack.Stop,
		Learn: func(ctx context.Context, set recommend.Settings, users func(int)) error {
			return recommend.NewLearner(recommend.LearnerConfig{
				Hot: g.hot, Record: g.record, Generation: g.service.Generation, Clock: clock, Log: g.log, Settings: set,
				Hooks: recommend.LearnerHooks{Learned: users},
			}).LearnAll(ctx)
		},
		Engine: func(set recommend.Settings, lost func(string)) feed.Recommender {
			return recommend.New(recommend.Config{
				Hot: g.hot, Recent: g.record, Authors: g.record, Clock: clock, Log: g.log, Settings: set, Count: lost,
			})
		},
		Usage: func(ctx context.Context) ([]evaluate.Usage, error) {
			found, err := g.hot.Usage(ctx, usageSample)
			all := make([]evaluate.Usage, len(found))
			for i := range found {
				all[i] = evaluate.Usage(found[i])
			}
			return all, err
		},
	}, nil
}

// emptyRedis makes sure that nothing is in Redis that anybody needs, and has
// it emptied at the end.
func (g *gateway) emptyRedis(ctx context.Context) error {
	n, err := g.hot.Keys(ctx)
	if err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("the Redis of -redis-url holds %d keys: an evaluation needs an empty one, and empties it at its end "+
			"(another database of the same Redis will do: .../9)", n)
	}
	return g.push(ctx, "keys in Redis", g.hot.Clear)
}
