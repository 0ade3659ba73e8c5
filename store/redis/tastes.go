package redis

import (
	"google.golang.org/protobuf/encoding/protowire"

	"feedgate/feed"
)

// Lists in an order of their own are kept as the differences of each element
// from the one before it, zigzag coded. The differences may overflow: adding
// them up overflows back.

func appendStep(b []byte, to, from int64) []byte {
	return protowire.AppendVarint(b, protowire.EncodeZigZag(to-from))
}

// step reads what appendStep has written.
func (r *reader) step(from int64) int64 { return from + protowire.DecodeZigZag(r.varint()) }

// appendEngaged appends engagements in their order.
func appendEngaged(b []byte, engaged []feed.Engagement) []byte {
	var last feed.Engagement
	for _, e := range engaged {
		b = protowire.AppendVarint(b, uint64(e.Kind))
		b = appendStep(b, e.At, last.At)
		b = appendStep(b, int64(e.Post), int64(last.Post))
		last = e
	}
	return b
}

// engaged reads what appendEngaged has written, to the end.
func (r *reader) engaged() []feed.Engagement {
	n := r.varints() / 3
	if n == 0 {
		if r.s != "" {
			r.fail()
		}
		return nil
	}
	engaged := make([]feed.Engagement, 0, n)
	var last feed.Engagement
	for r.s != "" {
		kind := r.varint()
		if kind > 0xff {
			r.fail()
			return nil
		}
		last.Kind = feed.EngagementKind(kind)
		last.At = r.step(last.At)
		last.Post = feed.ID(r.step(int64(last.Post)))
		if r.bad {
			return nil
		}
		engaged = append(engaged, last)
	}
	return engaged
}

// varints counts the varints that are left.
func (r *reader) varints() int {
	n := 0
	for i := range len(r.s) {
		if r.s[i] < 0x80 {
			n++
		}
	}
	return n
}

func appendTastes(b []byte, t *feed.Tastes) []byte {
	if len(t.Engaged) == 0 {
		return b
	}
	at := len(b)
	return nest(appendEngaged(b, t.Engaged), at, 2)
}

func decodeTastes(r *reader, user feed.ID, t *feed.Tastes) {
	t.User = user
	for f := r.field(); f != 0; f = r.field() {
		switch f {
		case 2<<3 | asText:
			in := r.inner()
			t.Engaged = in.engaged()
			r.leave(&in)
		default:
			r.skip(f)
		}
	}
}

func appendViews(b []byte, v *feed.Views) []byte {
	if len(v.Posts) == 0 {
		return b
	}
	at := len(b)
	last := feed.ID(0)
	for _, post := range v.Posts {
		b = appendStep(b, int64(post), int64(last))
		last = post
	}
	return nest(b, at, 2)
}

func decodeViews(r *reader, v *feed.Views) {
	for f := r.field(); f != 0; f = r.field() {
		switch f {
		case 2<<3 | asText:
			in := r.inner()
			v.Posts = in.steps()
			r.leave(&in)
		default:
			r.skip(f)
		}
	}
}

// steps reads ids in their own order, to the end.
func (r *reader) steps() []feed.ID {
	n := r.varints()
	if n == 0 {
		if r.s != "" {
			r.fail()
		}
		return nil
	}
	ids := make([]feed.ID, 0, n)
	last := int64(0)
	for r.s != "" {
		if last = r.step(last); r.bad {
			return nil
		}
		ids = append(ids, feed.ID(last))
	}
	return ids
}
