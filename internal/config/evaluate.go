package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"feedgate/feed/recommend"
)

// The parts of a split that can be asked for.
const (
	PartTest  = "test"
	PartValid = "valid"
)

// Evaluate is what an evaluation of recommendations runs with.
type Evaluate struct {
	Likes     string // a bundle
	Seed      int
	Seeds     int
	K         int
	Part      string
	Users     int // 0 for all
	After     time.Duration
	Without   []string // sources, by the names of package recommend
	Recommend recommend.Settings
	RedisURL  string // "" for the in-process Redis
	Memory    bool
	JSON      bool
}

// ParseEvaluate reads the settings of the evaluate command.
func ParseEvaluate(args []string, getenv func(string) string) (*Evaluate, error) {
	c := &Evaluate{}
	without := ""
	sources := []string{
		recommend.SourceSimilar, recommend.SourceTopic, recommend.SourceSocial, recommend.SourceTrending,
		recommend.SourceAuthor, recommend.SourceFresh,
	}
	s := NewSet("evaluate", "Measure offline how well recommendations find likes that they have not been told.", "", getenv)
	s.Group("What is measured")
	s.String(&c.Likes, "likes", "FILE", "", "A bundle as \"feedgate import\" reads it, with people, posts and likes, and follows if there are any.", nil)
	Number(s, &c.Seed, "seed", 1, 0, 1<<31-1, "The likes of each person are split at random, 8:1:1 into train, valid and test; a seed always gives the same split.")
	Number(s, &c.Seeds, "seeds", 1, 1, 100, "So many splits, from -seed on, with their means.")
	Number(s, &c.K, "k", 10, 1, 100, "How many recommendations of each person are looked at.")
	Choice(s, &c.Part, "part", PartTest, []string{PartTest, PartValid},
		"The part that is to be found. Choose weights by valid, and report test.")
	Number(s, &c.Users, "users", 0, 0, 10_000_000, "Ask for so many people only, chosen at random by the seed; 0 is all of them. All are learned from.")
	s.Duration(&c.After, "after", 30*24*time.Hour, 0, 100*365*24*time.Hour,
		"How long after the newest line of the bundle the recommendations are asked for. A bundle does not tell what was viewed, "+
			"so that by default no post is fresh any more, and all engagements of a time count alike.")
	s.String(&without, "without", "SOURCES", "", "Print what is left without these, comma-separated: "+strings.Join(sources, ", ")+
		"; instead of the usual rows.", nil)
	addRecommend(s, &c.Recommend)
	s.Group("Where it is measured")
	s.String(&c.RedisURL, "redis-url", "URL", "", "A Redis that is empty, and is emptied at the end. Without it, a Redis runs inside the process. "+
		"The record is SQLite in a temporary folder.", checkURL("redis", "rediss", "unix"))
	s.Bool(&c.Memory, "memory", false, "Print how many bytes a post and a person take in Redis for all that recommendation keeps; needs -redis-url.")
	s.Group("The outcome")
	s.Bool(&c.JSON, "json", false, "Print JSON instead of a table.")
	s.Outro(`Each row is a way to rank, with the means over all people who have something to be found:
  Recall@k  the share of their hidden likes that is among the first k
  NDCG@k    the same, but worth the more the higher up; 1 is perfect
  Hit@k     the share of people with at least one find
All posts compete, but for those that the person likes in the other parts. The rows come from one learned world:
popularity alone, similar posts alone, everything but what followees like, and everything, with the weights that
"feedgate serve" has unless you choose others here.

Examples:
  feedgate evaluate -likes lastfm.ndjson.gz
  feedgate evaluate -likes lastfm.ndjson.gz -seeds 3 -without social
  feedgate evaluate -likes lastfm.ndjson.gz -part valid -users 500 -weight-topic 0.3
  feedgate evaluate -likes lastfm.ndjson.gz -redis-url redis://127.0.0.1:6379/9 -memory`)
	rest, err := s.Parse(args)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, &UsageError{Command: "evaluate", Text: fmt.Sprintf("%q is no flag: write -likes %s.", rest[0], rest[0])}
	case c.Likes == "":
		return nil, &UsageError{Command: "evaluate", Text: "Which likes? Pass -likes FILE, a bundle with people, posts and likes."}
	case c.Memory && c.RedisURL == "":
		return nil, &UsageError{Command: "evaluate", Text: "-memory needs a real Redis: pass the -redis-url of an empty one."}
	}
	keepSimilar(&c.Recommend)
	if without != "" {
		c.Without = strings.Split(without, ",")
	}
	for _, source := range c.Without {
		if !slices.Contains(sources, source) {
			return nil, &UsageError{Command: "evaluate", Text: fmt.Sprintf("-without: %q is none of %s.", source, strings.Join(sources, ", "))}
		}
	}
	return c, nil
}
