package mongo

import (
	"context"
	"log/slog"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"feedgate/feed"
	"feedgate/feed/geo"
)

// placedDoc is what the nearby index shows of a post.
type placedDoc struct {
	Entry entryDoc  `bson:",inline"`
	Place *placeDoc `bson:"place"`
}

func (d placedDoc) cellEntry() feed.CellEntry {
	e := feed.CellEntry{Entry: d.Entry.entry()}
	e.Point, _ = (&feed.Post{Place: d.Place.place()}).Point()
	return e
}

// EntriesInCells implements [feed.PlaceRecord]. It asks as Entries does.
func (r *Record) EntriesInCells(ctx context.Context, cells []geo.Cell, below feed.Position, limit int) ([]feed.CellEntry, error) {
	if limit <= 0 {
		return nil, nil
	}
	own := slices.DeleteFunc(slices.Clone(cells), func(c geo.Cell) bool { return c == "" })
	slices.Sort(own)
	var found []feed.CellEntry
	least := noLeast
	for part := range slices.Chunk(slices.Compact(own), authorsAtOnce) {
		docs, err := newestPosts[placedDoc](ctx, r.posts, bson.D{among(placeCell, part)}, only("author", "publishedAt", "place"),
			below, least, limit)
		if err != nil {
			return nil, unavailable("EntriesInCells", err)
		}
		found = append(found, documents(docs, placedDoc.cellEntry)...)
		slices.SortFunc(found, func(a, b feed.CellEntry) int { return a.Position().Compare(b.Position()) })
		found = found[:min(limit, len(found))]
		if len(found) == limit {
			least = found[limit-1].At
		}
	}
	return found, nil
}

const (
	placeCell = "place.cell"
	// cellsFilled is the _id in meta of the last post that was looked at.
	cellsFilled = "cellsFilled"
	// cellsAtOnce is how many posts are looked at with one set of commands.
	cellsAtOnce = 10_000
	// cellsReported is after how many sets the log says how far it is.
	cellsReported = 10
)

// fillCells gives posts the cells of their places that a feedgate wrote which
// knew none. It goes through the posts in the order of their ids and remembers
// how far it came: each start looks only at what was published since.
func (r *Record) fillCells(ctx context.Context) error {
	newest, ok, err := edgeOfPosts(ctx, r.posts, bson.D{}, -1, 0)
	if err != nil || !ok {
		return err
	}
	mark, _, err := findOne[metaDoc](ctx, r.meta, byID(cellsFilled), nil)
	if err != nil {
		return err
	}
	sets := 0
	for after := feed.ID(mark.Value); after < newest; {
		last, ok, err := edgeOfPosts(ctx, r.posts, bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}}}}, 1, r.cellsAtOnce-1)
		if err != nil {
			return err
		}
		if !ok {
			last = newest
		}
		if err := r.fillCellsBetween(ctx, after, last); err != nil {
			return err
		}
		if _, err := r.meta.UpdateOne(ctx, byID(cellsFilled),
			bson.D{{Key: "$max", Value: bson.D{{Key: "value", Value: int64(last)}}}},
			options.UpdateOne().SetUpsert(true)); err != nil && !mongo.IsDuplicateKeyError(err) {
			return err
		}
		after = last
		sets++
		if sets%cellsReported == 0 {
			r.log.InfoContext(ctx, "giving posts the cells of their places", slog.Int64("done", int64(sets)*r.cellsAtOnce))
		}
	}
	return nil
}

// edgeOfPosts gives the id of the post that is skip places from the first in an order.
func edgeOfPosts(ctx context.Context, posts *mongo.Collection, filter bson.D, order int32, skip int64) (feed.ID, bool, error) {
	docs, err := find[groupDoc](ctx, posts, filter,
		firstOf(1, bson.D{{Key: "_id", Value: order}}).SetSkip(skip).SetProjection(only("_id")))
	if err != nil || len(docs) == 0 {
		return 0, false, err
	}
	return docs[0].ID, true, nil
}

// fillCellsBetween gives the posts above after, up to last, their cells.
func (r *Record) fillCellsBetween(ctx context.Context, after, last feed.ID) error {
	lacking := bson.D{{Key: "place", Value: bson.D{{Key: "$exists", Value: true}}}, {Key: placeCell, Value: bson.D{{Key: "$exists", Value: false}}}}
	docs, err := find[placedDoc](ctx, r.posts,
		append(bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}, {Key: "$lte", Value: last}}}}, lacking...),
		everything().SetProjection(only("place")).SetHint(byID(int32(1)))) // the ids are few, the posts that lack a cell may be many
	if err != nil {
		return err
	}
	var writes []mongo.WriteModel
	for _, d := range docs {
		cell := (&feed.Post{Place: d.Place.place()}).Cell()
		writes = append(writes, update(append(byID(d.Entry.ID), lacking...), set(bson.E{Key: placeCell, Value: cell})))
	}
	_, err = bulk(ctx, r.posts, writes)
	return err
}
