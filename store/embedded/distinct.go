package embedded

import (
	"hash/maphash"
	"math"
	"math/bits"
	"sync/atomic"
)

// distinct estimates how many different texts it was given, to a few percent
// (HyperLogLog). It is safe for concurrent use.
type distinct struct {
	registers [1 << registerBits]atomic.Uint32
	seed      atomic.Pointer[maphash.Seed]
}

const registerBits = 11

func (d *distinct) add(text string) {
	seed := d.seed.Load()
	if seed == nil {
		fresh := maphash.MakeSeed()
		d.seed.CompareAndSwap(nil, &fresh)
		seed = d.seed.Load()
	}
	h := maphash.String(*seed, text)
	r := &d.registers[h>>(64-registerBits)]
	rank := uint32(bits.LeadingZeros64(h<<registerBits|1<<(registerBits-1))) + 1 //nolint:gosec // at most 64
	for {
		old := r.Load()
		if rank <= old || r.CompareAndSwap(old, rank) {
			return
		}
	}
}

func (d *distinct) count() int64 {
	const m = 1 << registerBits
	sum, empty := 0.0, 0.0
	for i := range d.registers {
		rank := d.registers[i].Load()
		sum += math.Ldexp(1, -int(rank))
		if rank == 0 {
			empty++
		}
	}
	estimate := 0.7213 / (1 + 1.079/m) * m * m / sum
	if estimate <= 2.5*m && empty > 0 {
		estimate = m * math.Log(m/empty) // few texts: count the empty registers
	}
	return int64(estimate)
}

func (d *distinct) reset() {
	for i := range d.registers {
		d.registers[i].Store(0)
	}
}
