package redis

import (
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"feedgate/feed"
)

const (
	relationsTTL = 24 * time.Hour
	// versionTTL is how long a version stands. It may end at any time without
	// harm (see the package comment); a list or relations that live longer are
	// merely read anew from the record once in that time.
	versionTTL = 30 * 24 * time.Hour
)

// held reports whether a version or a lease is a mutation's hold.
func held(version string) bool {
	return version != "" && (version[0] == 'p' || version[0] == 'q')
}

func (h *Hot) readRelations(b *batch, op *feed.ReadRelations) {
	gen := h.gen.Load()
	fresh := "g" + random()
	got := b.slice("mget", relverKey(op.User), relKey(op.User))
	made := b.status("set", relverKey(op.User), fresh, "nx", "px", versionTTL.Milliseconds())
	b.then(func() {
		op.Version, op.Found, op.Relations, op.Generation = "", false, feed.Relations{}, gen
		version, stored := textAt(got.Val(), 0), textAt(got.Val(), 1)
		if version == "" {
			// Made here, or by somebody else in between: then a mutation may have
			// come and gone, and only the next read can tell.
			if made.Val() == "OK" {
				op.Version = fresh
			}
			return
		}
		if held(version) {
			return
		}
		op.Version = version
		if stored != "" {
			op.Relations, op.Found = decodeRelations(stored, version, gen)
		}
	})
}

// textAt gives the text at an index of an answer, "" for none.
func textAt(answer []any, i int) string {
	if i >= len(answer) {
		return ""
	}
	s, ok := answer[i].(string)
	if !ok {
		return ""
	}
	return s
}

func (h *Hot) fillRelations(b *batch, op *feed.FillRelations) {
	if op.Version == "" {
		return
	}
	b.script(h.scripts.fillRelations, []string{relverKey(op.User), relKey(op.User)},
		op.Version, relationsText(op.Generation, op.Version, &op.Relations), relationsTTL.Milliseconds())
}

func (h *Hot) holdRelations(b *batch, op *feed.HoldRelations) {
	for _, user := range op.Users {
		b.status("set", relverKey(user), "p"+string(op.Token), "px", feed.HoldTTL)
	}
}

func (h *Hot) releaseRelations(b *batch, op *feed.ReleaseRelations) {
	for _, user := range op.Users {
		b.script(h.scripts.releaseRelations, []string{relverKey(user)},
			"p"+string(op.Token), "g"+random(), versionTTL.Milliseconds())
	}
}

// relationsText makes the value of relations.
func relationsText(gen int64, version string, rel *feed.Relations) []byte {
	n := len(rel.Following) + len(rel.Blocks) + len(rel.BlockedBy) + len(rel.Mutes)
	b := appendGeneration(make([]byte, 0, 64+8*n), gen)
	b = appendText(b, 2, version)
	b = appendIDs(b, 3, rel.Following)
	b = appendIDs(b, 4, rel.Blocks)
	b = appendIDs(b, 5, rel.BlockedBy)
	return appendIDs(b, 6, rel.Mutes)
}

// decodeRelations reads the value of relations, if it is of this version and generation.
func decodeRelations(s, version string, gen int64) (feed.Relations, bool) {
	var rel feed.Relations
	r := reader{s: s}
	if r.header() != gen || r.bad {
		return feed.Relations{}, false
	}
	found := false
	for f := r.field(); f != 0; f = r.field() {
		switch f {
		case 2<<3 | asText:
			found = r.text() == version
		case 3<<3 | asText:
			rel.Following = r.ids()
		case 4<<3 | asText:
			rel.Blocks = r.ids()
		case 5<<3 | asText:
			rel.BlockedBy = r.ids()
		case 6<<3 | asText:
			rel.Mutes = r.ids()
		default:
			r.skip(f)
		}
	}
	if r.bad || !found {
		return feed.Relations{}, false
	}
	return rel, true
}

// appendIDs appends a field with an ascending set as the distances from one id
// to the next, each at least 1.
func appendIDs(b []byte, n protowire.Number, ids []feed.ID) []byte {
	if len(ids) == 0 {
		return b
	}
	at := len(b)
	last := feed.ID(0)
	for _, id := range ids {
		b = protowire.AppendVarint(b, bits(int64(id-last)))
		last = id
	}
	return nest(b, at, n)
}

// ids reads what appendIDs has written.
func (r *reader) ids() feed.IDSet {
	in := reader{s: r.text()}
	n := 0
	for i := range len(in.s) {
		if in.s[i] < 0x80 {
			n++
		}
	}
	if n == 0 {
		if in.s != "" {
			r.fail()
		}
		return nil
	}
	set := make(feed.IDSet, 0, n)
	last, step, shift := uint64(0), uint64(0), 0
	for i := range len(in.s) {
		c := in.s[i]
		step |= uint64(c&0x7f) << shift
		if c >= 0x80 {
			if shift += 7; shift > 63 {
				r.fail()
				return nil
			}
			continue
		}
		if step == 0 || step > math.MaxInt64-last || (shift == 63 && c > 1) {
			r.fail()
			return nil
		}
		last += step
		set = append(set, feed.ID(whole(last)))
		step, shift = 0, 0
	}
	if shift != 0 {
		r.fail() // the last one is cut off
		return nil
	}
	return set
}
