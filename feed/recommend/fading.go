package recommend

import (
	"hash/fnv"
	"math"
	"time"

	"feedgate/feed"
)

// Fading scores grow instead of fading: an engagement weighs
// 2^((at-epoch)/halfLife), so that those before it need no change. What is
// older than oldest half-lives weighs as if it were that old; weights are
// multiples of quantum, so that sums below 2^33 are exact and what is taken away
// leaves nothing behind. Epochs are begun anew long before newest is reached.
const (
	oldest  = -16
	newest  = 200
	quantum = 1.0 / (1 << 20)
)

// weight is what an engagement at a time (ms) adds to the scores of an epoch.
func weight(at, epoch int64, halfLife time.Duration) float64 {
	e := float64(at-epoch) / float64(halfLife.Milliseconds())
	w := math.Exp2(min(max(e, oldest), newest))
	return math.Round(w/quantum) * quantum
}

// fade is the half-life rule for an age in ms: 1 for none.
func fade(age int64, halfLife time.Duration) float64 {
	return math.Exp2(-float64(max(age, 0)) / float64(halfLife.Milliseconds()))
}

// The directory is the board of no topic: it ranks the topics themselves by
// engagement, each by the number that topicNumber makes of its name. The
// engagements of all topics together stand under allTopics.
const allTopics = feed.ID(math.MaxInt64)

func topicNumber(topic string) feed.ID {
	h := fnv.New64a()
	_, _ = h.Write([]byte(topic)) // never fails
	return max(1, min(feed.ID(mix(h.Sum64())>>1), allTopics-1))
}

// order gives posts an order of their own for each reader: ties go by it, not
// by ids, which tell who came when.
func order(reader, post feed.ID) uint64 {
	return mix(mix(uint64(reader)) ^ uint64(post)) //nolint:gosec // any bits will do
}

// mix spreads the bits of x (the finish of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// The boards of an epoch.

func similarTo(epoch int64, post feed.ID) feed.Board {
	return feed.Board{Kind: feed.BoardSimilar, Epoch: epoch, Post: post}
}

func ofTopic(epoch int64, topic string) feed.Board {
	return feed.Board{Kind: feed.BoardTopic, Epoch: epoch, Topic: topic}
}

func directory(epoch int64) feed.Board { return ofTopic(epoch, "") }

func trendingIn(epoch int64) feed.Board {
	return feed.Board{Kind: feed.BoardTrending, Epoch: epoch}
}

// sentinel stands on the trending board of each epoch from its beginning,
// below every post: without anything on it the board was lost, and most likely
// others with it. No post has this id.
const (
	sentinel      = feed.ID(math.MaxInt64)
	sentinelScore = 2e-9 // above what leaves a board
)

func (s *Settings) withSentinel(epoch int64) *feed.PutOnBoard {
	return &feed.PutOnBoard{
		Board: trendingIn(epoch), Ranked: []feed.Ranked{{Post: sentinel, Score: sentinelScore}},
		Keep: s.TrendingKeep, Slack: s.TrendingSlack,
	}
}
