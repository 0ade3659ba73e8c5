package recommend_test

import (
	"maps"
	"slices"
	"testing"

	"feedgate/feed"
	"feedgate/feed/recommend"
)

func TestASourceThatFailsIsLeftOut(t *testing.T) {
	t.Parallel()
	board := func(kind feed.BoardKind) func(feed.Op) bool {
		return func(op feed.Op) bool {
			b, ok := op.(*feed.ReadBoard)
			return ok && b.Board.Kind == kind
		}
	}
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, recommend.DefaultSettings(), start)
			g := groups(w)
			reader := w.persons(1)[0]
			_, err := w.svc.Follow(t.Context(), w.reader(reader), g.fans[1][0])
			w.must(err)
			w.like(reader, g.posts[0][:5]...)
			w.learnAll()
			whole, _ := w.page(reader, 10)
			for source, fails := range map[string]func(feed.Op) bool{
				recommend.SourceSimilar:  board(feed.BoardSimilar),
				recommend.SourceTrending: board(feed.BoardTrending),
				recommend.SourceFresh:    board(feed.BoardFresh),
				recommend.SourceTopic:    board(feed.BoardTopic),
				recommend.SourceAuthor:   func(op feed.Op) bool { _, ok := op.(*feed.ReadList); return ok },
				recommend.SourceLearning: func(op feed.Op) bool { _, ok := op.(*feed.ReadLearning); return ok },
			} {
				w.faulty.breakOn(fails)
				got, why := w.page(reader, 10)
				if w.losses(source) == 0 {
					t.Errorf("%s: its loss was not counted", source)
				}
				if len(got) != 10 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 10 {
					t.Errorf("%s: got %v, want ten posts", source, got)
				}
				if why[0].Kind == feed.ReasonFresh {
					t.Errorf("%s: the other sources gave nothing: %v", source, why)
				}
				w.faulty.mend()
				if again, _ := w.page(reader, 10); !slices.Equal(again, whole) {
					t.Errorf("%s: after its return: got %v, want %v", source, again, whole)
				}
			}
			lost := make(map[string]int64)
			for _, source := range recommend.SourceNames() {
				lost[source] = w.losses(source)
			}
			w.faulty.breakOn(board(feed.BoardFresh))
			_, _ = w.page(reader, 10)
			lost[recommend.SourceFresh]++
			for _, source := range recommend.SourceNames() {
				if n := w.losses(source); n != lost[source] {
					t.Errorf("%s: counted %d losses, want %d", source, n, lost[source])
				}
			}
		})
	}
}

func TestWithoutHotDataTheNewestPostsComeInOrder(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, recommend.DefaultSettings(), start)
			g := groups(w)
			reader := w.persons(1)[0]
			w.learnAll()
			all := slices.Concat(g.posts[0], g.posts[1])
			slices.SortFunc(all, func(a, b feed.ID) int {
				p, q := w.onRecord(a), w.onRecord(b)
				return p.Position().Compare(q.Position())
			})
			if got, _ := w.page(reader, 20); len(got) != 20 || slices.Equal(got, all[:20]) {
				t.Errorf("while all is well: got %v, want twenty posts in another order", got)
			}
			w.faulty.breakOn(func(feed.Op) bool { return true })
			got, why := w.all(reader, 20)
			if !slices.Equal(got, all) {
				t.Errorf("got  %v\nwant %v", got, all)
			}
			for _, reason := range why {
				if reason.Kind != feed.ReasonFresh {
					t.Errorf("the reason is %v, want FRESH", reason)
				}
			}
			for _, source := range []string{recommend.SourceTrending, recommend.SourceFresh, recommend.SourceLearning} {
				if w.losses(source) == 0 {
					t.Errorf("the loss of %s was not counted", source)
				}
			}
		})
	}
}

func TestBoardsAfterALossAreThoseOfBefore(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, recommend.DefaultSettings(), start)
			w.learnAll()
			c := newCrowd(w)
			for i, user := range c.users {
				w.like(user, c.posts[i:]...)
				w.must(w.learner.Learn(t.Context(), user))
			}
			similar := func() boards {
				only := w.kept(w.learning().Serving, c.posts, nil)
				maps.DeleteFunc(only, func(name string, _ float64) bool { return name[0] != 's' })
				return only
			}
			before := similar()
			if len(before) == 0 {
				t.Fatal("nothing was learned")
			}
			w.flush()
			w.learnAll()
			if after := similar(); !maps.Equal(before, after) {
				t.Errorf("after the loss: %s", difference(after, before))
			}
			// Scores that fade are of another epoch: those are held to a recount.
			epoch := w.learning().Serving
			got, want := w.kept(epoch, c.posts, c.topics), w.recount(epoch, 50, c.users)
			if !maps.Equal(got, want) {
				t.Errorf("after the loss: %s", difference(got, want))
			}
			if got, _ := w.page(w.persons(1)[0], 10); len(got) != 10 {
				t.Errorf("got %d posts, want ten", len(got))
			}
		})
	}
}

// TestRoundTripsDoNotDependOnData counts the engine's own round trips to the
// hot data; those of the loader are the service's.
func TestRoundTripsDoNotDependOnData(t *testing.T) {
	t.Parallel()
	w := newWorld(t, recommend.DefaultSettings(), onEmbedded)
	g := groups(w)
	w.learnAll()
	few, many := w.persons(1)[0], w.persons(1)[0]
	w.like(few, g.posts[0][0])
	w.like(many, slices.Concat(g.posts[0][:12], g.posts[1][:12])...)
	for _, fan := range g.fans[0] {
		_, err := w.svc.Follow(t.Context(), w.reader(many), fan)
		w.must(err)
	}
	_, _ = w.page(few, 5) // learns the epoch
	for name, reader := range map[string]feed.ID{"few": few, "many": many} {
		before := w.faulty.trips.Load()
		_, _ = w.page(reader, 5)
		// Two for the sources, one for the trending board further down.
		if n := w.faulty.trips.Load() - before; n != 3 {
			t.Errorf("%s: %d round trips, want 3", name, n)
		}
	}
}
