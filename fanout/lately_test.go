package fanout

import (
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
)

// The table may forget, and never says of a reader what it was not told.
func TestNobodyIsActiveWhoWasNotLearnt(t *testing.T) {
	t.Parallel()
	var l lately
	learnt := make(map[feed.ID]int64)
	rapid.Check(t, func(t *rapid.T) {
		id := feed.ID(rapid.Int64Range(1, 1<<63-1).Draw(t, "reader"))
		on := rapid.Int64Range(-1, 1<<dayBits).Draw(t, "day")
		after := rapid.Int64Range(0, 1<<dayBits).Draw(t, "after")
		if l.active(id, after) && learnt[id] <= after {
			t.Fatalf("%d is active after day %d, and was learnt on day %d", id, after, learnt[id])
		}
		l.learn(id, on)
		if on > 0 && on < 1<<dayBits {
			learnt[id] = on
		}
		if got, want := l.active(id, after), learnt[id] > after; got != want {
			t.Fatalf("%d, learnt on day %d, is active after day %d: got %v, want %v", id, on, after, got, want)
		}
	})
}

func TestAnotherGenerationForgetsAll(t *testing.T) {
	t.Parallel()
	var l lately
	l.under(3)
	l.learn(7, 20_000)
	l.under(3)
	if !l.active(7, 19_999) {
		t.Error("forgotten under the same generation")
	}
	l.under(4)
	if l.active(7, 19_999) {
		t.Error("remembered under another generation")
	}
}

// Ids that are given one after another share no place until the table is well filled.
func TestReadersInARowAreRemembered(t *testing.T) {
	t.Parallel()
	const readers, first = 100_000, 1 << 60
	var l lately
	for _, step := range []int{0, 12, 22} { // counters, and times with a process number below
		for i := range feed.ID(readers) {
			l.learn(first+i<<step, 20_000)
		}
		kept := 0
		for i := range feed.ID(readers) {
			if l.active(first+i<<step, 19_999) {
				kept++
			}
		}
		// Of n readers thrown at m places, about n - n*n/2m keep theirs.
		if kept < readers*9/10 {
			t.Errorf("of %d readers, with ids %d apart, %d are remembered", readers, 1<<step, kept)
		}
	}
}
