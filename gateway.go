package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"feedgate/fanout"
	"feedgate/feed"
	"feedgate/feed/live"
	"feedgate/feed/recommend"
	"feedgate/internal/auth"
	"feedgate/internal/bench"
	"feedgate/internal/config"
	"feedgate/internal/folder"
	"feedgate/internal/httpapi"
	"feedgate/internal/idgen"
	"feedgate/internal/lifecycle"
	"feedgate/internal/telemetry"
	"feedgate/store/embedded"
	"feedgate/store/mongo"
	"feedgate/store/redis"
	"feedgate/store/sqlite"
)

// record is everything that a store of the truth can do.
type record interface {
	feed.Record
	feed.DutyRecord
	feed.CounterRecord
	feed.HeartbeatRecord
	feed.ProcessRecord
	feed.ImportRecord
	feed.SeenRecord
	feed.NoticeRecord
	feed.TasteRecord
	feed.ViewRecord
	feed.PlaceRecord
	Close(ctx context.Context) error
}

// openRecord opens MongoDB or SQLite, and says what to do when it cannot.
// Trip is told of each awaited command.
func openRecord(ctx context.Context, c config.Stores, log *slog.Logger, trip func(command string)) (record, error) {
	if c.MongoURL != "" {
		rec, err := mongo.Open(ctx, c.MongoURL, c.MongoDatabase(), log, mongo.WithHook(trip))
		if err != nil {
			return nil, fmt.Errorf("reaching MongoDB (is FEEDGATE_MONGO_URL right, and does it run?): %w", err)
		}
		return rec, nil
	}
	path := filepath.Join(c.Data, "feedgate.db")
	rec, err := sqlite.Open(ctx, path, log, sqlite.WithHook(trip))
	if err != nil {
		return nil, fmt.Errorf("opening the record %s (choose another folder with -data): %w", path, err)
	}
	return rec, nil
}

// gateway is a feedgate being put together: each step pushes what it started
// onto the stack, which stops it in the reverse order.
type gateway struct {
	log     *slog.Logger
	stack   *lifecycle.Stack
	metrics *httpapi.Metrics
	record  record
	hot     *redis.Hot
	ranking recommend.Settings // of engine and learner
	service *feed.Service
	hub     *live.Hub
}

// openStores takes the data folder and opens hot data and record.
func (g *gateway) openStores(ctx context.Context, c config.Stores, taps bench.Taps) error {
	if c.MongoURL == "" {
		if err := g.takeFolder(ctx, c); err != nil {
			return err
		}
	}
	url := c.RedisURL
	if url == "" {
		inside, err := embedded.Open(ctx, systemClock{}, g.log, int64(c.Memory)<<20)
		if err != nil {
			return fmt.Errorf("starting the in-process Redis: %w", err)
		}
		if err := g.push(ctx, "in-process Redis", func(context.Context) error { inside.Close(); return nil }); err != nil {
			return err
		}
		telemetry.InProcessRedis(g.metrics.Registry(), inside.Size, inside.Evicted)
		url = inside.URL()
	}
	trips := g.metrics.RoundTrips("record")
	rec, err := openRecord(ctx, c, g.log, func(command string) {
		trips()
		g.metrics.RecordCommand(command)
		if taps.Record != nil {
			taps.Record(command)
		}
	})
	if err != nil {
		return err
	}
	g.record = rec
	if err := g.push(ctx, "record", rec.Close); err != nil {
		return err
	}
	awaited := g.metrics.RoundTrips("redis")
	g.hot, err = redis.Open(ctx, redis.Config{
		URL: url, Log: g.log, Hook: taps.Redis, OnRoundTrip: func(int) { awaited() },
	})
	if err != nil {
		return fmt.Errorf("reaching Redis (is FEEDGATE_REDIS_URL right, and does it run?): %w", err)
	}
	return g.push(ctx, "hot data", func(context.Context) error { return g.hot.Close() })
}

// push adds what was started; when the process is stopping already, it is stopped at once.
func (g *gateway) push(ctx context.Context, name string, stop func(context.Context) error) error {
	if err := g.stack.Push(name, stop); err != nil {
		return errors.Join(err, stop(context.WithoutCancel(ctx)))
	}
	return nil
}

func (g *gateway) takeFolder(ctx context.Context, c config.Stores) error {
	use := folder.Shared
	if c.RedisURL == "" {
		use = folder.Alone
	}
	release, err := folder.Lock(c.Data, use)
	if errors.Is(err, folder.ErrTaken) {
		return fmt.Errorf("another feedgate uses the folder %s: stop it, choose another folder with -data, "+
			"or set FEEDGATE_REDIS_URL for both, so that they share a Redis as well", c.Data)
	}
	if err != nil {
		return fmt.Errorf("%w (choose another folder with -data)", err)
	}
	return g.push(ctx, "data folder", func(context.Context) error { return release() })
}

// openService starts what all roles need: ids, and the watch over the hot data.
func (g *gateway) openService(ctx context.Context, settings feed.Settings) error {
	ids := idgen.New(g.record, systemClock{}, g.log, idgen.Settings{})
	if err := ids.Start(ctx); err != nil {
		return fmt.Errorf("leasing a process number: %w", err)
	}
	if _, err := g.stack.Go(ctx, "ids", ids.Run); err != nil {
		return err
	}
	engine := recommend.New(recommend.Config{
		Hot: g.hot, Recent: g.record, Authors: g.record, Clock: systemClock{}, Log: g.log, Settings: g.ranking,
		Count: telemetry.SourcesLost(g.metrics.Registry(), recommend.SourceNames()),
	})
	g.service = feed.New(feed.Config{
		Record: g.record, Hot: g.hot, Pulse: g.hot, Beats: g.record, Seen: g.record, Notices: g.record,
		Tastes: g.record, Views: g.record, Recommender: engine, Clock: systemClock{}, IDs: ids,
		Log: g.log, Settings: settings, Count: g.metrics.Event,
	})
	if err := g.service.Start(ctx); err != nil {
		return fmt.Errorf("looking at the hot data: %w", err)
	}
	_, err := g.stack.Go(ctx, "service", g.service.Run)
	return err
}

func (g *gateway) openWorkers(ctx context.Context, c *config.Serve) error {
	m := telemetry.NewWorkers(g.metrics.Registry())
	workers := fanout.New(fanout.Config{
		Record: g.record, Bells: g.hot, Tasks: g.hot, Inboxes: g.hot, Marks: g.hot, Readers: g.hot, Hot: g.hot,
		Clock: systemClock{}, Log: g.log,
		Hooks: fanout.Hooks{
			TaskExecuted: m.TaskExecuted, TaskRetried: m.TaskRetried, TaskBuried: m.TaskBuried,
			DutyDone: m.DutyDone, DutyFailed: m.DutyFailed, DutyRestart: m.DutyRestart, DutyLag: m.DutyLag,
			MarksRetired: m.MarksRetired, Recounted: m.Recounted, Pruned: m.Pruned,
		},
		Settings: fanout.Settings{
			InboxLength: c.Feed.InboxLength, InboxSlack: c.Feed.InboxSlack, ActiveWindow: c.Feed.ActiveWindow,
			NearbyCellLength: c.Feed.NearbyCellLength, NearbyCellAge: c.Feed.NearbyCellAge,
			RetireAfter: c.Feed.MarkGrace, // readers rely on it
			Small:       fanout.LaneSettings{Dispatches: c.Workers.SmallPosts, Executors: c.Workers.SmallExecutors},
			Bulk:        fanout.LaneSettings{Dispatches: c.Workers.BulkPosts, Executors: c.Workers.BulkExecutors},
		},
	})
	if _, err := g.stack.Go(ctx, "workers", workers.Run); err != nil {
		return err
	}
	lm := telemetry.NewLearner(g.metrics.Registry())
	learner := recommend.NewLearner(recommend.LearnerConfig{
		Hot: g.hot, Record: g.record, Generation: g.service.Generation, Clock: systemClock{}, Log: g.log,
		Settings: g.ranking,
		Hooks:    recommend.LearnerHooks{Learned: lm.Learned, Failed: lm.Failed, Lost: lm.Lost, Building: lm.Building, Serving: lm.Serving},
	})
	_, err := g.stack.Go(ctx, "learner", learner.Run)
	return err
}

// openHub starts what keeps the red dots of connected readers.
func (g *gateway) openHub(ctx context.Context) error {
	g.hub = live.New(live.Config{
		Deriver: g.service, Log: g.hot, Clock: systemClock{}, Logger: g.log, Generation: g.service.Generation,
	})
	telemetry.ConnectedReaders(g.metrics.Registry(), g.hub.Connected)
	_, err := g.stack.Go(ctx, "connected readers", g.hub.Run)
	return err
}

func (g *gateway) server(c *config.Serve) (*httpapi.Server, error) {
	conf := httpapi.Config{
		Service: g.service, Clock: systemClock{}, Log: g.log, Metrics: g.metrics, Hub: g.hub, Sockets: httpapi.Sockets(c.Sockets),
		Dev: c.Development(), Timeout: c.Timeout,
		Ready: map[string]func(context.Context) error{
			"record": func(ctx context.Context) error { _, err := g.record.Generation(ctx); return err },
			"redis":  func(ctx context.Context) error { _, err := g.hot.Beat(ctx, 0, nil); return err },
		},
	}
	if c.Auth.Set() {
		tokens, err := auth.New(c.Auth.Secret, systemClock{})
		if err != nil {
			return nil, err
		}
		conf.Tokens = tokens
	}
	return httpapi.New(conf), nil
}

// duties leaves of a server what workers answer: for themselves only.
func duties(all http.Handler) http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		mux.Handle("GET "+path, all)
	}
	return mux
}

// listen serves until its turn to stop comes: then nobody is let in any more,
// sockets and streams are told to come back elsewhere, and requests under way
// are answered.
func (g *gateway) listen(ctx context.Context, c *config.Serve, all *httpapi.Server) (string, <-chan error, error) {
	var handler http.Handler = all
	if c.Role == config.RoleWorker {
		handler = duties(all)
	}
	listener, err := httpapi.Listen(ctx, c.Addr)
	if err != nil {
		return "", nil, fmt.Errorf("listening on %s (choose another address with -addr): %w", c.Addr, err)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: c.Timeout + 30*time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	err = g.push(ctx, "listener and sockets", func(ctx context.Context) error {
		var drained sync.WaitGroup
		var errDrain error
		// Shutdown closes the listener at once, and waits for streams: they must end
		// meanwhile. Half of the time is for the rest of the process.
		drained.Go(func() { errDrain = drain(ctx, all) })
		err := server.Shutdown(ctx)
		drained.Wait()
		if err != nil {
			err = errors.Join(err, server.Close())
		}
		<-served
		return errors.Join(errDrain, err)
	})
	return listener.Addr().String(), failed, err
}

// drain ends sockets and streams within half of what is left of the time.
func drain(ctx context.Context, all *httpapi.Server) error {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, end.Sub(systemClock{}.Now())/2)
		defer cancel()
	}
	return all.Drain(ctx)
}
