package mongo

import (
	"context"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"feedgate/feed"
)

// authorsAtOnce is how many authors one query is asked about: few enough for
// MongoDB to merge one ordered index scan an author.
const authorsAtOnce = 100

// entryDoc is what a list shows of a post.
type entryDoc struct {
	ID     feed.ID `bson:"_id"`
	Author feed.ID `bson:"author"`
	At     int64   `bson:"publishedAt"`
}

func (d entryDoc) entry() feed.Entry { return feed.Entry{At: d.At, ID: d.ID, Author: d.Author} }

// noLeast is for newestPosts that may be of any age.
const noLeast = int64(math.MinInt64)

// Entries implements [feed.PostRecord]. Below a post there are two queries,
// sent together: the rest of its millisecond, and what is older. Each is one
// ordered range of the index, which a condition on both fields is not.
func (r *Record) Entries(ctx context.Context, authors []feed.ID, below feed.Position, limit int) ([]feed.Entry, error) {
	if limit <= 0 {
		return nil, nil
	}
	var found []feed.Entry
	least := noLeast // what is older cannot be among the newest any more
	for part := range slices.Chunk(distinct(authors), authorsAtOnce) {
		docs, err := newestPosts[entryDoc](ctx, r.posts, bson.D{among("author", part)}, only("author", "publishedAt"), below, least, limit)
		if err != nil {
			return nil, unavailable("Entries", err)
		}
		found = append(found, documents(docs, entryDoc.entry)...)
		slices.SortFunc(found, func(a, b feed.Entry) int { return a.Position().Compare(b.Position()) })
		found = found[:min(limit, len(found))]
		if len(found) == limit {
			least = found[limit-1].At
		}
	}
	return found, nil
}

// newestPosts reads posts below a position and at or after a time, newest first.
// It may give more than limit: what is beyond the limit is not complete.
func newestPosts[T any](ctx context.Context, posts *mongo.Collection, where, fields bson.D,
	below feed.Position, least int64, limit int,
) ([]T, error) {
	read := func(docs *[]T, conditions ...bson.E) func() error {
		return func() (err error) {
			*docs, err = find[T](ctx, posts, slices.Concat(where, conditions),
				firstOf(limit, bson.D{{Key: "publishedAt", Value: int32(-1)}, {Key: "_id", Value: int32(-1)}}).SetProjection(fields))
			return err
		}
	}
	var same, older []T
	if below.IsNewest() {
		err := read(&older, bson.E{Key: "publishedAt", Value: bson.D{{Key: "$gte", Value: least}}}, standing())()
		return older, err
	}
	queries := []func() error{read(&older,
		bson.E{Key: "publishedAt", Value: bson.D{{Key: "$lt", Value: below.At}, {Key: "$gte", Value: least}}}, standing())}
	if least <= below.At {
		queries = append(queries, read(&same,
			bson.E{Key: "publishedAt", Value: below.At}, bson.E{Key: "_id", Value: bson.D{{Key: "$lt", Value: below.ID}}}, standing()))
	}
	err := together(queries...)
	return append(same, older...), err
}
