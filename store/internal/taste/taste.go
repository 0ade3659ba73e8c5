// Package taste puts together what a person engaged with. Both records read
// likes, comments and reposts apart, and merge them here.
package taste

import (
	"cmp"
	"slices"

	"feedgate/feed"
)

// Merge keeps each post once, at its newest engagement, and gives the newest
// limit of them by (At, Post), newest first. Of two engagements with a post in
// one millisecond the one with the higher kind stays. It reorders all.
func Merge(all []feed.Engagement, limit int) []feed.Engagement {
	slices.SortFunc(all, func(a, b feed.Engagement) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.Post, a.Post), cmp.Compare(b.Kind, a.Kind))
	})
	seen := make(map[feed.ID]bool, len(all))
	kept := all[:0]
	for _, e := range all {
		if len(kept) >= limit {
			break
		}
		if !seen[e.Post] {
			seen[e.Post] = true
			kept = append(kept, e)
		}
	}
	return kept
}
