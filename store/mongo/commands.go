package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"feedgate/feed"
)

// unavailable translates an error of the driver; the domain's own stay.
func unavailable(operation string, err error) error {
	if e, ok := errors.AsType[*feed.Error](err); ok {
		return e
	}
	return feed.Unavailable("the record cannot be asked now: try again in a moment", fmt.Errorf("mongo: %s: %w", operation, err))
}

// byID names one document.
func byID(id any) bson.D { return bson.D{{Key: "_id", Value: id}} }

// among names the documents whose field is one of some values.
func among[T any](field string, values []T) bson.E {
	return bson.E{Key: field, Value: bson.D{{Key: "$in", Value: values}}}
}

func set(fields ...bson.E) bson.D { return bson.D{{Key: "$set", Value: bson.D(fields)}} }

func inc(fields ...bson.E) bson.D { return bson.D{{Key: "$inc", Value: bson.D(fields)}} }

// only is a projection to some fields; _id always comes along.
func only(fields ...string) bson.D {
	d := make(bson.D, len(fields))
	for i, f := range fields {
		d[i] = bson.E{Key: f, Value: int32(1)}
	}
	return d
}

// distinct gives ids sorted and without repeats, and leaves the argument alone.
func distinct(ids []feed.ID) feed.IDSet { return feed.NewIDSet(slices.Clone(ids)) }

// batch is how many documents come in one answer. MongoDB would else send a
// hundred, and the rest for further commands; some servers set room for a whole
// batch aside, so it is not the highest number.
const batch = 100_000

// everything asks for all documents in one answer.
func everything() *options.FindOptionsBuilder {
	return options.Find().SetBatchSize(batch)
}

// firstOf asks for the first documents, in one answer up to a batch. The
// negative limit closes the cursor with it.
func firstOf(limit int, sort bson.D) *options.FindOptionsBuilder {
	opts := options.Find().SetSort(sort).SetBatchSize(int32(min(limit, batch))) //nolint:gosec // batch is small
	if limit > batch {
		return opts.SetLimit(int64(limit))
	}
	return opts.SetLimit(-int64(limit))
}

// find reads documents with one command.
func find[T any](ctx context.Context, c *mongo.Collection, filter bson.D, opts *options.FindOptionsBuilder) ([]T, error) {
	cursor, err := c.Find(ctx, filter, opts)
	if err != nil {
		return nil, err
	}
	var docs []T
	if err := cursor.All(ctx, &docs); err != nil {
		return nil, err
	}
	return docs, nil
}

// groupDoc is what a $group by an id gives.
type groupDoc struct {
	ID feed.ID `bson:"_id"`
	N  int64   `bson:"n"`
}

// aggregate runs a pipeline with one command.
func aggregate[T any](ctx context.Context, c *mongo.Collection, pipeline mongo.Pipeline) ([]T, error) {
	cursor, err := c.Aggregate(ctx, pipeline, options.Aggregate().SetBatchSize(batch))
	if err != nil {
		return nil, err
	}
	var docs []T
	if err := cursor.All(ctx, &docs); err != nil {
		return nil, err
	}
	return docs, nil
}

// findByID reads documents with one command for each chunk of ids.
func findByID[T any](ctx context.Context, c *mongo.Collection, ids []feed.ID, fields bson.D, more ...bson.E) ([]T, error) {
	var all []T
	for part := range slices.Chunk(distinct(ids), chunk) {
		opts := everything()
		if fields != nil {
			opts.SetProjection(fields)
		}
		docs, err := find[T](ctx, c, append(bson.D{among("_id", part)}, more...), opts)
		if err != nil {
			return nil, err
		}
		all = append(all, docs...)
	}
	return all, nil
}

// findOne reads one document; ok is false when there is none.
func findOne[T any](ctx context.Context, c *mongo.Collection, filter, fields bson.D) (doc T, ok bool, err error) {
	opts := options.FindOne()
	if fields != nil {
		opts.SetProjection(fields)
	}
	return decoded[T](c.FindOne(ctx, filter, opts))
}

func decoded[T any](result *mongo.SingleResult) (doc T, ok bool, err error) {
	err = result.Decode(&doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return doc, false, nil
	}
	return doc, err == nil, err
}

// insert writes one document and tells whether it was not there.
func insert(ctx context.Context, c *mongo.Collection, doc any) (bool, error) {
	_, err := c.InsertOne(ctx, doc)
	if mongo.IsDuplicateKeyError(err) {
		return false, nil
	}
	return err == nil, err
}

// together runs functions at the same time, so that their commands wait for
// one round trip. All have returned when it returns.
func together(fns ...func() error) error {
	errs := make([]error, len(fns))
	var all sync.WaitGroup
	for i, fn := range fns[1:] {
		all.Go(func() { errs[i+1] = fn() })
	}
	errs[0] = fns[0]()
	all.Wait()
	return errors.Join(errs...)
}

// each calls fn for 0 to n - 1, at most many at the same time, and not again
// after an error, which ends the context of those under way. All have returned
// when it returns.
func each(ctx context.Context, n, many int, fn func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		all  sync.WaitGroup
		next atomic.Int64
	)
	for range min(n, many) {
		all.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := fn(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// bulkAtOnce is how many writes one command takes along. MongoDB would take
// many more; FerretDB holds a connection of a hundred for each.
const bulkAtOnce = 90

// bulk sends writes that do not depend on each other, in few commands, and
// tells how many updates found their document.
func bulk(ctx context.Context, c *mongo.Collection, writes []mongo.WriteModel) (matched int64, err error) {
	for part := range slices.Chunk(writes, bulkAtOnce) {
		done, err := c.BulkWrite(ctx, part, options.BulkWrite().SetOrdered(false))
		if err != nil {
			return matched, err
		}
		matched += done.MatchedCount
	}
	return matched, nil
}

func update(filter, change bson.D) *mongo.UpdateOneModel {
	return mongo.NewUpdateOneModel().SetFilter(filter).SetUpdate(change)
}

// pair is the _id of an edge.
func pair(from, to feed.ID) string { return from.String() + ":" + to.String() }
