package fanout_test

import (
	"slices"
	"testing"

	"feedgate/fanout"
	"feedgate/feed"
)

// Processes are killed anywhere, started again, bells come twice or never: in
// the end every active follower has every post exactly once.
func TestNothingIsLostOrDoubledWhoeverIsKilled(t *testing.T) {
	t.Parallel()
	each(t, 600, func(w *world) { chaos(w, false) })
}

// Redis is emptied in the middle as well: what was delivered before is lost,
// with the proof that the inboxes were complete; what remains is still done.
func TestAFanOutEndsByItselfAfterRedisIsEmptied(t *testing.T) {
	t.Parallel()
	each(t, 600, func(w *world) { chaos(w, true) })
}

func chaos(w *world, flush bool) {
	t := w.t
	t.Helper()
	rnd := random(t)
	followers := []feed.ID{600, 301, 100, 10, 0}
	authors := make([]feed.ID, len(followers))
	for i, n := range followers {
		authors[i] = w.author(n)
	}
	active := append(every(2, w.people), authors...)
	w.activate(active...)
	start := func() *process {
		return w.start(func(c *fanout.Config) { c.ClaimLimit = 1 + rnd.IntN(3) })
	}
	running := []*process{start(), start()}
	of := make(map[feed.ID]int)
	for range 8 {
		a := rnd.IntN(len(authors))
		lane := feed.LaneSmall
		if followers[a] > 300 {
			lane = feed.LaneBulk
		}
		p := w.publish(authors[a], lane)
		of[p.ID] = a
		for range rnd.IntN(3) { // none, one or two bells
			w.ring(lane, p.ID)
		}
		victim := rnd.IntN(len(running))
		v := running[victim]
		if rnd.IntN(4) > 0 {
			v.wire.fuse.Store(1 + rnd.Int64N(60))
			<-v.ended
		} else {
			v.end()
		}
		running[victim] = start()
		if flush && rnd.IntN(3) == 0 {
			w.flush()
		}
	}
	for id, a := range of {
		w.wantDone(id, int64(followers[a]))
	}
	w.untilNobodyIsInFlight()
	if t.Failed() {
		return
	}
	for r, inbox := range w.inboxes(active) {
		if flush && inbox.Floor == nil {
			continue // known to be incomplete: the next read builds it anew
		}
		var posts []feed.Post
		for _, p := range w.posts {
			if p.Author == r || r <= followers[of[p.ID]] {
				posts = append(posts, p)
			}
		}
		if want := entriesOf(posts); !slices.Equal(inbox.Entries, want) {
			t.Fatalf("inbox of %d holds %v, want %v", r, inbox.Entries, want)
		}
	}
}
