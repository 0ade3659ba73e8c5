package redis

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The values are in protobuf's wire format: fields have numbers, those that a
// reader does not know are skipped, and zero values are left out. The first
// field of each is the generation that it was written under.

const fieldGeneration protowire.Number = 1

// bits gives the two's complement of v, for varints.
func bits(v int64) uint64 {
	return uint64(v) //nolint:gosec // the same 64 bits, and back again in whole
}

// whole undoes bits.
func whole(v uint64) int64 {
	return int64(v) //nolint:gosec // the same 64 bits, and back again in bits
}

// appendGeneration starts a value.
func appendGeneration(b []byte, gen int64) []byte {
	b = protowire.AppendTag(b, fieldGeneration, protowire.VarintType)
	return protowire.AppendVarint(b, bits(gen))
}

func appendInt(b []byte, n protowire.Number, v int64) []byte {
	if v == 0 {
		return b
	}
	b = protowire.AppendTag(b, n, protowire.VarintType)
	return protowire.AppendVarint(b, bits(v))
}

func appendText(b []byte, n protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	b = protowire.AppendTag(b, n, protowire.BytesType)
	return protowire.AppendString(b, s)
}

func appendDouble(b []byte, n protowire.Number, v float64) []byte {
	b = protowire.AppendTag(b, n, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, math.Float64bits(v))
}

// reader reads the wire format off a string, so that the texts in it need no
// copies. After the first fault it is bad, and all that it gives is zero.
type reader struct {
	s   string
	bad bool
}

// fail makes r bad and ends the loop over its fields.
func (r *reader) fail() {
	r.bad = true
	r.s = ""
}

// varint reads one varint.
func (r *reader) varint() uint64 {
	if r.s != "" && r.s[0] < 0x80 {
		v := uint64(r.s[0])
		r.s = r.s[1:]
		return v
	}
	var v uint64
	for i := range min(len(r.s), 10) {
		c := r.s[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if i == 9 && c > 1 {
				break
			}
			r.s = r.s[i+1:]
			return v
		}
	}
	r.fail()
	return 0
}

// int reads a varint as a signed number.
func (r *reader) int() int64 { return whole(r.varint()) }

// text reads a text or a nested message.
func (r *reader) text() string {
	n := r.varint()
	if n > uint64(len(r.s)) {
		r.fail()
		return ""
	}
	t := r.s[:n]
	r.s = r.s[n:]
	return t
}

// double reads a number of 8 bytes.
func (r *reader) double() float64 {
	if len(r.s) < 8 {
		r.fail()
		return 0
	}
	var v uint64
	for i := range 8 {
		v |= uint64(r.s[i]) << (8 * i)
	}
	r.s = r.s[8:]
	return math.Float64frombits(v)
}

// field reads the tag of the next field and gives it in one number, as key
// makes it. It gives 0 at the end.
func (r *reader) field() uint64 {
	if r.s == "" {
		return 0
	}
	k := r.varint()
	if k>>3 == 0 {
		r.fail()
		return 0
	}
	return k
}

// skip passes over the value of a field that the reader does not know.
func (r *reader) skip(field uint64) {
	switch protowire.Type(field & 7) {
	case protowire.VarintType:
		r.varint()
	case protowire.BytesType:
		r.text()
	case protowire.Fixed64Type:
		r.double()
	case protowire.Fixed32Type:
		if len(r.s) < 4 {
			r.fail()
			return
		}
		r.s = r.s[4:]
	default:
		r.fail()
	}
}

// run counts the fields like the one whose tag was just read that follow one
// another, so that a slice for them can be made at once.
func (r *reader) run(field uint64) int {
	ahead := *r
	n := 0
	for f := field; f == field && !ahead.bad; f = ahead.field() {
		ahead.skip(f)
		n++
	}
	return n
}

// The wire types, as constants that a switch can add to a field number.
const (
	asVarint  = uint64(protowire.VarintType)
	asDouble  = uint64(protowire.Fixed64Type)
	asText    = uint64(protowire.BytesType)
	asMessage = asText
)

// header reads the generation at the start of a value.
func (r *reader) header() int64 {
	if r.field() != uint64(fieldGeneration)<<3|asVarint {
		r.fail()
		return 0
	}
	return r.int()
}
