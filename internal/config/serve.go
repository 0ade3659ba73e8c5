package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"feedgate/feed"
	"feedgate/feed/recommend"
)

// Role says which parts of feedgate a process runs.
type Role string

// The roles.
const (
	RoleAll    Role = "all"    // gateway and workers
	RoleAPI    Role = "api"    // the gateway alone
	RoleWorker Role = "worker" // the workers alone, with health and metrics
)

// Stores says where the record and the hot data live.
type Stores struct {
	Data     string // the folder of the SQLite record
	RedisURL string // "" for the in-process Redis
	Memory   int    // MiB that the in-process Redis may take
	MongoURL string // "" for SQLite
}

// MongoDatabase is the database that MongoURL names.
func (c *Stores) MongoDatabase() string {
	_, rest, _ := strings.Cut(c.MongoURL, "://")
	_, path, _ := strings.Cut(rest, "/")
	name, _, _ := strings.Cut(path, "?")
	return cmp.Or(name, "feedgate")
}

// Serve is what the server runs with.
type Serve struct {
	Addr      string
	Role      Role
	Stores    Stores
	Auth      Auth
	Feed      feed.Settings
	Recommend recommend.Settings
	FeedMode  string
	Workers   Workers
	Sockets   Sockets
	Timeout   time.Duration
	Sample    bool
	Stop      time.Duration
	LogLevel  string
	LogJSON   bool
	Loopback  bool // Addr can be reached from this machine alone
}

// Development reports whether requests may name their reader without a token.
func (c *Serve) Development() bool { return c.Loopback && !c.Auth.Set() }

// ParseServe reads the settings of the server.
func ParseServe(args []string, getenv func(string) string) (*Serve, error) {
	c := &Serve{}
	s := c.settings(getenv)
	rest, err := s.Parse(args)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, &UsageError{Command: "serve", Text: fmt.Sprintf("%q is no flag: serve takes flags only.", rest[0])}
	}
	keepSimilar(&c.Recommend)
	if err := c.check(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Serve) settings(getenv func(string) string) *Set {
	s := NewSet("serve",
		"Serve the feeds over GraphQL, and run the workers that deliver published posts.", "", getenv)
	s.Group("Where it listens")
	s.String(&c.Addr, "addr", "HOST:PORT", "127.0.0.1:8080",
		"The address to listen on; port 0 takes a free one. On an address that other machines can reach, "+
			"-auth-secret must be set.", checkAddr)
	Choice(s, &c.Role, "role", RoleAll, []Role{RoleAll, RoleAPI, RoleWorker},
		"Which parts to run: the gateway, the workers, or both. Parts in several processes need -redis-url.")
	addStores(s, &c.Stores)
	Number(s, &c.Stores.Memory, "redis-memory", 256, 16, 65_536,
		"MiB that the in-process Redis may take, about; above it, what was not used lately is dropped and read anew.")
	addAuth(s, &c.Auth)
	addFeed(s, &c.Feed)
	addRecommend(s, &c.Recommend)
	Choice(s, &c.FeedMode, "feed-mode", "push", []string{"push"},
		"How posts reach readers. Only push is built: each post goes into the inbox of each active follower.")
	addWorkers(s, &c.Workers)
	addSockets(s, &c.Sockets)
	s.Group("Everything else")
	s.Duration(&c.Timeout, "request-timeout", 10*time.Second, 100*time.Millisecond, 5*time.Minute,
		"How long one request may take.")
	s.Bool(&c.Sample, "sample", true,
		"In development mode, fill an empty record with a small sample world.")
	s.Duration(&c.Stop, "stop-timeout", 20*time.Second, time.Second, 10*time.Minute,
		"How long stopping may take before what is left is cut off.")
	Choice(s, &c.LogLevel, "log-level", "info", []string{"debug", "info", "warn", "error"},
		"The least weighty lines that are logged.")
	s.Bool(&c.LogJSON, "log-json", false, "Log one JSON object a line.")
	s.Outro(`Examples:
  feedgate                                     everything in one process, data in ./data
  feedgate -redis-url redis://127.0.0.1:6379   a real Redis, the record in ./data
  feedgate -addr 0.0.0.0:8080 -auth-secret "$SECRET" \
      -redis-url redis://redis:6379 -mongo-url mongodb://mongo:27017/feedgate`)
	return s
}

func (c *Serve) check() error {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return &UsageError{Command: "serve", Text: "-addr: " + err.Error() + "."}
	}
	ip := net.ParseIP(host)
	c.Loopback = host == "localhost" || (ip != nil && ip.IsLoopback())
	if !c.Loopback && !c.Auth.Set() && c.Role != RoleWorker {
		return &UsageError{Command: "serve", Text: fmt.Sprintf(
			"Refusing to listen on %s without authentication: anybody could read and write as anybody. "+
				"Set FEEDGATE_AUTH_SECRET, or listen on 127.0.0.1.", c.Addr)}
	}
	if c.Role != RoleAll && c.Stores.RedisURL == "" {
		return &UsageError{Command: "serve", Text: fmt.Sprintf(
			"-role %s needs a Redis that the other role can reach too: set FEEDGATE_REDIS_URL.", c.Role)}
	}
	if c.Stores.MongoURL != "" && c.Stores.RedisURL == "" {
		return &UsageError{Command: "serve", Text: "FEEDGATE_MONGO_URL needs FEEDGATE_REDIS_URL as well: " +
			"the in-process Redis goes with the SQLite record only."}
	}
	if c.Feed.InboxSlack >= c.Feed.InboxLength {
		return &UsageError{Command: "serve", Text: "-inbox-slack must be below -inbox-length."}
	}
	return nil
}

func checkAddr(v string) error {
	_, port, err := net.SplitHostPort(v)
	if err != nil {
		return fmt.Errorf("%q is no HOST:PORT such as 127.0.0.1:8080", v)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n > 65535 {
		return fmt.Errorf("%q has no port from 0 to 65535", v)
	}
	return nil
}

func addStores(s *Set, c *Stores) {
	s.Group("Where the data is")
	s.String(&c.Data, "data", "FOLDER", "./data",
		"The folder of the SQLite record. One process at a time with the in-process Redis; "+
			"several on one machine with -redis-url.", nonEmpty)
	s.String(&c.RedisURL, "redis-url", "URL", "",
		"The Redis for the hot data: redis://HOST:PORT, rediss:// for TLS, redis+cluster://HOST:PORT,HOST:PORT for "+
			"a Cluster. Without it, a Redis runs inside the process.",
		checkURL("redis", "rediss", "unix", "redis+cluster", "rediss+cluster"))
	s.String(&c.MongoURL, "mongo-url", "URL", "",
		"The MongoDB for the record: mongodb://HOST:PORT/DATABASE, the database \"feedgate\" when none is named. Without it, the record is SQLite in -data.",
		checkURL("mongodb", "mongodb+srv"))
}

func addFeed(s *Set, c *feed.Settings) {
	def := feed.DefaultSettings()
	*c = def // what has no flag keeps its default
	s.Group("The feed")
	Number(s, &c.BigAuthorFollowers, "big-author-followers", def.BigAuthorFollowers, 1, 1_000_000_000,
		"From this number of followers on, an author's posts are delivered in the bulk lane.")
	s.Duration(&c.ActiveWindow, "active-window", def.ActiveWindow, 3*24*time.Hour, 365*24*time.Hour,
		"A reader who read the feed within this time gets posts into the inbox.")
	Number(s, &c.InboxLength, "inbox-length", def.InboxLength, 100, 100_000,
		"The number of posts that an inbox is cut to; older ones are read from the record.")
	Number(s, &c.InboxSlack, "inbox-slack", def.InboxSlack, 1, 10_000,
		"By how much an inbox may outgrow -inbox-length before it is cut.")
	Number(s, &c.OutboxLength, "outbox-length", def.OutboxLength, 10, 10_000,
		"The number of an author's own newest posts that are kept hot.")
	Number(s, &c.NearbyCellLength, "nearby-cell-length", def.NearbyCellLength, 100, 100_000,
		"The number of posts that a cell of the nearby index is cut to; older ones are read from the record.")
	s.Duration(&c.NearbyCellAge, "nearby-cell-age", def.NearbyCellAge, 0, 100*365*24*time.Hour,
		"How old the posts in a cell of the nearby index may be; older ones are read from the record. 0s sets no bound.")
}

func nonEmpty(v string) error {
	if v == "" {
		return errors.New("must not be empty")
	}
	return nil
}

// checkURL looks at the scheme alone, since a Cluster's URL names several
// hosts; the drivers check the rest. It never quotes the value: it may hold a
// password.
func checkURL(schemes ...string) func(string) error {
	return func(v string) error {
		scheme, rest, ok := strings.Cut(v, "://")
		switch {
		case v == "":
			return nil
		case !ok || rest == "":
			return errors.New("this is no URL; write it as " + schemes[0] + "://HOST:PORT")
		case !slices.Contains(schemes, scheme):
			return fmt.Errorf("the scheme %q is none of %s", scheme, strings.Join(schemes, ", "))
		}
		return nil
	}
}
