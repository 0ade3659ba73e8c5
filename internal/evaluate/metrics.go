package evaluate

import (
	"math"

	"feedgate/feed"
)

// Scores are the measures of one ranking, or their means over people. Each
// lies between 0 and 1.
type Scores struct {
	Recall float64 `json:"recall"` // the share of what was hidden that was found
	NDCG   float64 `json:"ndcg"`   // the same, the higher up the better; 1 for all hidden ones at the top
	Hit    float64 `json:"hit"`    // 1 when anything was found
}

// Score compares the first k of a ranking with what was hidden, which must not be empty.
func Score(ranked []feed.ID, hidden feed.IDSet, k int) Scores {
	found, gain, best := 0, 0.0, 0.0
	for place := range min(k, max(len(ranked), len(hidden))) {
		worth := 1 / math.Log2(float64(place+2))
		if place < len(hidden) {
			best += worth
		}
		if place < len(ranked) && hidden.Has(ranked[place]) {
			found++
			gain += worth
		}
	}
	s := Scores{Recall: float64(found) / float64(len(hidden)), NDCG: gain / best}
	if found > 0 {
		s.Hit = 1
	}
	return s
}

// mean of scores, in their order, so that it is the same each time.
func mean(all []Scores) Scores {
	var sum Scores
	for _, s := range all {
		sum.Recall += s.Recall
		sum.NDCG += s.NDCG
		sum.Hit += s.Hit
	}
	n := float64(max(len(all), 1))
	return Scores{Recall: sum.Recall / n, NDCG: sum.NDCG / n, Hit: sum.Hit / n}
}
