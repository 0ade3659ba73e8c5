package config

import (
	"time"

	"feedgate/feed/recommend"
)

// mostWeight is the highest weight of a feature: above it nothing else counts.
const mostWeight = 100

// addRecommend adds what an operator may choose about recommendations; what
// has no flag keeps its default.
func addRecommend(s *Set, c *recommend.Settings) {
	def := recommend.DefaultSettings()
	*c = def
	s.Group("Recommendations (\"feedgate evaluate\" tells what a choice is worth)")
	weight := func(p *float64, name string, def float64, what string) {
		s.Decimal(p, "weight-"+name, def, 0, mostWeight, "The weight of "+what+" 0 turns it off.")
	}
	weight(&c.Similar, "similar", def.Similar, "posts that the same people engage with.")
	weight(&c.Topic, "topic", def.Topic, "posts on topics that the reader engages with.")
	weight(&c.Social, "social", def.Social, "posts that followees like.")
	weight(&c.Popular, "popular", def.Popular, "posts that many engage with now.")
	weight(&c.Author, "author", def.Author, "posts by authors whom the reader engages with.")
	weight(&c.Fresh, "fresh", def.Fresh, "young posts.")
	Number(s, &c.Seeds, "recommend-seeds", def.Seeds, 1, 200,
		"The reader's newest engagements that recommendations start from.")
	Number(s, &c.Followees, "recommend-followees", def.Followees, 1, 1_000,
		"Followees whose likes are looked at.")
	Number(s, &c.AuthorSpacing, "recommend-author-spacing", def.AuthorSpacing, 1, 100,
		"Among so many places in a row, an author has one.")
	Number(s, &c.TopicRun, "recommend-topic-run", def.TopicRun, 0, 100,
		"So many posts in a row may share their first topic; 0 sets no bound.")
	Number(s, &c.ExploreEvery, "recommend-explore-every", def.ExploreEvery, 0, 100,
		"One place of so many is for a post that nobody has viewed yet; 0 is for none.")
	Number(s, &c.SimilarKeep, "recommend-similar-keep", def.SimilarKeep, 10, 5_000,
		"The number of similar posts that the board of a post is cut to when it has grown to twice that. Most of what recommendation keeps in Redis are these boards.")
	s.Duration(&c.TrendingHalfLife, "recommend-trending-half-life", def.TrendingHalfLife, time.Hour, 365*24*time.Hour,
		"The time in which an engagement loses half of what it counts for what is popular now.")
	s.Duration(&c.FreshAge, "recommend-fresh-age", def.FreshAge, time.Minute, 365*24*time.Hour,
		"How old a post may be that is shown because nobody has viewed it yet.")
}

// keepSimilar reads all of a board that is kept, and lets it grow to twice
// that before it is cut: counts that were cut early are wrong.
func keepSimilar(c *recommend.Settings) {
	c.SimilarRead, c.SimilarSlack = c.SimilarKeep, c.SimilarKeep
}
