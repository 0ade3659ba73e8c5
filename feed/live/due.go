package live

import "slices"

// dueReaders are those that wait for a snapshot, each once. The hub's lock
// guards it.
type dueReaders struct {
	queue []*reader
	some  chan struct{} // holds a token while there may be any
}

func newDueReaders() dueReaders { return dueReaders{some: make(chan struct{}, 1)} }

// push appends a reader. Those that are gone leave when they are more than the
// connected ones.
func (d *dueReaders) push(r *reader, connected int) {
	if len(d.queue) > 2*connected+derivers {
		d.queue = slices.DeleteFunc(d.queue, func(r *reader) bool { return len(r.subs) == 0 })
	}
	d.queue = append(d.queue, r)
	d.wake()
}

// pop takes the first; nil when there is none.
func (d *dueReaders) pop() *reader {
	if len(d.queue) == 0 {
		return nil
	}
	r := d.queue[0]
	d.queue[0] = nil
	d.queue = d.queue[1:]
	if len(d.queue) > 0 {
		d.wake()
	}
	return r
}

func (d *dueReaders) wake() {
	select {
	case d.some <- struct{}{}:
	default:
	}
}
