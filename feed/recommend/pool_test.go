package recommend

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestTheFirstOfAListAreThoseThatSortingPutsFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.IntRange(0, 50)).Draw(t, "list")
		n := rapid.IntRange(0, 60).Draw(t, "n")
		want := slices.Sorted(slices.Values(list))
		want = want[:min(n, len(want))]
		got := first(slices.Clone(list), n, cmp.Compare[int])
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("the first %d of %v: got %v, want %v", n, list, got, want)
		}
	})
}
