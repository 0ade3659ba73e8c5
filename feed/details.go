package feed

import (
	"context"
	"slices"
)

// detailLoad is the loading of one kind of detail for a list of ids: first
// from the hot data, then, for what is missing there, from the record under a
// lease, so that no fill can outlive a mutation.
type detailLoad[T Detail] struct {
	get    GetDetails[T]
	values []*T // by index of the ids; nil: missing or gone
}

func newLoad[T Detail](ids []ID, lease bool) *detailLoad[T] {
	l := &detailLoad[T]{get: GetDetails[T]{IDs: ids}, values: make([]*T, len(ids))}
	if lease {
		l.get.Lease = newToken()
	}
	return l
}

// take adopts what the hot data had and returns the indexes of what is missing.
func (l *detailLoad[T]) take(hot bool) []int {
	var missing []int
	for i := range l.get.IDs {
		switch {
		case !hot || l.get.State[i] == Missing:
			missing = append(missing, i)
		case l.get.State[i] == Found:
			l.values[i] = &l.get.Values[i]
		}
	}
	return missing
}

// lease asks, for the missing ones, for the right to fill them in. It returns
// nil when there is nothing to ask, or the reading has asked already.
func (l *detailLoad[T]) lease(missing []int) *LeaseDetails[T] {
	if l.get.Lease != "" || len(missing) == 0 {
		return nil
	}
	return &LeaseDetails[T]{IDs: pick(l.get.IDs, missing), Token: newToken()}
}

// fill stores, with the next round trip, what the record had and may be filled
// in. asked is the lease operation if there was one.
func (l *detailLoad[T]) fill(t *trip, missing []int, asked *LeaseDetails[T]) {
	f := &FillDetails[T]{Token: l.get.Lease, Generation: l.get.Generation}
	if asked != nil {
		f.Token, f.Generation = asked.Token, asked.Generation
	}
	for n, i := range missing {
		leased := i < len(l.get.Leased) && l.get.Leased[i]
		if asked != nil {
			leased = n < len(asked.Leased) && asked.Leased[n]
		}
		if leased && l.values[i] != nil {
			f.IDs = append(f.IDs, l.get.IDs[i])
			f.Values = append(f.Values, *l.values[i])
		}
	}
	if len(f.IDs) > 0 {
		t.later(f)
	}
}

func pick(ids []ID, indexes []int) []ID {
	picked := make([]ID, len(indexes))
	for n, i := range indexes {
		picked[n] = ids[i]
	}
	return picked
}

// pairLoad loads what one row of the record holds and the hot data keeps
// apart: what stays (a post, a user) and, if wanted, what changes (stats,
// counters).
type pairLoad[A, B Detail] struct {
	first  *detailLoad[A]
	second *detailLoad[B] // nil: not wanted
	fetch  func(context.Context, Record, []ID) (map[ID]pair[A, B], error)
}

type pair[A, B Detail] struct {
	first  *A
	second *B
}

func newPostLoad(ids []ID, stats, lease bool) *pairLoad[Post, Stats] {
	l := &pairLoad[Post, Stats]{first: newLoad[Post](ids, lease), fetch: fetchPosts}
	if stats {
		l.second = newLoad[Stats](ids, lease)
	}
	return l
}

func newUserLoad(ids []ID, counts, lease bool) *pairLoad[User, UserCounts] {
	l := &pairLoad[User, UserCounts]{first: newLoad[User](ids, lease), fetch: fetchUsers}
	if counts {
		l.second = newLoad[UserCounts](ids, lease)
	}
	return l
}

func fetchPosts(ctx context.Context, r Record, ids []ID) (map[ID]pair[Post, Stats], error) {
	rows, err := r.PostsByID(ctx, ids)
	found := make(map[ID]pair[Post, Stats], len(rows))
	for i := range rows {
		found[rows[i].ID] = pair[Post, Stats]{&rows[i].Post, &rows[i].Stats}
	}
	return found, err
}

func fetchUsers(ctx context.Context, r Record, ids []ID) (map[ID]pair[User, UserCounts], error) {
	rows, err := r.UsersByID(ctx, ids)
	found := make(map[ID]pair[User, UserCounts], len(rows))
	for i := range rows {
		found[rows[i].ID] = pair[User, UserCounts]{&rows[i].User, &rows[i].UserCounts}
	}
	return found, err
}

// ops are the reading half, to be sent with whatever else is due.
func (l *pairLoad[A, B]) ops() []Op {
	switch {
	case len(l.first.get.IDs) == 0:
		return nil
	case l.second == nil:
		return []Op{&l.first.get}
	default:
		return []Op{&l.first.get, &l.second.get}
	}
}

// finish takes what was read and loads the rest from the record. A deleted
// post comes with DeletedAt, or as nil when a tombstone stands.
func (l *pairLoad[A, B]) finish(ctx context.Context, t *trip, hot bool) error {
	ids := l.first.get.IDs
	if len(ids) == 0 {
		return nil
	}
	noFirst := l.first.take(hot)
	var noSecond []int
	if l.second != nil {
		noSecond = l.second.take(hot)
	}
	if len(noFirst)+len(noSecond) == 0 {
		return nil
	}
	var ops []Op
	askFirst := l.first.lease(noFirst)
	if askFirst != nil {
		ops = append(ops, askFirst)
	}
	var askSecond *LeaseDetails[B]
	if l.second != nil {
		if askSecond = l.second.lease(noSecond); askSecond != nil {
			ops = append(ops, askSecond)
		}
	}
	if len(ops) > 0 {
		t.do(ctx, ops...)
	}
	rows, err := l.fetch(ctx, t.s.record, NewIDSet(append(pick(ids, noFirst), pick(ids, noSecond)...)))
	if err != nil {
		return err
	}
	for _, i := range noFirst {
		l.first.values[i] = rows[ids[i]].first
	}
	for _, i := range noSecond {
		l.second.values[i] = rows[ids[i]].second
	}
	l.first.fill(t, noFirst, askFirst)
	if l.second != nil {
		l.second.fill(t, noSecond, askSecond)
	}
	return nil
}

// load is ops and finish in one, for callers with nothing else to send.
func (l *pairLoad[A, B]) load(ctx context.Context, t *trip) error {
	if len(l.first.get.IDs) == 0 {
		return nil
	}
	return l.finish(ctx, t, t.do(ctx, l.ops()...))
}

// index finds an id among those loaded, most likely at i; -1 if it is not there.
func (l *pairLoad[A, B]) index(i int, id ID) int {
	if l != nil && i < len(l.first.get.IDs) && l.first.get.IDs[i] == id {
		return i
	}
	return l.find(id)
}

// find finds an id among those loaded; -1 if it is not there.
func (l *pairLoad[A, B]) find(id ID) int {
	if l == nil {
		return -1
	}
	return slices.Index(l.first.get.IDs, id)
}
