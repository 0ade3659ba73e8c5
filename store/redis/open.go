package redis

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Config says which Redis to use, and how.
type Config struct {
	// URL is redis:// or rediss:// for one server, and redis+cluster:// or
	// rediss+cluster:// with any number of host:port, comma-separated, for a
	// Cluster. User and password stand before the (first) host.
	URL string
	Log *slog.Logger
	// Consumer names this process in the streams' consumer groups. Names that
	// change with each start pile up there; "" is the same name for all.
	Consumer string
	// PoolSize is the highest number of connections to each server, 0 for 64.
	PoolSize int
	// OnRoundTrip is called after each awaited exchange with the number of its
	// commands, whatever the number of servers that took part. Nil is none.
	OnRoundTrip func(commands int)
	// Hook is added to the driver's client. Nil is none.
	Hook goredis.Hook
}

// Hot is the hot data. It is safe for concurrent use.
type Hot struct {
	client      goredis.UniversalClient
	waiting     goredis.UniversalClient // for commands that block
	cluster     bool
	consumer    string
	log         *slog.Logger
	scripts     scripts
	onRoundTrip func(commands int)
	gen         atomic.Int64
	mu          sync.Mutex
	tags        map[int]string // by slot, see tagOf
}

// Bounds on waiting for a server. One retry makes them twice as long at most.
const (
	dialTimeout = time.Second
	ioTimeout   = 2 * time.Second
	poolWait    = time.Second
	// redirects is how often a command follows a slot of a Cluster that moves.
	redirects = 3
	// topologyAge is how old a client's view of a Cluster may be: the driver's own
	// minute is how long it would go on asking a dead master.
	topologyAge = time.Second
)

// Open connects to Redis, loads the scripts and looks at the server's settings.
func Open(ctx context.Context, cfg Config) (*Hot, error) {
	h := &Hot{
		consumer:    cfg.Consumer,
		log:         cfg.Log,
		scripts:     newScripts(),
		onRoundTrip: cfg.OnRoundTrip,
		tags:        map[int]string{},
	}
	if h.consumer == "" {
		h.consumer = "feedgate"
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	if h.onRoundTrip == nil {
		h.onRoundTrip = func(int) {}
	}
	if cfg.PoolSize == 0 {
		cfg.PoolSize = 64
	}
	// The driver writes each failed connection to stderr, without bound. Its
	// errors come back to those who asked; they decide what to log.
	logging.Disable()
	if err := h.connect(cfg); err != nil {
		return nil, err
	}
	if err := h.loadScripts(ctx); err != nil {
		return nil, fmt.Errorf("open: %w", firstErr(unavailable("script load", err), h.Close()))
	}
	h.checkPolicy(ctx)
	return h, nil
}

// firstErr gives err, and forgets what went wrong after it.
func firstErr(err, _ error) error { return err }

func (h *Hot) connect(cfg Config) error {
	scheme, rest, ok := strings.Cut(cfg.URL, "://")
	if !ok {
		return fmt.Errorf("redis: %q is no URL", scheme)
	}
	plain, kind, _ := strings.Cut(scheme, "+")
	if kind == "" {
		opt, err := goredis.ParseURL(cfg.URL)
		if err != nil {
			return fmt.Errorf("redis: %w", hidden(err))
		}
		h.client = goredis.NewClient(single(opt, cfg.PoolSize))
		h.waiting = goredis.NewClient(single(opt, cfg.PoolSize))
	} else {
		if kind != "cluster" {
			return fmt.Errorf("redis: unknown scheme %q", scheme)
		}
		opt, err := clusterOptions(plain, rest)
		if err != nil {
			return err
		}
		h.cluster = true
		h.client = goredis.NewClusterClient(bounded(opt, cfg.PoolSize))
		h.waiting = goredis.NewClusterClient(bounded(opt, cfg.PoolSize))
	}
	if cfg.Hook != nil {
		h.client.AddHook(cfg.Hook)
		h.waiting.AddHook(cfg.Hook)
	}
	return nil
}

// hidden drops the URL, which may carry a password, from an error.
func hidden(err error) error {
	if u, ok := err.(*url.Error); ok { //nolint:errorlint // the driver returns it bare
		return u.Err
	}
	return err
}

func single(opt *goredis.Options, pool int) *goredis.Options {
	o := *opt
	o.Protocol = 2
	o.DialTimeout, o.DialerRetries = dialTimeout, 1
	o.ReadTimeout, o.WriteTimeout = ioTimeout, ioTimeout
	o.ContextTimeoutEnabled = true
	o.MaxRetries = 1
	o.PoolSize, o.PipelinePoolSize, o.PoolTimeout = pool, -1, poolWait
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &o
}

// clusterOptions reads user:password@host:port,host:port/?query.
func clusterOptions(scheme, rest string) (*goredis.ClusterOptions, error) {
	hosts, query, _ := strings.Cut(rest, "?")
	auth := ""
	if i := strings.LastIndexByte(hosts, '@'); i >= 0 {
		auth, hosts = hosts[:i+1], hosts[i+1:]
	}
	addrs := strings.Split(strings.TrimSuffix(hosts, "/"), ",")
	opt, err := goredis.ParseClusterURL(scheme + "://" + auth + addrs[0] + "?" + query)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", hidden(err))
	}
	opt.Addrs = addrs
	if opt.TLSConfig != nil {
		opt.TLSConfig.ServerName = "" // each node by its own name
	}
	return opt, nil
}

func bounded(opt *goredis.ClusterOptions, pool int) *goredis.ClusterOptions {
	o := *opt
	o.Protocol = 2
	o.DialTimeout, o.DialerRetries = dialTimeout, 1
	o.ReadTimeout, o.WriteTimeout = ioTimeout, ioTimeout
	o.ContextTimeoutEnabled = true
	o.MaxRedirects = redirects
	o.ClusterStateReloadInterval = topologyAge
	o.PoolSize, o.PipelinePoolSize, o.PoolTimeout = pool, -1, poolWait
	o.DisableIdentity = true
	o.DisableRoutingPolicies = true // each command has one key, or keys of one slot
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return &o
}

// eachMaster calls f with a client of each master.
func (h *Hot) eachMaster(ctx context.Context, f func(ctx context.Context, c *goredis.Client) error) error {
	switch c := h.client.(type) {
	case *goredis.ClusterClient:
		return c.ForEachMaster(ctx, f)
	case *goredis.Client:
		return f(ctx, c)
	default:
		return fmt.Errorf("redis: unknown client %T", c)
	}
}

func (h *Hot) loadScripts(ctx context.Context) error {
	return h.eachMaster(ctx, func(ctx context.Context, c *goredis.Client) error {
		_, err := c.Pipelined(ctx, func(p goredis.Pipeliner) error {
			for _, s := range h.scripts.all() {
				p.ScriptLoad(ctx, s.source)
			}
			return nil
		})
		return err
	})
}

// checkPolicy warns about a policy that does harm when memory is short. Many
// hosted servers forbid to ask; that is no fault.
func (h *Hot) checkPolicy(ctx context.Context) {
	_ = h.eachMaster(ctx, func(ctx context.Context, c *goredis.Client) error {
		got, err := c.ConfigGet(ctx, "maxmemory-policy").Result()
		policy := got["maxmemory-policy"]
		if err != nil || policy == "" || policy == "volatile-lru" {
			return nil //nolint:nilerr // nothing to warn about
		}
		limit, _ := c.ConfigGet(ctx, "maxmemory").Result()
		h.log.WarnContext(ctx, "redis should have the policy volatile-lru: noeviction refuses writes when memory is short, others evict queues and marks",
			slog.String("maxmemory_policy", policy), slog.String("maxmemory", limit["maxmemory"]), slog.String("addr", c.Options().Addr))
		return nil
	})
}

// Close ends all connections. Nothing else may be called after it.
func (h *Hot) Close() error {
	err := h.waiting.Close()
	if e := h.client.Close(); e != nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("redis: close: %w", err)
	}
	return nil
}
