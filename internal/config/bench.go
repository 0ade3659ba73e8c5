package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The parts of a bench.
const (
	BenchRead   = "read"
	BenchCPU    = "cpu"
	BenchFanout = "fanout"
	BenchTrips  = "trips"
	BenchLive   = "live"

	BenchRecommend = "recommend"
	BenchNearby    = "nearby"
)

// Bench is what a measurement runs with.
type Bench struct {
	RedisURL  string
	Only      []string
	Users     int
	Posts     int
	TextBytes int
	Inbox     int
	Readers   int
	First     int
	Rounds    int
	Requests  int
	Clients   int
	Followers int
	Sockets   int
	Offline   int
	Active    bool
	Publishes int
	Quiet     time.Duration
	Fans      int
	Wares     int
	Tastes    int
	Friends   int
	Sights    int
	NYC       string
	JSON      bool
	Target    string
	As        string
	Token     string
}

// Has reports whether a part is to be run.
func (c *Bench) Has(part string) bool { return slices.Contains(c.Only, part) }

// ParseBench reads the settings of the bench command.
func ParseBench(args []string, getenv func(string) string) (*Bench, error) {
	c := &Bench{}
	parts := []string{BenchRead, BenchCPU, BenchFanout, BenchTrips, BenchLive, BenchRecommend, BenchNearby}
	only := strings.Join(parts[:4], ",") // the others take minutes
	s := NewSet("bench", "Measure feeds, fan-out, round trips and red dots: on an own server with data of its own, or on a running one.", "", getenv)
	s.Group("What is measured")
	s.String(&only, "only", "PARTS", only, "A comma-separated choice: read (followFeed over HTTP beside the bare Redis commands), "+
		"cpu (processor time a request beside a plain handler), fanout (inbox writes a second beside bare ZADDs), "+
		"trips (round trips a query), live (red dots: what an idle socket costs, from publishing to the last socket, "+
		"commands a publish), recommend (recommendFeed over HTTP beside the bare Redis commands, and its round trips), "+
		"nearby (nearbyFeed beside the bare Redis commands and beside other ways to find the same posts, and its round trips).", nil)
	Number(s, &c.Rounds, "rounds", 5, 1, 100, "Rounds in which both sides alternate; the medians count.")
	Number(s, &c.Requests, "requests", 400, 10, 1_000_000, "Requests a round of read, recommend and nearby; cpu makes ten times as many.")
	Number(s, &c.Clients, "clients", 16, 1, 1024, "Clients at a time for cpu.")
	Number(s, &c.First, "first", 20, 1, 100, "Posts a page.")
	Number(s, &c.Followers, "followers", 100_000, 1000, 5_000_000, "Followers of the author whose posts are fanned out.")
	Number(s, &c.Sockets, "live-sockets", 10_000, 1, 25_000, "Sockets that are subscribed to a red dot for live, each a reader of its own; "+
		"server and clients each need as many open files.")
	Number(s, &c.Offline, "live-offline", 1_000_000, 1, 10_000_000, "Followers of one of the authors of live who are not there.")
	s.Bool(&c.Active, "live-active", false, "Those who are not there have read lately, so that posts are written into their inboxes.")
	Number(s, &c.Publishes, "live-publishes", 20, 2, 1000, "Posts over which commands a publish are counted, for each number of sockets.")
	s.Duration(&c.Quiet, "live-quiet", 10*time.Second, time.Second, 5*time.Minute,
		"How long live looks at a server that has nothing to do; half of it, live waits for what is left to the background.")
	Number(s, &c.Fans, "recommend-people", 2000, 20, 1_000_000, "People whose tastes recommend learns.")
	Number(s, &c.Wares, "recommend-posts", 5000, 200, 1_000_000, "Posts that they like some of.")
	Number(s, &c.Tastes, "recommend-likes", 50, 1, 200, "Likes of each.")
	Number(s, &c.Friends, "recommend-follows", 20, 0, 1000, "People whom each follows.")
	Number(s, &c.Sights, "nearby-posts", 140_000, 1000, 10_000_000, "Posts with places, in a city that is made for nearby.")
	s.String(&c.NYC, "nyc", "FILE", "", "A bundle of posts with places, in the format of import, instead of that city. Its ids are its own, so only nearby can be measured.", nil)
	s.Group("The own server and its data")
	s.String(&c.RedisURL, "redis-url", "URL", "", "A Redis to use; its keys of other feedgates are not touched, but it should be empty. "+
		"Without it, a redis-server is started and stopped.", checkURL("redis", "rediss", "unix"))
	Number(s, &c.Users, "users", 2000, 10, 1_000_000, "People who read and write.")
	Number(s, &c.Posts, "posts", 50_000, 100, 10_000_000, "Posts of all of them.")
	Number(s, &c.TextBytes, "text-bytes", 300, 1, 10_000, "Length of a post's text.")
	Number(s, &c.Inbox, "inbox", 800, 10, 1000, "Posts in an inbox; it decides how many people each reader follows.")
	Number(s, &c.Readers, "readers", 200, 1, 100_000, "Readers that take turns.")
	s.Group("A running server instead")
	s.String(&c.Target, "target", "URL", "", "The /graphql of a running server to read from; nothing else is started or measured.", checkURL("http", "https"))
	s.String(&c.As, "as", "IDS", "", "The readers, comma-separated, for the header X-Feedgate-User.", nil)
	s.String(&c.Token, "token", "TOKEN", "", "A token to read with, instead of -as.", nil)
	s.Group("The outcome")
	s.Bool(&c.JSON, "json", false, "Print JSON instead of a table.")
	s.Outro(`Examples:
  feedgate bench
  feedgate bench -only trips
  feedgate bench -only recommend
  feedgate bench -only nearby
  feedgate bench -only live -live-sockets 10000
  feedgate bench -target http://127.0.0.1:8080/graphql -as 900000001,900000002`)
	rest, err := s.Parse(args)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, &UsageError{Command: "bench", Text: fmt.Sprintf("%q is no flag: bench takes flags only.", rest[0])}
	}
	for part := range strings.SplitSeq(only, ",") {
		if !slices.Contains(parts, part) {
			return nil, &UsageError{Command: "bench", Text: fmt.Sprintf("-only: %q is none of %s.", part, strings.Join(parts, ", "))}
		}
		c.Only = append(c.Only, part)
	}
	if c.NYC != "" && !slices.Equal(c.Only, []string{BenchNearby}) {
		return nil, &UsageError{Command: "bench", Text: "-nyc goes with -only nearby and nothing else."}
	}
	if c.Target != "" && c.As == "" && c.Token == "" {
		return nil, &UsageError{Command: "bench", Text: "-target needs a reader: pass -as IDS or -token TOKEN."}
	}
	return c, nil
}
