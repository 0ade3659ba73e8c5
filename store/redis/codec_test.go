package redis

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"feedgate/fanout"
	"feedgate/feed"
	"feedgate/feed/geo"
)

// drawn generates values of all kinds; ids and what the key says is left out.
func drawID(rt *rapid.T) feed.ID { return feed.ID(rapid.Int64Range(1, math.MaxInt64).Draw(rt, "id")) }

func drawText(rt *rapid.T) string { return rapid.String().Draw(rt, "text") }

func drawSlice[T any](rt *rapid.T, most int, one func(*rapid.T) T) []T {
	n := rapid.IntRange(0, most).Draw(rt, "n")
	var s []T
	for range n {
		s = append(s, one(rt))
	}
	return s
}

func drawPost(rt *rapid.T) feed.Post {
	p := feed.Post{
		Author: drawID(rt), At: rapid.Int64().Draw(rt, "at"), Kind: drawText(rt), Text: drawText(rt),
		RepostOf: drawID(rt), OriginalAuthor: drawID(rt), DeletedAt: rapid.Int64().Draw(rt, "deleted"),
		Topics: drawSlice(rt, 10, drawText),
		Media: drawSlice(rt, 9, func(rt *rapid.T) feed.Media {
			return feed.Media{URL: drawText(rt), Alt: drawText(rt), Width: rapid.Int32().Draw(rt, "w"), Height: rapid.Int32().Draw(rt, "h")}
		}),
	}
	if rapid.Bool().Draw(rt, "link") {
		p.Link = &feed.Link{URL: drawText(rt), Title: drawText(rt)}
	}
	if rapid.Bool().Draw(rt, "place") {
		p.Place = &feed.Place{
			Latitude: rapid.Float64().Draw(rt, "latitude"), Longitude: rapid.Float64().Draw(rt, "longitude"),
			Precision: feed.Precision(drawText(rt)),
		}
	}
	if rapid.Bool().Draw(rt, "attributes") {
		p.Attributes = json.RawMessage(drawText(rt))
	}
	return p
}

func drawStats(rt *rapid.T) feed.Stats {
	return feed.Stats{
		Likes: rapid.Int64().Draw(rt, "likes"), Comments: rapid.Int64().Draw(rt, "comments"), Reposts: rapid.Int64().Draw(rt, "reposts"),
		First: drawSlice(rt, 3, func(rt *rapid.T) feed.Comment {
			return feed.Comment{ID: drawID(rt), Author: drawID(rt), At: rapid.Int64().Draw(rt, "at"), Text: drawText(rt)}
		}),
	}
}

func drawUser(rt *rapid.T) feed.User {
	return feed.User{
		Handle: drawText(rt), Name: drawText(rt), AvatarURL: drawText(rt), Bio: drawText(rt),
		CreatedAt: rapid.Int64().Draw(rt, "created"),
	}
}

func drawEngaged(rt *rapid.T) []feed.Engagement {
	return drawSlice(rt, 20, func(rt *rapid.T) feed.Engagement {
		return feed.Engagement{
			Post: drawID(rt), At: rapid.Int64().Draw(rt, "at"), Kind: feed.EngagementKind(rapid.Uint8().Draw(rt, "kind")),
		}
	})
}

// there and back again.
func roundTrip[T feed.Detail](rt *rapid.T, want T, withID func(v *T, id feed.ID)) {
	gen, id := rapid.Int64Range(1, math.MaxInt64).Draw(rt, "generation"), drawID(rt)
	value := string(appendDetail(nil, gen, &want))
	var got T
	if state := decodeDetail(value, gen, id, &got); state != feed.Found {
		rt.Fatalf("state: got %v, want found", state)
	}
	withID(&want, id)
	if !reflect.DeepEqual(got, want) {
		rt.Fatalf("value: got %+v, want %+v", got, want)
	}
	if state := decodeDetail(value, gen-1, id, &got); state != feed.Missing {
		rt.Fatalf("state in another generation: got %v, want missing", state)
	}
	// Fields of a later version are passed over.
	more := protowire.AppendTag([]byte(value), 99, protowire.Fixed32Type)
	more = protowire.AppendFixed32(more, 7)
	more = protowire.AppendTag(more, 98, protowire.Fixed64Type)
	more = protowire.AppendFixed64(more, 7)
	more = protowire.AppendTag(more, 97, protowire.BytesType)
	more = protowire.AppendString(more, "new")
	more = protowire.AppendTag(more, 96, protowire.VarintType)
	more = protowire.AppendVarint(more, math.MaxUint64)
	var later T
	if state := decodeDetail(string(more), gen, id, &later); state != feed.Found || !reflect.DeepEqual(later, want) {
		rt.Fatalf("with unknown fields: got %v %+v, want %+v", state, later, want)
	}
}

func TestDetailsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		roundTrip(rt, drawPost(rt), func(v *feed.Post, id feed.ID) { v.ID = id })
		roundTrip(rt, drawUser(rt), func(v *feed.User, id feed.ID) { v.ID = id })
		roundTrip(rt, drawStats(rt), func(v *feed.Stats, id feed.ID) {
			for i := range v.First {
				v.First[i].Post = id
			}
		})
		roundTrip(rt, feed.Tastes{Engaged: drawEngaged(rt)}, func(v *feed.Tastes, id feed.ID) { v.User = id })
		roundTrip(rt, feed.Views{Posts: drawSlice(rt, 40, drawID)}, func(*feed.Views, feed.ID) {})
		roundTrip(rt, feed.UserCounts{Followers: rapid.Int64().Draw(rt, "n"), Posts: 3}, func(*feed.UserCounts, feed.ID) {})
	})
}

func drawSet(rt *rapid.T) feed.IDSet {
	ids := drawSlice(rt, 40, drawID)
	if len(ids) == 0 {
		return nil
	}
	return feed.NewIDSet(ids)
}

func TestRelationsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		want := feed.Relations{Following: drawSet(rt), Blocks: drawSet(rt), BlockedBy: drawSet(rt), Mutes: drawSet(rt)}
		value := string(relationsText(5, "gabc", &want))
		got, ok := decodeRelations(value, "gabc", 5)
		if !ok || !reflect.DeepEqual(got, want) {
			rt.Fatalf("relations: got %v %+v, want %+v", ok, got, want)
		}
		if _, ok := decodeRelations(value, "gabd", 5); ok {
			rt.Fatal("with another version: got them, want none")
		}
		if _, ok := decodeRelations(value, "gabc", 6); ok {
			rt.Fatal("in another generation: got them, want none")
		}
	})
}

func TestTombstoneStandsForTheDeleted(t *testing.T) {
	t.Parallel()
	var p feed.Post
	value := string(appendTombstone(nil, 5))
	if got := decodeDetail(value, 5, 1, &p); got != feed.Gone {
		t.Errorf("tombstone: got %v, want gone", got)
	}
	if got := decodeDetail(value, 6, 1, &p); got != feed.Missing {
		t.Errorf("tombstone of another generation: got %v, want missing", got)
	}
	if got := decodeDetail("T", 5, 1, &p); got != feed.Missing {
		t.Errorf("half a tombstone: got %v, want missing", got)
	}
}

func TestMembersSortAsIDs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		a, b := drawID(rt), drawID(rt)
		if got, want := strings.Compare(memberText(a), memberText(b)), int(max(-1, min(1, int64(a>>1)-int64(b>>1)))); want != 0 && got != want {
			rt.Fatalf("order of %d and %d: got %d, want %d", a, b, got, want)
		}
		if got, ok := parseMember(memberText(a)); !ok || got != a {
			rt.Fatalf("member: got %d %v, want %d", got, ok, a)
		}
	})
	for _, bad := range []string{"", "1", "f|1|g|0|1|x", "00000000000000000000", "99999999999999999999", "0000000000000000000x", "000000000000000000001"} {
		if id, ok := parseMember(bad); ok {
			t.Errorf("member %q: got %d, want none", bad, id)
		}
	}
}

func TestSlotsAreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	// 0x31C3 is the checksum that the specification gives for 123456789.
	if got, want := slotOf("123456789"), 0x31C3; got != want {
		t.Errorf("slot: got %#x, want %#x", got, want)
	}
	h := &Hot{tags: map[int]string{}}
	for _, slot := range []int{0, 1, 5461, 16383} {
		tag, err := h.tagOf(slot)
		if err != nil || slotOf(tag) != slot {
			t.Errorf("tag of slot %d: got %q %v", slot, tag, err)
		}
	}
}

// seeds are good values of each kind.
func seeds() []string {
	post := feed.Post{
		Author: 5, At: 1_760_000_000_000, Kind: "photo", Text: "hello", Topics: []string{"a", "b"},
		Media: []feed.Media{{URL: "u", Width: 3}, {Alt: "x"}}, Link: &feed.Link{URL: "l"}, Place: &feed.Place{Latitude: 1},
		Attributes: json.RawMessage(`{}`),
	}
	stats := feed.Stats{Likes: 4, First: []feed.Comment{{ID: 1, Text: "c"}}}
	user := feed.User{Handle: "ada", Name: "Ada"}
	tastes := feed.Tastes{Engaged: []feed.Engagement{{Post: 5, At: 9, Kind: feed.EngagedRepost}, {Post: 1 << 62, At: 8, Kind: 1}}}
	views := feed.Views{Posts: []feed.ID{3, 1 << 62, 7}}
	place := feed.CellEntry{Entry: feed.Entry{At: 1, ID: 3}, Point: geo.Point{Latitude: 47.1, Longitude: -8.5}}
	rel := feed.Relations{Following: feed.IDSet{1, 2, 1 << 62}, Mutes: feed.IDSet{7}}
	task := fanout.Task{Post: 7, At: 8, Author: 9, Op: 1, Readers: []feed.ID{1, 2, 3}}
	return []string{
		string(appendDetail(nil, 1, &post)), string(appendDetail(nil, 1, &stats)), string(appendDetail(nil, 1, &user)),
		string(appendDetail(nil, 1, &tastes)), string(appendDetail(nil, 1, &views)), string(appendEngaged(nil, tastes.Engaged)),
		cellMember(&place), "f|5|1|x", learningText(&feed.Learning{Serving: 1, Mark: 2}),
		string(appendTombstone(nil, 1)), string(relationsText(1, "g", &rel)), string(taskText(&task)),
		string(appendAck(nil, &fanout.Ack{Number: 3, Last: 4, Count: 5, Dead: true})),
		"", "T", "\x08", "\x08\x01\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x08\x01\x32\x05\x0a\x7f",
	}
}

// FuzzDecode has every decoder read the same bytes: none may panic, and what
// is found must survive being written and read once more.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		again[feed.Post](t, s)
		again[feed.Stats](t, s)
		again[feed.User](t, s)
		again[feed.UserCounts](t, s)
		again[feed.Tastes](t, s)
		again[feed.Views](t, s)
		learned := reader{s: s}
		if engaged := learned.engaged(); !learned.bad {
			back := reader{s: string(appendEngaged(nil, engaged))}
			if got := back.engaged(); !slices.Equal(got, engaged) {
				t.Errorf("engagements again: got %+v, want %+v", got, engaged)
			}
		}
		if id, point, ok := parseCellMember(s); ok {
			if got := cellMember(&feed.CellEntry{Entry: feed.Entry{ID: id}, Point: point}); got != s {
				t.Errorf("cell member again: got %q, want %q", got, s)
			}
		}
		if l, ok := parseLearning(s); ok {
			if got, ok := parseLearning(learningText(&l)); !ok || got != l {
				t.Errorf("learning again: got %+v, want %+v", got, l)
			}
		}
		parseCellFloor(s, 1)
		if rel, ok := decodeRelations(s, "g", 1); ok {
			for _, set := range []feed.IDSet{rel.Following, rel.Blocks, rel.BlockedBy, rel.Mutes} {
				if !slices.IsSorted(set) || (len(set) > 0 && set[0] <= 0) {
					t.Errorf("set: got %v, want it ascending and positive", set)
				}
			}
			if got, ok := decodeRelations(string(relationsText(1, "g", &rel)), "g", 1); !ok || !reflect.DeepEqual(got, rel) {
				t.Errorf("relations again: got %+v, want %+v", got, rel)
			}
		}
		var task fanout.Task
		if decodeTask(s, &task) {
			var got fanout.Task
			if !decodeTask(string(taskText(&task)), &got) || !reflect.DeepEqual(got, task) {
				t.Errorf("task again: got %+v, want %+v", got, task)
			}
		}
		var ack fanout.Ack
		decodeAck(s, &ack)
		parseFloor(s, 1)
		parseScore(s)
		if id, ok := parseMember(s); ok && memberText(id) != s {
			t.Errorf("member %q: got %d", s, id)
		}
		parseBeat(s)
	})
}

func again[T feed.Detail](t *testing.T, s string) {
	t.Helper()
	var v, got T
	if decodeDetail(s, 1, 9, &v) != feed.Found {
		return
	}
	if decodeDetail(string(appendDetail(nil, 1, &v)), 1, 9, &got) != feed.Found {
		t.Fatalf("%+v is not found again", v)
	}
	if a, b := appendDetail(nil, 1, &v), appendDetail(nil, 1, &got); !slices.Equal(a, b) {
		t.Errorf("again: got %q, want %q", b, a)
	}
}

func benchPost() feed.Post {
	return feed.Post{
		ID: 1<<62 + 5, Author: 1<<62 + 1, At: 1_760_000_000_123, Kind: "photo",
		Text:   strings.Repeat("The quick brown fox jumps over the lazy dog. ", 4),
		Topics: []string{"sea", "travel"},
		Media:  []feed.Media{{URL: "https://images.example.org/1/2/3/picture.jpg", Alt: "a picture", Width: 1600, Height: 900}},
		Place:  &feed.Place{Latitude: 47.1, Longitude: 8.5, Precision: feed.PrecisionCity},
	}
}

func BenchmarkAppendPost(b *testing.B) {
	p := benchPost()
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buf = appendDetail(buf[:0], 3, &p)
	}
}

func BenchmarkDecodePost(b *testing.B) {
	p := benchPost()
	s := string(appendDetail(nil, 3, &p))
	b.ReportAllocs()
	for b.Loop() {
		var got feed.Post
		if decodeDetail(s, 3, p.ID, &got) != feed.Found {
			b.Fatal("not found")
		}
	}
}

func BenchmarkDecodeTextPost(b *testing.B) {
	p := feed.Post{ID: 5, Author: 1 << 62, At: 1_760_000_000_123, Kind: "original", Text: "hello, world"}
	s := string(appendDetail(nil, 3, &p))
	b.ReportAllocs()
	for b.Loop() {
		var got feed.Post
		if decodeDetail(s, 3, p.ID, &got) != feed.Found {
			b.Fatal("not found")
		}
	}
}

func benchRelations(n int) feed.Relations {
	var rel feed.Relations
	for i := range n {
		rel.Following = append(rel.Following, feed.ID(1<<53+i*(1<<22)+i*i))
	}
	return rel
}

func BenchmarkDecodeRelations500(b *testing.B) {
	rel := benchRelations(500)
	s := string(relationsText(3, "gabcdefgh", &rel))
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := decodeRelations(s, "gabcdefgh", 3); !ok {
			b.Fatal("not found")
		}
	}
}
