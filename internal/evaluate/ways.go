package evaluate

import (
	"strings"

	"feedgate/feed/recommend"
	"feedgate/internal/config"
)

// ways gives the rows: the usual ones, or what is left without some sources.
func ways(c *config.Evaluate) []way {
	all := way{"all", c.Recommend}
	if len(c.Without) > 0 {
		return []way{{"without " + strings.Join(c.Without, ", "), without(c.Recommend, c.Without...)}, all}
	}
	return []way{
		{"popularity only", only(c.Recommend, recommend.SourceTrending)},
		{"similar only", only(c.Recommend, recommend.SourceSimilar)},
		{"without social", without(c.Recommend, recommend.SourceSocial)},
		all,
	}
}

// without gives settings under which sources neither name posts nor weigh anything.
func without(set recommend.Settings, sources ...string) recommend.Settings {
	for _, source := range sources {
		switch source {
		case recommend.SourceSimilar:
			set.Similar, set.SimilarRecall = 0, 0
		case recommend.SourceTopic:
			set.Topic, set.TopicRecall = 0, 0
		case recommend.SourceSocial:
			set.Social, set.SocialRecall = 0, 0
		case recommend.SourceTrending:
			set.Popular, set.TrendingRecall = 0, 0
		case recommend.SourceAuthor:
			set.Author = 0
		case recommend.SourceFresh:
			set.Fresh, set.FreshRecall, set.ExploreEvery = 0, 0, 0
		}
	}
	return set
}

// only gives settings under which one source alone counts, at a weight of its own.
func only(set recommend.Settings, source string) recommend.Settings {
	var others []string
	for _, other := range []string{
		recommend.SourceSimilar, recommend.SourceTopic, recommend.SourceSocial, recommend.SourceTrending,
		recommend.SourceAuthor, recommend.SourceFresh,
	} {
		if other != source {
			others = append(others, other)
		}
	}
	return without(set, others...)
}
