package fanout

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"feedgate/feed"
)

// The model says of each task whether it is acknowledged and dead; the mark is
// derived from scratch.
type foldModel struct {
	tasks []Ack
	acked map[int64]bool
}

func (m *foldModel) want(base feed.ID, delivered int64) (next int64, mark feed.ID, count int64) {
	mark, count = base, delivered
	dead := false
	for _, t := range m.tasks {
		if !m.acked[t.Number] {
			break
		}
		next++
		dead = dead || t.Dead
		if !dead {
			mark, count = t.Last, count+t.Count
		}
	}
	return next, mark, count
}

func TestMarkMovesOverContiguousExecutedTasksOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := feed.ID(rapid.IntRange(0, 50).Draw(t, "mark"))
		delivered := int64(rapid.IntRange(0, 50).Draw(t, "delivered"))
		n := rapid.IntRange(1, 30).Draw(t, "tasks")
		m := foldModel{acked: make(map[int64]bool)}
		last := base
		for i := range n {
			count := rapid.IntRange(1, 1000).Draw(t, "count")
			last += feed.ID(count)
			m.tasks = append(m.tasks, Ack{
				Number: int64(i), Last: last, Count: int64(count),
				Dead: rapid.IntRange(0, 9).Draw(t, "dead") == 0,
			})
		}
		f := newFold(base, delivered)
		lowest := feed.ID(0)
		t.Repeat(map[string]func(*rapid.T){
			"acks": func(t *rapid.T) {
				// In any order, with repeats, and of numbers that were never cut.
				numbers := rapid.SliceOfN(rapid.IntRange(0, n+2), 1, 8).Draw(t, "numbers")
				fresh := 0
				var acks []Ack
				for _, i := range numbers {
					if i >= n {
						acks = append(acks, Ack{Number: int64(i), Last: 1 << 40, Count: 7})
						continue
					}
					if !m.acked[int64(i)] {
						fresh++
					}
					m.acked[int64(i)] = true
					acks = append(acks, m.tasks[i])
				}
				if got := f.add(acks, int64(n)); got != fresh {
					t.Fatalf("add returned %d new acks, want %d", got, fresh)
				}
			},
			"": func(t *rapid.T) {
				next, mark, count := m.want(base, delivered)
				if f.next != next || f.mark != mark || f.delivered != count {
					t.Fatalf("next %d mark %d delivered %d, want %d %d %d", f.next, f.mark, f.delivered, next, mark, count)
				}
				if f.mark < lowest {
					t.Fatalf("the mark went back from %d to %d", lowest, f.mark)
				}
				lowest = f.mark
				dead := slices.ContainsFunc(m.tasks, func(a Ack) bool { return a.Dead && m.acked[a.Number] })
				if f.failed() != dead {
					t.Fatalf("failed is %v, want %v", f.failed(), dead)
				}
				if f.acked() != int64(len(m.acked)) {
					t.Fatalf("acked is %d, want %d", f.acked(), len(m.acked))
				}
			},
		})
	})
}

func TestMarkGoesOnlyAfterItStoodStillForTheWholeTime(t *testing.T) {
	t.Parallel()
	const after = 5 * time.Second
	rapid.Check(t, func(t *rapid.T) {
		start := time.Unix(1_700_000_000, 0)
		now := start
		suspects := make(map[feed.ID]suspect)
		version := map[feed.ID]int64{}
		quiet := map[feed.ID]time.Time{} // since when this version was seen with nothing unfinished
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			for author := feed.ID(1); author <= 3; author++ {
				if rapid.IntRange(0, 5).Draw(t, "publish") == 0 {
					version[author] = int64(step + 1)
					delete(quiet, author)
				}
			}
			unfinished := map[feed.ID]bool{}
			var marks []Mark
			for _, author := range slices.Sorted(maps.Keys(version)) {
				marks = append(marks, Mark{Author: author, Version: version[author]})
				if rapid.Bool().Draw(t, "unfinished") {
					unfinished[author] = true
					delete(quiet, author)
				}
			}
			asked := now
			now = now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "answer")) * time.Millisecond)
			gone, next := sift(marks, unfinished, suspects, asked, now, after)
			for _, m := range gone {
				since, ok := quiet[m.Author]
				if !ok || asked.Sub(since) < after {
					t.Fatalf("mark %+v goes after %v", m, asked.Sub(since))
				}
				delete(version, m.Author)
			}
			for author := range version {
				_, known := quiet[author]
				if !known && !unfinished[author] {
					quiet[author] = now
				}
				if since, ok := quiet[author]; ok && asked.Sub(since) >= after {
					t.Fatalf("author %d is kept in flight after %v", author, asked.Sub(since))
				}
			}
			if len(next) > len(marks) {
				t.Fatalf("%d suspects of %d marks", len(next), len(marks))
			}
			suspects = next
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "pass")) * time.Millisecond)
		}
	})
}
