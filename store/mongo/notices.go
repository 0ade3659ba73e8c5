package mongo

import (
	"context"
	"hash/maphash"
	"log/slog"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"feedgate/feed"
)

// A notice is one document, and one atomic write of it is the moment at which
// an actor comes or goes: it changes actors, total and at, raises v, and says in
// last what it did. Who is in beyond the named ones stands in noticeActors,
// which lags behind by that last change at most: whoever changes a notice
// settles the last change there first. A crash between the two writes therefore
// harms nothing, and nobody has to repair anything.
//
// A writer may be so slow that others settled its change and went on. Hence
// what is in noticeActors carries the v that it came with, only a higher one
// replaces it, and an actor who goes leaves a document behind.

// noticeDoc is a document of notices.
type noticeDoc struct {
	ID      feed.ID         `bson:"_id"`
	To      feed.ID         `bson:"to"`
	Kind    feed.NoticeKind `bson:"kind"`
	Subject feed.ID         `bson:"subject"`
	At      int64           `bson:"at"`
	Total   int64           `bson:"total"`
	Actors  []namedDoc      `bson:"actors"` // newest first, at most feed.NoticeActors
	V       int64           `bson:"v"`      // raised by each change
	Last    partDoc         `bson:"last"`   // what the change to v did
}

// namedDoc is an actor as a notice names it, and since when (ms).
type namedDoc struct {
	Actor feed.ID `bson:"actor"`
	At    int64   `bson:"at"`
}

func (n namedDoc) compare(m namedDoc) int {
	return feed.Position{At: n.At, ID: n.Actor}.Compare(feed.Position{At: m.At, ID: m.Actor})
}

// partDoc says that an actor came or went.
type partDoc struct {
	Actor feed.ID `bson:"actor"`
	At    int64   `bson:"at"`
	In    bool    `bson:"in"`
}

// actorDoc is a document of noticeActors; its _id is "notice:actor".
type actorDoc struct {
	Notice feed.ID `bson:"notice"`
	V      int64   `bson:"v"`
	Part   partDoc `bson:",inline"`
}

func (d *noticeDoc) row() feed.Notice {
	return feed.Notice{
		ID: d.ID, To: d.To, Kind: d.Kind, Subject: d.Subject, Total: d.Total, At: d.At,
		Actors: documents(d.Actors, func(n namedDoc) feed.ID { return n.Actor }),
	}
}

// noticeAttempts bounds how often a change is tried again that another process outran.
const noticeAttempts = 100

// AddNotice implements [feed.NoticeRecord].
func (r *Record) AddNotice(ctx context.Context, e feed.NoticeEdge) (feed.Notice, bool, error) {
	var notice noticeDoc
	added, err := r.changeNotice(ctx, e.To, e.Kind, e.Subject, func(n *noticeDoc) (done, changed bool, err error) {
		if n == nil {
			notice = firstNotice(e)
			done, err = r.insertNotice(ctx, &notice)
			return done, done, err
		}
		notice = *n
		in, err := r.isIn(ctx, n, e.Actor)
		if err != nil || in {
			return true, false, err
		}
		if err := r.settle(ctx, n); err != nil {
			return false, false, err
		}
		notice.add(e.Actor, e.At)
		done, err = r.replaceNotice(ctx, &notice)
		return done, done, err
	})
	if err != nil {
		return feed.Notice{}, false, unavailable("AddNotice", err)
	}
	return notice.row(), added, nil
}

// RemoveNotice implements [feed.NoticeRecord].
func (r *Record) RemoveNotice(ctx context.Context, to feed.ID, kind feed.NoticeKind, subject, actor feed.ID) (bool, error) {
	removed, err := r.changeNotice(ctx, to, kind, subject, func(n *noticeDoc) (done, changed bool, err error) {
		if n == nil {
			return true, false, nil
		}
		in, err := r.isIn(ctx, n, actor)
		if err != nil || !in {
			return true, false, err
		}
		if n.Total == 1 {
			done, err = r.deleteNotice(ctx, n)
			return done, done, err
		}
		if err := r.settle(ctx, n); err != nil {
			return false, false, err
		}
		if err := r.remove(ctx, n, actor); err != nil {
			return false, false, err
		}
		done, err = r.replaceNotice(ctx, n)
		return done, done, err
	})
	if err != nil {
		return false, unavailable("RemoveNotice", err)
	}
	return removed, nil
}

// changeNotice reads a notice, nil for none, and has it changed, until that is
// done without anybody else's change in between.
func (r *Record) changeNotice(ctx context.Context, to feed.ID, kind feed.NoticeKind, subject feed.ID,
	try func(n *noticeDoc) (done, changed bool, err error),
) (changed bool, err error) {
	leave, err := r.gates.enter(ctx, pair(to, subject)+":"+string(kind))
	if err != nil {
		return false, err
	}
	defer leave()
	for range noticeAttempts {
		doc, ok, err := findOne[noticeDoc](ctx, r.notices,
			bson.D{{Key: "to", Value: to}, {Key: "kind", Value: kind}, {Key: "subject", Value: subject}}, nil)
		if err != nil {
			return false, err
		}
		n := &doc
		if !ok {
			n = nil
		}
		done, changed, err := try(n)
		if err != nil || done {
			return changed && err == nil, err
		}
	}
	return false, errOutrun
}

// firstNotice makes a notice of its first actor.
func firstNotice(e feed.NoticeEdge) noticeDoc {
	return noticeDoc{
		ID: e.ID, To: e.To, Kind: e.Kind, Subject: e.Subject, At: e.At, Total: 1,
		Actors: []namedDoc{{Actor: e.Actor, At: e.At}},
		V:      1, Last: partDoc{Actor: e.Actor, At: e.At, In: true},
	}
}

// insertNotice is false when another made the notice first. CONFLICT.
func (r *Record) insertNotice(ctx context.Context, n *noticeDoc) (bool, error) {
	inserted, err := insert(ctx, r.notices, n)
	if err != nil || inserted {
		return inserted, err
	}
	other, ok, err := findOne[noticeDoc](ctx, r.notices, byID(n.ID), only("to", "kind", "subject"))
	if err == nil && ok && (other.To != n.To || other.Kind != n.Kind || other.Subject != n.Subject) {
		err = feed.Conflict("id", "this id is another notice's")
	}
	return false, err
}

// isIn tells whether an actor is in a notice.
func (r *Record) isIn(ctx context.Context, n *noticeDoc, actor feed.ID) (bool, error) {
	named := slices.ContainsFunc(n.Actors, func(d namedDoc) bool { return d.Actor == actor })
	switch {
	case named || n.Total == int64(len(n.Actors)):
		return named, nil
	case n.Last.Actor == actor:
		return n.Last.In, nil
	}
	is, _, err := findOne[actorDoc](ctx, r.noticeActors, byID(pair(n.ID, actor)), only("in"))
	return is.Part.In, err
}

// settle writes a notice's last change to noticeActors, unless it is there.
func (r *Record) settle(ctx context.Context, n *noticeDoc) error {
	_, err := r.noticeActors.UpdateOne(ctx,
		append(byID(pair(n.ID, n.Last.Actor)), bson.E{Key: "v", Value: bson.D{{Key: "$lt", Value: n.V}}}),
		bson.D{{Key: "$set", Value: actorDoc{Notice: n.ID, V: n.V, Part: n.Last}}}, options.UpdateOne().SetUpsert(true))
	if mongo.IsDuplicateKeyError(err) {
		return nil // this change or a later one is there
	}
	return err
}

// add puts an actor who is not in it into a notice.
func (d *noticeDoc) add(actor feed.ID, at int64) {
	named := namedDoc{Actor: actor, At: at}
	i, _ := slices.BinarySearchFunc(d.Actors, named, namedDoc.compare)
	d.Actors = slices.Insert(slices.Clone(d.Actors), i, named)
	d.Actors = d.Actors[:min(len(d.Actors), feed.NoticeActors)]
	d.Total++
	d.At = max(d.At, at)
	d.Last = partDoc{Actor: actor, At: at, In: true}
}

// remove takes an actor who is in it out of a settled notice. The place of a
// named one is taken by the newest of the others.
func (r *Record) remove(ctx context.Context, d *noticeDoc, actor feed.ID) error {
	d.Total--
	d.Last = partDoc{Actor: actor}
	rest := slices.DeleteFunc(slices.Clone(d.Actors), func(n namedDoc) bool { return n.Actor == actor })
	if len(rest) == len(d.Actors) || int64(len(rest)) == d.Total {
		d.Actors = rest
		return nil
	}
	newest, err := find[namedDoc](ctx, r.noticeActors, bson.D{{Key: "notice", Value: d.ID}, {Key: "in", Value: true}},
		firstOf(feed.NoticeActors+1, bson.D{{Key: "at", Value: int32(-1)}, {Key: "actor", Value: int32(-1)}}).
			SetProjection(only("actor", "at")))
	d.Actors = slices.DeleteFunc(newest, func(n namedDoc) bool { return n.Actor == actor })
	d.Actors = d.Actors[:min(len(d.Actors), feed.NoticeActors)]
	return err
}

// replaceNotice writes a notice; it is false when another changed it meanwhile.
func (r *Record) replaceNotice(ctx context.Context, n *noticeDoc) (bool, error) {
	was := n.V
	n.V++
	done, err := r.notices.UpdateOne(ctx, append(byID(n.ID), bson.E{Key: "v", Value: was}), set(
		bson.E{Key: "at", Value: n.At}, bson.E{Key: "total", Value: n.Total}, bson.E{Key: "actors", Value: n.Actors},
		bson.E{Key: "v", Value: n.V}, bson.E{Key: "last", Value: n.Last}))
	if err != nil {
		return false, err
	}
	return done.MatchedCount == 1, nil
}

// deleteNotice removes a notice with its last actor; it is false when another
// changed it meanwhile. Its noticeActors say nothing any more, because no other
// notice gets its id, so that it does no harm if they stay.
func (r *Record) deleteNotice(ctx context.Context, n *noticeDoc) (bool, error) {
	done, err := r.notices.DeleteOne(ctx, append(byID(n.ID), bson.E{Key: "v", Value: n.V}))
	if err != nil || done.DeletedCount == 0 {
		return false, err
	}
	if _, err := r.noticeActors.DeleteMany(ctx, bson.D{{Key: "notice", Value: n.ID}}); err != nil {
		r.log.WarnContext(ctx, "the actors of a notice that went were left over",
			slog.Int64("notice", int64(n.ID)), slog.Any("error", err))
	}
	return true, nil
}

// Notices implements [feed.NoticeRecord]. It sends two queries together, as
// Entries does.
func (r *Record) Notices(ctx context.Context, to feed.ID, below feed.Position, limit int) ([]feed.Notice, error) {
	if limit <= 0 {
		return nil, nil
	}
	read := func(docs *[]noticeDoc, conditions ...bson.E) func() error {
		return func() (err error) {
			*docs, err = find[noticeDoc](ctx, r.notices, append(bson.D{{Key: "to", Value: to}}, conditions...),
				firstOf(limit, bson.D{{Key: "at", Value: int32(-1)}, {Key: "_id", Value: int32(-1)}}))
			return err
		}
	}
	var same, older []noticeDoc
	queries := []func() error{read(&older, bson.E{Key: "at", Value: bson.D{{Key: "$lt", Value: below.At}}})}
	if !below.IsNewest() {
		queries = append(queries,
			read(&same, bson.E{Key: "at", Value: below.At}, bson.E{Key: "_id", Value: bson.D{{Key: "$lt", Value: below.ID}}}))
	}
	if err := together(queries...); err != nil {
		return nil, unavailable("Notices", err)
	}
	all := slices.Concat(same, older)
	return documents(all[:min(limit, len(all))], func(d noticeDoc) feed.Notice { return d.row() }), nil
}

// NoticeByID implements [feed.NoticeRecord].
func (r *Record) NoticeByID(ctx context.Context, id feed.ID) (feed.Notice, error) {
	doc, ok, err := findOne[noticeDoc](ctx, r.notices, byID(id), nil)
	switch {
	case err != nil:
		return feed.Notice{}, unavailable("NoticeByID", err)
	case !ok:
		return feed.Notice{}, feed.NotFound("notice")
	}
	return doc.row(), nil
}

// gateCount is how many notices one process may change at the same time.
const gateCount = 256

// gates let one caller at a time change what a key names. Between callers of
// one process that saves the attempts which only one of them could win.
type gates struct {
	seed maphash.Seed
	each [gateCount]chan struct{}
}

func newGates() *gates {
	g := &gates{seed: maphash.MakeSeed()}
	for i := range g.each {
		g.each[i] = make(chan struct{}, 1)
	}
	return g
}

// enter waits for a key's turn, which ends with leave.
func (g *gates) enter(ctx context.Context, key string) (leave func(), err error) {
	gate := g.each[maphash.String(g.seed, key)%gateCount]
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
