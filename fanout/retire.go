package fanout

import (
	"context"
	"slices"
	"time"

	"feedgate/feed"
)

// suspect is a mark whose author had nothing unfinished when it was looked at.
type suspect struct {
	version int64
	since   time.Time // when that was found first
}

// retirer takes in-flight marks away. It is late on purpose: a reader who
// looked at the inbox before a fan-out ended must still find the mark. A mark
// that was set again carries another version, and begins anew: publishing
// marks before it writes the post, and again before it returns, so however
// long it took, its mark stands when it returns.
type retirer struct {
	w        *Workers
	suspects map[feed.ID]suspect
}

func (r *retirer) pass(ctx context.Context) error {
	marks, err := r.w.Marks.Marks(ctx)
	if err != nil {
		return err
	}
	asked := r.w.Clock.Now()
	unfinished := make(map[feed.ID]bool)
	for part := range slices.Chunk(marks, markChunk) {
		authors := make([]feed.ID, len(part))
		for i, m := range part {
			authors[i] = m.Author
		}
		busy, err := r.w.Record.UnfinishedAmong(ctx, authors)
		if err != nil {
			return err
		}
		for _, a := range busy {
			unfinished[a] = true
		}
	}
	gone, next := sift(marks, unfinished, r.suspects, asked, r.w.Clock.Now(), r.w.RetireAfter)
	r.suspects = next
	if len(gone) == 0 {
		return nil
	}
	if err := r.w.Marks.Retire(ctx, gone); err != nil {
		return err
	}
	r.w.Hooks.MarksRetired(len(gone))
	return nil
}

// sift divides the marks: those to retire now, and those to keep an eye on.
// The record was asked between asked and answered.
func sift(marks []Mark, unfinished map[feed.ID]bool, suspects map[feed.ID]suspect,
	asked, answered time.Time, after time.Duration,
) (gone []Mark, next map[feed.ID]suspect) {
	next = make(map[feed.ID]suspect)
	for _, m := range marks {
		if unfinished[m.Author] {
			continue
		}
		s, ok := suspects[m.Author]
		if !ok || s.version != m.Version {
			s = suspect{version: m.Version, since: answered}
		}
		if asked.Sub(s.since) >= after {
			gone = append(gone, m)
		}
		next[m.Author] = s
	}
	return gone, next
}
