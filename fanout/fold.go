package fanout

import "feedgate/feed"

// fold turns the acknowledgements of one Op, which come in any order and may
// repeat, into the low-water mark. The mark moves over contiguous executed
// tasks only, and never past a dead one.
type fold struct {
	next  int64         // the lowest number without an ack
	ahead map[int64]Ack // acks above next

	mark      feed.ID // all followers up to this id have been executed
	delivered int64   // followers up to mark
	dead      int64   // dead tasks below next; above 0 the mark stands still
}

// newFold starts at the mark of a duty, with nothing acknowledged.
func newFold(mark feed.ID, delivered int64) *fold {
	return &fold{ahead: make(map[int64]Ack), mark: mark, delivered: delivered}
}

// add takes acks of tasks below cut, the number of tasks cut so far, and
// returns how many of them were new.
func (f *fold) add(acks []Ack, cut int64) int {
	fresh := 0
	for _, a := range acks {
		if a.Number < f.next || a.Number >= cut {
			continue
		}
		if _, known := f.ahead[a.Number]; known {
			continue
		}
		f.ahead[a.Number] = a
		fresh++
	}
	for {
		a, ok := f.ahead[f.next]
		if !ok {
			return fresh
		}
		delete(f.ahead, f.next)
		f.next++
		switch {
		case a.Dead:
			f.dead++
		case f.dead == 0:
			f.mark = a.Last
			f.delivered += a.Count
		}
	}
}

// acked is the number of tasks with an ack, dead ones included.
func (f *fold) acked() int64 { return f.next + int64(len(f.ahead)) }

// failed reports whether a dead task is known, whether or not all before it is.
func (f *fold) failed() bool {
	if f.dead > 0 {
		return true
	}
	for _, a := range f.ahead {
		if a.Dead {
			return true
		}
	}
	return false
}
