package recommend

import (
	"cmp"
	"math"
	"slices"

	"feedgate/feed"
)

// The features of a candidate.
const (
	featureSimilar = iota
	featureTopic
	featureSocial
	featurePopular
	featureAuthor
	featureFresh
	features
)

// rank describes and scores the candidates, best first.
func (r *request) rank(p *pool) []*candidate {
	shown := make([]*candidate, 0, len(p.all))
	for _, c := range p.all {
		if c.post != nil && r.wanted(c.id) {
			for _, s := range r.sources {
				s.describe(r, c)
			}
			shown = append(shown, c)
		}
	}
	r.normalise(shown)
	weights := r.weights()
	for _, c := range shown {
		r.score(c, &weights)
	}
	slices.SortFunc(shown, func(a, b *candidate) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return cmp.Compare(a.order, b.order)
	})
	return shown
}

// normalise brings the features to 0 to 1 that are not there yet.
func (r *request) normalise(shown []*candidate) {
	most := 0.0
	for _, c := range shown {
		most = max(most, c.features[featureSimilar])
		r.popularMax = max(r.popularMax, c.features[featurePopular])
	}
	for _, c := range shown {
		if most > 0 {
			c.features[featureSimilar] /= most
		}
		c.features[featurePopular] = r.popular(c.features[featurePopular])
	}
}

// popular turns a fading score into a feature: ln(1+n)/ln(1+max n), where n is
// the number of engagements that the score amounts to beside the highest one.
func (r *request) popular(score float64) float64 {
	if r.popularMax <= 0 || r.popularN <= 0 {
		return 0
	}
	return math.Log1p(r.popularN*min(1, score/r.popularMax)) / math.Log1p(r.popularN)
}

// weights are those of the features for this reader.
func (r *request) weights() [features]float64 {
	var w [features]float64
	w[featureSimilar] = r.confidence * r.set.Similar
	w[featureTopic] = r.confidence * r.set.Topic
	w[featureAuthor] = r.confidence * r.set.Author
	w[featureSocial] = r.set.Social
	w[featurePopular] = r.set.Popular
	w[featureFresh] = r.set.Fresh
	return w
}

// score sums up, and takes the reason from the feature that gave most. Scores
// are rounded, so that the order of sums and undone changes do not show.
func (r *request) score(c *candidate, weights *[features]float64) {
	sum, most := 0.0, 0.0
	c.reason = feed.Reason{Kind: feed.ReasonFresh}
	for i, x := range c.features {
		part := weights[i] * x
		sum += part
		if part > most {
			most, c.reason = part, c.subjects[i]
		}
	}
	c.score = math.Round(sum*1e8) / 1e8
	c.order = order(r.q.Reader, c.id)
}
