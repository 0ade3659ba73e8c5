package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"feedgate/feed"
)

// generation is the _id of the hot generation in meta.
const generation = "generation"

type metaDoc struct {
	ID    string `bson:"_id"`
	Value int64  `bson:"value"`
}

// firstGeneration is the generation of a new record: the time in ms, so that it
// does not believe what it finds in a Redis that another record has used.
func firstGeneration() int64 { return bson.NewObjectID().Timestamp().UnixMilli() }

var errNoGeneration = errors.New("the hot generation is missing")

// Generation implements [feed.MetaRecord].
func (r *Record) Generation(ctx context.Context) (int64, error) {
	doc, ok, err := findOne[metaDoc](ctx, r.meta, byID(generation), nil)
	if err == nil && !ok {
		err = errNoGeneration
	}
	if err != nil {
		return 0, unavailable("Generation", err)
	}
	return doc.Value, nil
}

// RaiseGeneration implements [feed.MetaRecord].
func (r *Record) RaiseGeneration(ctx context.Context, from int64) (int64, error) {
	raised, ok, err := decoded[metaDoc](r.meta.FindOneAndUpdate(ctx,
		append(byID(generation), bson.E{Key: "value", Value: from}), inc(bson.E{Key: "value", Value: int64(1)}),
		options.FindOneAndUpdate().SetReturnDocument(options.After)))
	if err != nil {
		return 0, unavailable("RaiseGeneration", err)
	}
	if ok {
		return raised.Value, nil
	}
	return r.Generation(ctx)
}

type beatDoc struct {
	Name string `bson:"_id"`
	Beat int64  `bson:"beat"`
}

// Heartbeats implements [feed.HeartbeatRecord].
func (r *Record) Heartbeats(ctx context.Context) (map[string]int64, error) {
	docs, err := find[beatDoc](ctx, r.heartbeats, bson.D{}, everything())
	if err != nil {
		return nil, unavailable("Heartbeats", err)
	}
	beats := make(map[string]int64, len(docs))
	for _, d := range docs {
		beats[d.Name] = d.Beat
	}
	return beats, nil
}

// SaveHeartbeats implements [feed.HeartbeatRecord].
func (r *Record) SaveHeartbeats(ctx context.Context, beats map[string]int64) error {
	var writes []mongo.WriteModel
	for name, beat := range beats {
		writes = append(writes, update(byID(name), bson.D{{Key: "$max", Value: bson.D{{Key: "beat", Value: beat}}}}).SetUpsert(true))
	}
	if err := upsert(ctx, r.heartbeats, writes); err != nil {
		return unavailable("SaveHeartbeats", err)
	}
	return nil
}

// processDoc is a document of processes: a lease.
type processDoc struct {
	Number int64  `bson:"_id"`
	Owner  string `bson:"owner"`
	Until  int64  `bson:"until"`
}

// leaseAttempts bounds how often a process that was outrun tries another number.
const leaseAttempts = 100

var errOutrun = errors.New("other processes were faster each time")

// LeaseProcess implements [feed.ProcessRecord].
func (r *Record) LeaseProcess(ctx context.Context, owner string, limit int, now, until int64) (int, error) {
	for range leaseAttempts {
		number, ok, err := r.tryLease(ctx, owner, int64(limit), now, until)
		if err != nil {
			return 0, unavailable("LeaseProcess", err)
		}
		if ok {
			return int(number), nil
		}
	}
	return 0, unavailable("LeaseProcess", errOutrun)
}

// tryLease takes the lowest number that looks free; ok is false when another
// process was faster.
func (r *Record) tryLease(ctx context.Context, owner string, limit, now, until int64) (number int64, ok bool, err error) {
	leases, err := find[processDoc](ctx, r.processes, bson.D{{Key: "_id", Value: bson.D{{Key: "$lt", Value: limit}}}},
		everything().SetSort(bson.D{{Key: "_id", Value: int32(1)}}))
	if err != nil {
		return 0, false, err
	}
	for _, lease := range leases {
		if lease.Number > number {
			break // number has no document
		}
		if lease.Until < now {
			taken, err := r.processes.UpdateOne(ctx,
				append(byID(lease.Number), bson.E{Key: "owner", Value: lease.Owner}, bson.E{Key: "until", Value: lease.Until}),
				set(bson.E{Key: "owner", Value: owner}, bson.E{Key: "until", Value: until}))
			return number, err == nil && taken.MatchedCount == 1, err
		}
		number++
	}
	if number >= limit {
		return 0, false, feed.Unavailable("all process numbers are taken: stop a process or wait until a lease ends", nil)
	}
	ok, err = insert(ctx, r.processes, processDoc{Number: number, Owner: owner, Until: until})
	return number, ok, err
}

func leaseOf(number int, owner string) bson.D {
	return append(byID(int64(number)), bson.E{Key: "owner", Value: owner})
}

// RenewProcess implements [feed.ProcessRecord].
func (r *Record) RenewProcess(ctx context.Context, number int, owner string, until int64) error {
	renewed, err := r.processes.UpdateOne(ctx, leaseOf(number, owner), set(bson.E{Key: "until", Value: until}))
	if err != nil {
		return unavailable("RenewProcess", err)
	}
	if renewed.MatchedCount == 0 {
		return feed.Conflict("", "another process holds this number by now")
	}
	return nil
}

// ReleaseProcess implements [feed.ProcessRecord].
func (r *Record) ReleaseProcess(ctx context.Context, number int, owner string) error {
	if _, err := r.processes.DeleteOne(ctx, leaseOf(number, owner)); err != nil {
		return unavailable("ReleaseProcess", err)
	}
	return nil
}
