package storetest

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"feedgate/feed"
)

const (
	holdTTL  = feed.HoldTTL * time.Millisecond
	leaseTTL = feed.LeaseTTL * time.Millisecond
	slack    = 2 * time.Second
)

// losses are the ways to lose what is held or leased.
func (s *hotSuite) losses() []func(t *testing.T) {
	return []func(t *testing.T){s.back.Flush, s.back.Evict}
}

func samplePost(id feed.ID, n int) feed.Post {
	p := feed.Post{ID: id, Author: id + 1, At: 1_760_000_000_123 + int64(n), Kind: "original", Text: "Grüße, \x00 日本語"}
	switch n % 3 {
	case 1:
		p.Media = []feed.Media{{URL: "https://example.org/a.jpg", Alt: "a", Width: 800, Height: 600}, {URL: "https://example.org/b.jpg"}}
		p.Topics = []string{"sea", "", "sky"}
		p.Place = &feed.Place{Latitude: -33.86, Longitude: 151.2, Precision: feed.PrecisionCity}
		p.Link = &feed.Link{URL: "https://example.org", Title: "t"}
	case 2:
		p.RepostOf, p.OriginalAuthor = id-1, id-2
		p.Attributes = json.RawMessage(`{"a":[1,2]}`)
		p.Place = &feed.Place{}
		p.DeletedAt = 12
	}
	return p
}

func sampleStats(id feed.ID, n int) feed.Stats {
	st := feed.Stats{Likes: int64(n), Comments: 1 << 40, Reposts: -1}
	if n%2 == 1 {
		st.First = []feed.Comment{
			{ID: 1, Post: id, Author: id + 1, At: 5, Text: "first"},
			{ID: 1 << 60, Post: id, Author: 2, At: 6},
		}
	}
	return st
}

func sampleUser(id feed.ID, n int) feed.User {
	return feed.User{ID: id, Handle: "h", Name: "Ada Øst", AvatarURL: "https://example.org/u", Bio: "b", CreatedAt: int64(n)}
}

func sampleCounts(_ feed.ID, n int) feed.UserCounts {
	return feed.UserCounts{Followers: int64(n), Followees: 2, Posts: 1 << 50}
}

// details is a test of one kind of details.
type details[T feed.Detail] struct {
	*hotSuite
	sample func(id feed.ID, n int) T
}

func hotDetailTests[T feed.Detail](sample func(id feed.ID, n int) T) map[string]func(s *hotSuite) {
	tests := map[string]func(d details[T]){
		"what was filled in is found":                          details[T].found,
		"one may fill in at a time":                            details[T].leasedOnce,
		"only the lease's holder fills in":                     details[T].fillNeedsLease,
		"a mutation between lease and fill drops both":         details[T].heldBetween,
		"a mutation leaves its value":                          details[T].released,
		"of two mutations neither leaves its value":            details[T].overlap,
		"a mutation that ends within another spoils its value": details[T].overlapWithin,
		"a lease after a lost hold ends with the mutation":     details[T].holdLost,
		"a loss ends a lease":                                  details[T].leaseLost,
		"a tombstone stands":                                   details[T].gone,
		"a deletion within another mutation stands":            details[T].goneWithin,
		"another generation makes them missing":                details[T].generation,
		"a fill carries the generation of its lease":           details[T].fillOldGeneration,
		"holds and leases end by themselves":                   details[T].timesOut,
		"none asked, none answered":                            details[T].none,
		"an id that is named twice is one":                     details[T].twice,
	}
	bound := make(map[string]func(s *hotSuite), len(tests))
	for name, test := range tests {
		bound[name] = func(s *hotSuite) { test(details[T]{s, sample}) }
	}
	return bound
}

func (d details[T]) get(ids ...feed.ID) *feed.GetDetails[T] {
	d.t.Helper()
	op := &feed.GetDetails[T]{IDs: ids}
	d.do(op)
	return op
}

func (d details[T]) wantState(what string, id feed.ID, want feed.DetailState) {
	d.t.Helper()
	equal(d.hotSuite, what, d.get(id).State[0], want)
}

func (d details[T]) lease(token feed.Token, id feed.ID) bool {
	d.t.Helper()
	op := &feed.LeaseDetails[T]{IDs: []feed.ID{id}, Token: token}
	d.do(op)
	equal(d.hotSuite, "generation of the lease", op.Generation, firstGeneration)
	return op.Leased[0]
}

func (d details[T]) fill(token feed.Token, id feed.ID, n int) {
	d.t.Helper()
	d.do(&feed.FillDetails[T]{IDs: []feed.ID{id}, Values: []T{d.sample(id, n)}, Token: token, Generation: firstGeneration})
}

func (d details[T]) hold(token feed.Token, id feed.ID) {
	d.t.Helper()
	d.do(&feed.HoldDetails[T]{IDs: []feed.ID{id}, Token: token})
}

func (d details[T]) release(token feed.Token, id feed.ID, n int) {
	d.t.Helper()
	d.do(&feed.ReleaseDetails[T]{IDs: []feed.ID{id}, Token: token, Values: []T{d.sample(id, n)}})
}

func (d details[T]) found() {
	const n = 50
	ids := make([]feed.ID, n)
	for i := range ids {
		ids[i] = d.ids.Next()
	}
	got := &feed.GetDetails[T]{IDs: ids, Lease: "a"}
	d.do(got)
	fill := &feed.FillDetails[T]{Token: "a", Generation: got.Generation}
	for i, id := range ids {
		equal(d.hotSuite, "state at first", got.State[i], feed.Missing)
		equal(d.hotSuite, "leased", got.Leased[i], true)
		if i%5 != 0 {
			fill.IDs, fill.Values = append(fill.IDs, id), append(fill.Values, d.sample(id, i))
		}
	}
	d.do(fill)
	again := d.get(ids...)
	for i, id := range ids {
		want, state := d.sample(id, i), feed.Found
		if i%5 == 0 {
			want, state = *new(T), feed.Missing
		}
		if again.State[i] != state || !reflect.DeepEqual(again.Values[i], want) {
			d.t.Errorf("id %d: got %v %+v, want %v %+v", id, again.State[i], again.Values[i], state, want)
		}
	}
}

func (d details[T]) leasedOnce() {
	id := d.ids.Next()
	equal(d.hotSuite, "first lease", d.lease("a", id), true)
	equal(d.hotSuite, "second lease", d.lease("b", id), false)
	op := &feed.GetDetails[T]{IDs: []feed.ID{id}, Lease: "c"}
	d.do(op)
	equal(d.hotSuite, "third lease", op.Leased[0], false)
	d.fill("a", id, 1)
	d.wantState("filled", id, feed.Found)
	equal(d.hotSuite, "lease after the fill", d.lease("b", id), true)
}

func (d details[T]) fillNeedsLease() {
	id := d.ids.Next()
	d.fill("a", id, 1)
	d.wantState("filled without a lease", id, feed.Missing)
	d.lease("a", id)
	d.fill("b", id, 1)
	d.wantState("filled with another's lease", id, feed.Missing)
	d.fill("a", id, 1)
	d.wantState("filled with the lease", id, feed.Found)
	d.lease("c", id)
	d.fill("a", id, 2)
	equal(d.hotSuite, "likeness after a late fill", reflect.DeepEqual(d.get(id).Values[0], d.sample(id, 1)), true)
}

func (d details[T]) heldBetween() {
	id := d.ids.Next()
	d.lease("a", id)
	d.hold("m", id)
	equal(d.hotSuite, "lease while held", d.lease("b", id), false)
	d.fill("a", id, 1)
	d.wantState("filled while held", id, feed.Missing)
	d.do(&feed.ReleaseDetails[T]{IDs: []feed.ID{id}, Token: "m"})
	d.fill("a", id, 1)
	d.wantState("filled after the mutation", id, feed.Missing)
	equal(d.hotSuite, "lease after the mutation", d.lease("c", id), true)
	d.fill("c", id, 1)
	d.hold("m", id)
	d.wantState("found while held", id, feed.Missing)
}

func (d details[T]) released() {
	id := d.ids.Next()
	d.lease("r", id)
	d.fill("r", id, 1)
	d.hold("m", id)
	d.release("m", id, 2)
	got := d.get(id)
	if got.State[0] != feed.Found || !reflect.DeepEqual(got.Values[0], d.sample(id, 2)) {
		d.t.Errorf("after the mutation: got %v %+v, want %+v", got.State[0], got.Values[0], d.sample(id, 2))
	}
	equal(d.hotSuite, "lease after the mutation", d.lease("r", id), true)
}

func (d details[T]) overlap() {
	id := d.ids.Next()
	d.hold("a", id)
	d.hold("b", id)
	d.release("b", id, 2)
	d.wantState("after the second", id, feed.Missing)
	d.release("a", id, 1)
	d.wantState("after the first", id, feed.Missing)

	d.hold("a", id)
	d.hold("b", id)
	d.release("a", id, 1)
	equal(d.hotSuite, "lease while the second holds", d.lease("r", id), false)
	d.release("b", id, 2)
	d.wantState("after both", id, feed.Missing)
}

// A hold is lost or taken over and ended; the next mutation does not know of
// the one that still runs, until that one ends.
func (d details[T]) overlapWithin() {
	id := d.ids.Next()
	d.hold("a", id)
	d.hold("b", id)
	d.release("b", id, 2)
	d.hold("c", id)
	d.release("a", id, 1)
	d.release("c", id, 3)
	d.wantState("after all", id, feed.Missing)
}

func (d details[T]) holdLost() {
	for _, lose := range d.losses() {
		id := d.ids.Next()
		d.hold("m", id)
		lose(d.t)
		equal(d.hotSuite, "lease after the loss", d.lease("r", id), true)
		d.do(&feed.ReleaseDetails[T]{IDs: []feed.ID{id}, Token: "m"})
		d.fill("r", id, 1)
		d.wantState("filled with what may be old", id, feed.Missing)

		d.hold("m", id)
		lose(d.t)
		d.lease("r", id)
		d.fill("r", id, 1)
		d.release("m", id, 2)
		d.wantState("released after a loss", id, feed.Missing)
	}
}

func (d details[T]) leaseLost() {
	for _, lose := range d.losses() {
		id := d.ids.Next()
		d.lease("a", id)
		lose(d.t)
		d.fill("a", id, 1)
		d.wantState("filled after the loss", id, feed.Missing)
	}
}

func (d details[T]) gone() {
	id := d.ids.Next()
	d.lease("a", id)
	d.hold("m", id)
	d.do(&feed.ReleaseDetails[T]{IDs: []feed.ID{id}, Token: "m", Gone: true})
	d.wantState("deleted", id, feed.Gone)
	d.fill("a", id, 1)
	d.wantState("filled with an old lease", id, feed.Gone)
	d.lease("b", id)
	d.fill("b", id, 1)
	d.wantState("filled with a new lease", id, feed.Gone)
	d.hold("m", id)
	d.wantState("held once more", id, feed.Gone)
	d.release("m", id, 2)
	d.wantState("released with a value", id, feed.Gone)
	d.do(&feed.ReleaseDetails[T]{IDs: []feed.ID{id}, Token: "m"})
	d.wantState("released without a value", id, feed.Gone)
}

func (d details[T]) goneWithin() {
	id := d.ids.Next()
	d.hold("a", id)
	d.hold("b", id)
	d.do(&feed.ReleaseDetails[T]{IDs: []feed.ID{id}, Token: "a", Gone: true})
	d.wantState("deleted", id, feed.Gone)
	d.release("b", id, 2)
	d.wantState("after the other", id, feed.Gone)
}

func (d details[T]) generation() {
	id, deleted := d.ids.Next(), d.ids.Next()
	d.lease("a", id)
	d.fill("a", id, 1)
	d.do(&feed.ReleaseDetails[T]{IDs: []feed.ID{deleted}, Token: "m", Gone: true})
	d.setGeneration(firstGeneration + 1)
	d.wantState("value of the old generation", id, feed.Missing)
	d.wantState("tombstone of the old generation", deleted, feed.Missing)
}

func (d details[T]) fillOldGeneration() {
	id := d.ids.Next()
	d.lease("a", id)
	d.setGeneration(firstGeneration + 1)
	d.fill("a", id, 1)
	d.wantState("filled under the old generation", id, feed.Missing)
}

func (d details[T]) timesOut() {
	if d.back.Advance == nil {
		return
	}
	id := d.ids.Next()
	d.lease("a", id)
	d.back.Advance(d.t, leaseTTL+slack)
	equal(d.hotSuite, "lease after another ran out", d.lease("b", id), true)
	d.fill("a", id, 1)
	d.wantState("filled with what ran out", id, feed.Missing)
	d.hold("m", id)
	d.back.Advance(d.t, holdTTL+slack)
	equal(d.hotSuite, "lease after a hold ran out", d.lease("b", id), true)
	d.fill("b", id, 1)
	d.back.Advance(d.t, 2*time.Hour)
	d.wantState("after hours", id, feed.Missing)
}

func (d details[T]) none() {
	got := d.get()
	equal(d.hotSuite, "states", len(got.State), 0)
	d.do(&feed.FillDetails[T]{Token: "a"}, &feed.HoldDetails[T]{Token: "a"}, &feed.ReleaseDetails[T]{Token: "a"}, &feed.LeaseDetails[T]{Token: "a"})
}

func (d details[T]) twice() {
	id := d.ids.Next()
	ids, value := []feed.ID{id, id}, d.sample(id, 1)
	d.do(&feed.HoldDetails[T]{IDs: ids, Token: "m"}, &feed.HoldDetails[T]{IDs: ids, Token: "m"})
	d.release("m", id, 1)
	d.wantState("released", id, feed.Found)
	lease := &feed.LeaseDetails[T]{IDs: ids, Token: "a"}
	d.do(lease, &feed.FillDetails[T]{IDs: ids, Values: []T{value, value}, Token: "a", Generation: firstGeneration})
	equalSlice(d.hotSuite, "leased", lease.Leased, []bool{true, false})
	equalSlice(d.hotSuite, "states", d.get(ids...).State, []feed.DetailState{feed.Found, feed.Found})
}
