package fanout

import (
	"math"
	"sync/atomic"
	"time"

	"feedgate/feed"
)

const (
	// SeenUnknown is the day of a reader of whom nothing is known: who may be active counts as active.
	SeenUnknown = math.MaxInt64

	day = 24 * time.Hour

	latelyBits = 20 // 2^20 readers, 8 MiB
	dayBits    = 16 // days since 1970, until the year 2149
	tagBits    = 64 - latelyBits
)

// lately remembers of readers on which day they read last, so that a fan-out asks
// for those alone of whom it does not know that they are active. It may remember
// less than there was: a day only moves forward, so that who was found active
// stays so until the daily pass takes the mark away, and [lately.active] believes
// nothing that the pass might be about to take. With another hot generation all is
// forgotten, as the marks may be lost or older. What is believed until then costs
// an entry in the inbox of somebody who need not have got it; no list without a
// valid floor is ever read.
//
// It is a table with one place for each hash; a reader takes the place of another.
// It is safe for concurrent use.
type lately struct {
	gen   atomic.Int64
	table atomic.Pointer[[1 << latelyBits]atomic.Uint64] // what the place does not tell of a reader's hash, and the day; 0 is nobody
}

// place gives where a reader stands, and what is left of the hash, which is a
// one-to-one map: no two readers have both alike.
func (l *lately) place(reader feed.ID) (at *atomic.Uint64, tag uint64) {
	table := l.table.Load()
	for table == nil {
		l.table.CompareAndSwap(nil, new([1 << latelyBits]atomic.Uint64))
		table = l.table.Load()
	}
	x := uint64(reader) * 0x9e3779b97f4a7c15 //nolint:gosec // ids are positive
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return &table[x>>tagBits], x & (1<<tagBits - 1)
}

// under forgets all if the hot generation is another one than before.
func (l *lately) under(gen int64) {
	if l.gen.Swap(gen) != gen {
		l.table.Store(nil)
	}
}

// learn notes that a reader was seen on a day since 1970.
func (l *lately) learn(reader feed.ID, on int64) {
	if on <= 0 || on >= 1<<dayBits {
		return
	}
	at, tag := l.place(reader)
	at.Store(tag<<dayBits | uint64(on))
}

// active reports whether a reader is known to have been seen after a day.
func (l *lately) active(reader feed.ID, after int64) bool {
	at, tag := l.place(reader)
	seen := at.Load()
	return seen>>dayBits == tag && int64(seen&(1<<dayBits-1)) > after
}
