package recommend

import "time"

// Settings are the weights and bounds of recommendation. The numbers of
// [DefaultSettings] that are marked "measured" were chosen on validation splits
// of lastfm-2k; the others concern what that data set does not hold (times,
// authors with many posts) and are judgement. Engine and learner take the same.
type Settings struct {
	// Weights of the features, each of which lies between 0 and 1. They have no unit.
	Similar float64 // engaged with by the same people as the seeds; measured
	Topic   float64 // the topics of the seeds; measured
	Social  float64 // liked by followees; measured
	Popular float64 // engagement that is left now; measured
	Author  float64 // written by authors of seeds
	Fresh   float64 // young

	// The reader's own history (similar, topic, author) counts by
	// Confidence * s / (s + ConfidenceSeeds), where s is the number of seeds.
	Confidence      float64
	ConfidenceSeeds float64

	// Exponents of a post's engagements n: those that tell how much the popular
	// are held back; measured.
	PostExponent   float64 // of the recommended post, in similar
	SeedExponent   float64 // of the seed, in similar
	SocialExponent float64 // of the recommended post, in social

	// Bounds of what one request reads.
	Seeds          int // newest engagements of the reader that are looked at
	Followees      int // followees whose tastes are read
	FolloweeTastes int // newest engagements of each
	SimilarRead    int // posts of each seed's board
	TopicsRead     int // topics whose boards are read
	TopicRead      int // posts of each
	TrendingRead   int // posts of the trending board
	DirectoryRead  int // topics of the directory; the rest counts as rare
	Authors        int // authors of seeds whose other posts are read
	AuthorPosts    int // newest posts of each
	FreshRead      int // newest posts of the fresh board

	// Bounds of what each source may bring before posts are loaded.
	SimilarRecall  int
	TopicRecall    int
	SocialRecall   int
	TrendingRecall int
	FreshRecall    int

	// FreshAge is how old a post on the fresh board may be to be tried,
	// FreshEngagements how many engagements it may have (with more, people have
	// seen it, whether they said so or not), and FreshHalfLife the age at which the
	// feature is a half.
	FreshAge         time.Duration
	FreshEngagements int
	FreshHalfLife    time.Duration

	// Spacing; 0 turns a rule off.
	AuthorSpacing int // among so many places in a row an author has one
	TopicRun      int // so many posts in a row may share their first topic
	LookAhead     int // so far down an alternative to a longer run is looked for
	ExploreEvery  int // one place of so many is for a fresh post

	// What the boards keep; Slack is how far they grow before they are cut, which
	// is what keeps counts right (a newcomer's count grows before it is judged).
	SimilarKeep, SimilarSlack     int
	TopicKeep, TopicSlack         int
	TrendingKeep, TrendingSlack   int
	DirectoryKeep, DirectorySlack int

	// Window is how many places apart, in the order of one person's engagements,
	// two posts may be to count as a pair.
	Window int
	// Half-lives of scores.
	TrendingHalfLife time.Duration
	TopicHalfLife    time.Duration
	// EpochAge is the age at which new boards are begun: below [feed.BoardTTL], so
	// that what is counted of a person outlives the boards it was counted on.
	EpochAge time.Duration
}

// DefaultSettings are those that were measured.
func DefaultSettings() Settings {
	const day = 24 * time.Hour
	return Settings{
		Similar: 1.0, Topic: 0.15, Social: 1.6, Popular: 0.10, Author: 0.30, Fresh: 0.05,
		Confidence: 1.5, ConfidenceSeeds: 20,
		PostExponent: 0.35, SeedExponent: 0.30, SocialExponent: 0.20,
		Seeds: 50, Followees: 100, FolloweeTastes: 100,
		SimilarRead: 300, TopicsRead: 8, TopicRead: 200, TrendingRead: 500, DirectoryRead: 500,
		Authors: 5, AuthorPosts: 20, FreshRead: 200,
		SimilarRecall: 400, TopicRecall: 100, SocialRecall: 100, TrendingRecall: 100, FreshRecall: 50,
		FreshAge: 7 * day, FreshEngagements: 3, FreshHalfLife: 2 * day,
		AuthorSpacing: 5, TopicRun: 3, LookAhead: 20, ExploreEvery: 10,
		SimilarKeep: 300, SimilarSlack: 300,
		TopicKeep: 200, TopicSlack: 200,
		TrendingKeep: 2_000, TrendingSlack: 500,
		DirectoryKeep: 2_000, DirectorySlack: 500,
		Window:           50,
		TrendingHalfLife: day, TopicHalfLife: 30 * day,
		EpochAge: 25 * day,
	}
}
