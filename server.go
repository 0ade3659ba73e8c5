// Command feedgate is a GraphQL gateway for social feeds: it serves them, runs
// the workers that deliver posts, and imports, measures and signs for them.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"feedgate/fanout"
	"feedgate/feed"
	"feedgate/internal/auth"
	"feedgate/internal/bench"
	"feedgate/internal/config"
	"feedgate/internal/folder"
	"feedgate/internal/httpapi"
	"feedgate/internal/idgen"
	"feedgate/internal/importer"
	"feedgate/internal/lifecycle"
	"feedgate/internal/sample"
	"feedgate/internal/screen"
	"feedgate/internal/telemetry"
	"feedgate/store/embedded"
	"feedgate/store/mongo"
	"feedgate/store/redis"
	"feedgate/store/sqlite"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, release := lifecycle.UntilSignal(context.Background(), signals, func(os.Signal) { os.Exit(130) })
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	release()
	if err != nil {
		fmt.Fprintln(os.Stderr, "feedgate: "+err.Error())
		os.Exit(1)
	}
}

const overview = `feedgate serves social feeds over GraphQL.

Usage: feedgate [serve] [flags]         run the gateway and the workers
       feedgate import [flags] FILE...  read people, follows, posts and likes into the record
       feedgate token -user ID          print a signed token that says who reads
       feedgate bench [flags]           measure feeds, fan-out and round trips
       feedgate version                 print the version

With nothing else, "feedgate" keeps its data in ./data, fills it with a small sample world,
and prints where to look. "feedgate COMMAND --help" explains every setting.
`

// run is the whole program: it returns when the command is done, or has
// stopped because ctx ended.
func run(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	command := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, args = args[0], args[1:]
	}
	var err error
	switch command {
	case "serve":
		err = runServe(ctx, args, getenv, stdout)
	case "bench":
		err = runBench(ctx, args, getenv, stdout)
	case "import":
		err = runImport(ctx, args, getenv, stdout)
	case "token":
		err = runToken(args, getenv, stdout)
	case "version":
		_, err = fmt.Fprintln(stdout, "feedgate "+version())
	case "help":
		_, err = io.WriteString(stdout, overview)
	default:
		err = fmt.Errorf("%q is no command: run \"feedgate help\"", command)
	}
	if help, ok := errors.AsType[*config.HelpError](err); ok {
		_, err = io.WriteString(stdout, help.Text)
	}
	return err
}

// systemClock is the machine's.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func runToken(args []string, getenv func(string) string, stdout io.Writer) error {
	c, err := config.ParseToken(args, getenv)
	if err != nil {
		return err
	}
	user, err := feed.ParseID(strings.TrimPrefix(c.User, "user:"))
	if err != nil {
		return fmt.Errorf("-user %s: a user's id is a whole number, as in user:45", c.User)
	}
	tokens, err := auth.New(c.Auth.Secret, systemClock{})
	if err != nil {
		return err
	}
	token, err := tokens.Mint(user, c.TTL)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, token)
	return err
}

// settle is how long gateways may take to hear of a new generation.
const settle = 2 * time.Second

func runImport(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) (err error) {
	c, err := config.ParseImport(args, getenv)
	if err != nil {
		return err
	}
	rec, err := openRecord(ctx, c.Stores, newLog("warn", false), func(string) {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rec.Close(context.WithoutCancel(ctx))) }()
	conf := importer.Config{Record: rec, Clock: systemClock{}}
	if c.Rejects != "" {
		file, err := os.Create(c.Rejects) //nolint:gosec // the operator names the file
		if err != nil {
			return fmt.Errorf("-rejects: %w", err)
		}
		rejects := importer.NewRejects(file)
		conf.Reject = rejects.Add
		defer func() { err = errors.Join(err, rejects.Close()) }()
	}
	if !c.Quiet && isTerminal(stdout) {
		conf.Progress = importer.NewMeter(stdout, systemClock{}).Show
	}
	return importer.Run(ctx, conf, importer.Job{
		Files: c.Files, Stdin: os.Stdin, Strict: c.Strict, Settle: settle, Generation: rec, Out: stdout,
	})
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// version is that of the module, or of the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	return cmp.Or(strings.Trim(info.Main.Version, "()"), "devel") + " " + info.GoVersion
}

func newLog(level string, asJSON bool) *slog.Logger {
	var opts slog.HandlerOptions
	var parsed slog.Level
	if parsed.UnmarshalText([]byte(level)) == nil {
		opts.Level = parsed
	}
	if asJSON {
		return slog.New(slog.NewJSONHandler(os.Stderr, &opts))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &opts))
}

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
	service *feed.Service
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
	g.service = feed.New(feed.Config{
		Record: g.record, Hot: g.hot, Pulse: g.hot, Beats: g.record, Seen: g.record, Notices: g.record, Clock: systemClock{}, IDs: ids,
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
			RetireAfter: c.Feed.MarkGrace, // readers rely on it
			Small:       fanout.LaneSettings{Dispatches: c.Workers.SmallPosts, Executors: c.Workers.SmallExecutors},
			Bulk:        fanout.LaneSettings{Dispatches: c.Workers.BulkPosts, Executors: c.Workers.BulkExecutors},
		},
	})
	_, err := g.stack.Go(ctx, "workers", workers.Run)
	return err
}

func (g *gateway) handler(c *config.Serve) (http.Handler, error) {
	conf := httpapi.Config{
		Service: g.service, Clock: systemClock{}, Log: g.log, Metrics: g.metrics,
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
	all := httpapi.New(conf)
	if c.Role != config.RoleWorker {
		return all, nil
	}
	mux := http.NewServeMux() // workers answer for themselves only
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		mux.Handle("GET "+path, all)
	}
	return mux, nil
}

func newGateway(log *slog.Logger, grace time.Duration) *gateway {
	return &gateway{log: log, stack: lifecycle.NewStack(log, grace), metrics: httpapi.NewMetrics()}
}

func runServe(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) (err error) {
	c, err := config.ParseServe(args, getenv)
	if err != nil {
		return err
	}
	g := newGateway(newLog(c.LogLevel, c.LogJSON), c.Stop)
	defer func() { err = errors.Join(err, g.stack.Stop(ctx)) }()
	if err := g.openStores(ctx, c.Stores, bench.Taps{}); err != nil {
		return err
	}
	reader, err := g.sample(ctx, c)
	if err != nil {
		return err
	}
	if err := g.openService(ctx, c.Feed); err != nil {
		return err
	}
	if c.Role != config.RoleAPI {
		if err := g.openWorkers(ctx, c); err != nil {
			return err
		}
	}
	handler, err := g.handler(c)
	if err != nil {
		return err
	}
	addr, failed, err := g.listen(ctx, c, handler)
	if err != nil {
		return err
	}
	shown := screen.Screen{
		Version: version(), Addr: addr, Reader: reader, LastReader: sample.LastUser,
		Workers: c.Role == config.RoleWorker, Development: c.Development(),
	}
	if err := shown.Print(stdout); err != nil {
		return err
	}
	select {
	case err = <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
		g.log.InfoContext(ctx, "stopping")
		return nil
	}
}

// sample fills an empty record in development mode, and returns somebody to be.
func (g *gateway) sample(ctx context.Context, c *config.Serve) (*feed.User, error) {
	if !c.Development() || c.Role == config.RoleWorker {
		return nil, nil //nolint:nilnil // nobody to be
	}
	empty, err := g.record.Empty(ctx)
	if err != nil {
		return nil, err
	}
	if empty && c.Sample {
		if err := sample.Make(sampleSeed, time.Now()).Write(ctx, g.record); err != nil {
			return nil, err
		}
	}
	rows, err := g.record.UsersByID(ctx, []feed.ID{sample.FirstUser})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0].User, nil
}

const sampleSeed = 1

func (g *gateway) listen(ctx context.Context, c *config.Serve, handler http.Handler) (string, <-chan error, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", c.Addr)
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
	err = g.push(ctx, "listener", func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		if err != nil {
			err = errors.Join(err, server.Close())
		}
		<-served
		return err
	})
	return listener.Addr().String(), failed, err
}

func runBench(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	if len(args) > 0 && args[0] == "plain" {
		return bench.Plain(ctx, args[1:], systemClock{})
	}
	c, err := config.ParseBench(args, getenv)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return bench.Run(ctx, bench.Config{
		Bench: c, Open: openBench, Program: program, Clock: systemClock{}, Out: stdout, Notes: os.Stderr,
	})
}

// openBench makes a gateway without listener and workers, whose round trips are watched.
func openBench(ctx context.Context, redisURL, data string, taps bench.Taps) (_ *bench.Gateway, err error) {
	g := newGateway(newLog("warn", false), 10*time.Second)
	defer func() {
		if err != nil {
			err = errors.Join(err, g.stack.Stop(ctx))
		}
	}()
	if err := g.openStores(ctx, config.Stores{Data: data, RedisURL: redisURL}, taps); err != nil {
		return nil, err
	}
	if err := g.openService(ctx, feed.DefaultSettings()); err != nil {
		return nil, err
	}
	handler, err := g.handler(&config.Serve{Loopback: true, Role: config.RoleAPI})
	if err != nil {
		return nil, err
	}
	return &bench.Gateway{Handler: handler, Record: g.record, Generation: g.record, Hot: g.hot, Close: g.stack.Stop}, nil
}
