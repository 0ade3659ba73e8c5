package mongo

import (
	"context"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

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

// Entries implements [feed.PostRecord]. Below a post there are two queries,
// sent together: the rest of its millisecond, and what is older. Each is one
// ordered range of the index, which a condition on both fields is not.
func (r *Record) Entries(ctx context.Context, authors []feed.ID, below feed.Position, limit int) ([]feed.Entry, error) {
	if limit <= 0 {
		return nil, nil
	}
	var found []feed.Entry
	least := int64(math.MinInt64) // what is older cannot be among the newest any more
	for part := range slices.Chunk(distinct(authors), authorsAtOnce) {
		some, err := r.entriesOf(ctx, part, below, least, limit)
		if err != nil {
			return nil, unavailable("Entries", err)
		}
		for _, d := range some {
			found = append(found, feed.Entry{At: d.At, ID: d.ID, Author: d.Author})
		}
		slices.SortFunc(found, func(a, b feed.Entry) int { return a.Position().Compare(b.Position()) })
		found = found[:min(limit, len(found))]
		if len(found) == limit {
			least = found[limit-1].At
		}
	}
	return found, nil
}

func (r *Record) entriesOf(ctx context.Context, authors []feed.ID, below feed.Position, least int64, limit int) ([]entryDoc, error) {
	read := func(docs *[]entryDoc, conditions ...bson.E) func() error {
		return func() (err error) {
			*docs, err = find[entryDoc](ctx, r.posts, append(bson.D{among("author", authors)}, conditions...),
				firstOf(limit, bson.D{{Key: "publishedAt", Value: int32(-1)}, {Key: "_id", Value: int32(-1)}}).
					SetProjection(only("author", "publishedAt")))
			return err
		}
	}
	var same, older []entryDoc
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
