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
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"feedgate/feed"
	"feedgate/feed/recommend"
	"feedgate/internal/auth"
	"feedgate/internal/bench"
	"feedgate/internal/config"
	"feedgate/internal/httpapi"
	"feedgate/internal/importer"
	"feedgate/internal/lifecycle"
	"feedgate/internal/sample"
	"feedgate/internal/screen"
	"feedgate/internal/watch"
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
       feedgate watch -user ID          print somebody's red dots as they come
       feedgate bench [flags]           measure feeds, fan-out and round trips
       feedgate evaluate -likes FILE    measure how well recommendations find hidden likes
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
	case "evaluate":
		err = runEvaluate(ctx, args, getenv, stdout)
	case "import":
		err = runImport(ctx, args, getenv, stdout)
	case "token":
		err = runToken(args, getenv, stdout)
	case "watch":
		err = runWatch(ctx, args, getenv, stdout)
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

func runWatch(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	c, err := config.ParseWatch(args, getenv)
	if err != nil {
		return err
	}
	url, err := watch.Endpoint(c.URL)
	if err != nil {
		return fmt.Errorf("-url: %w", err)
	}
	introduce, err := introduction(c)
	if err != nil {
		return err
	}
	return watch.New(watch.Config{
		URL: url, Introduce: introduce, Renews: c.Token == "", Clock: systemClock{}, Out: stdout, Colour: isTerminal(stdout), FirstPause: time.Second,
	}).Run(ctx)
}

// introduction says who watches: by the token given, by one made for each
// connection, or, to a server in development mode, by name.
func introduction(c *config.Watch) (func() (map[string]string, error), error) {
	if c.Token != "" {
		return func() (map[string]string, error) { return map[string]string{"token": c.Token}, nil }, nil
	}
	user, err := feed.ParseID(strings.TrimPrefix(c.User, "user:"))
	if err != nil {
		return nil, fmt.Errorf("-user %s: a user's id is a whole number, as in user:45", c.User)
	}
	if !c.Auth.Set() {
		return func() (map[string]string, error) { return map[string]string{"user": user.String()}, nil }, nil
	}
	tokens, err := auth.New(c.Auth.Secret, systemClock{})
	if err != nil {
		return nil, err
	}
	return func() (map[string]string, error) {
		token, err := tokens.Mint(user, watchTTL)
		return map[string]string{"token": token}, err
	}, nil
}

// watchTTL is how long the tokens hold that watch makes for itself.
const watchTTL = 24 * time.Hour

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

func newGateway(log *slog.Logger, grace time.Duration) *gateway {
	return &gateway{
		log: log, stack: lifecycle.NewStack(log, grace), metrics: httpapi.NewMetrics(), ranking: recommend.DefaultSettings(),
	}
}

func runServe(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) (err error) {
	c, err := config.ParseServe(args, getenv)
	if err != nil {
		return err
	}
	g := newGateway(newLog(c.LogLevel, c.LogJSON), c.Stop)
	g.ranking = c.Recommend
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
	if c.Role != config.RoleWorker {
		if err := g.openHub(ctx); err != nil {
			return err
		}
	}
	all, err := g.server(c)
	if err != nil {
		return err
	}
	addr, failed, err := g.listen(ctx, c, all)
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

func runBench(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	if len(args) > 0 && args[0] == "plain" {
		return bench.Plain(ctx, args[1:], systemClock{})
	}
	if len(args) > 0 && args[0] == "crowd" {
		return bench.Crowd(ctx, args[1:], systemClock{}, os.Stdin, stdout)
	}
	if len(args) > 0 && args[0] == "rivals" {
		return bench.Rivals(ctx, args[1:], systemClock{})
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
	set := feed.DefaultSettings()
	set.NearbyCellAge = 0 // as the server that is measured: posts may be of any time
	if err := g.openService(ctx, set); err != nil {
		return nil, err
	}
	all, err := g.server(&config.Serve{Loopback: true, Role: config.RoleAPI})
	if err != nil {
		return nil, err
	}
	return &bench.Gateway{Handler: all, Record: g.record, Generation: g.record, Hot: g.hot, Close: g.stack.Stop}, nil
}
