package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"feedgate/feed"
)

// viewDoc is a document of views; its _id is "user:post".
type viewDoc struct {
	User feed.ID `bson:"user"`
	Post feed.ID `bson:"post"`
	At   int64   `bson:"at"`
}

func newestViews() bson.D {
	return bson.D{{Key: "at", Value: int32(-1)}, {Key: "post", Value: int32(-1)}}
}

// AddViews implements [feed.ViewRecord]. Each writer trims after it wrote, so
// that the last of them leaves what should be left.
func (r *Record) AddViews(ctx context.Context, user feed.ID, posts []feed.ID, at int64, keep int, since int64) error {
	own := bson.D{{Key: "user", Value: user}}
	if at >= since && keep > 0 {
		var writes []mongo.WriteModel
		for _, post := range distinct(posts) {
			writes = append(writes, update(byID(pair(user, post)), bson.D{
				{Key: "$max", Value: bson.D{{Key: "at", Value: at}}},
				{Key: "$setOnInsert", Value: bson.D{{Key: "user", Value: user}, {Key: "post", Value: post}}},
			}).SetUpsert(true))
		}
		if err := upsert(ctx, r.views, writes); err != nil {
			return unavailable("AddViews", err)
		}
	}
	past, err := find[viewDoc](ctx, r.views, own,
		firstOf(1, newestViews()).SetSkip(int64(max(0, keep))).SetProjection(only("at", "post")))
	if err != nil {
		return unavailable("AddViews", err)
	}
	gone := bson.A{bson.D{{Key: "at", Value: bson.D{{Key: "$lt", Value: since}}}}}
	for _, v := range past {
		gone = append(gone,
			bson.D{{Key: "at", Value: bson.D{{Key: "$lt", Value: v.At}}}},
			bson.D{{Key: "at", Value: v.At}, {Key: "post", Value: bson.D{{Key: "$lte", Value: v.Post}}}})
	}
	if _, err := r.views.DeleteMany(ctx, append(own, bson.E{Key: "$or", Value: gone})); err != nil {
		return unavailable("AddViews", err)
	}
	return nil
}

// ViewsOf implements [feed.ViewRecord].
func (r *Record) ViewsOf(ctx context.Context, user feed.ID, since int64, limit int) ([]feed.ID, error) {
	if limit <= 0 {
		return nil, nil
	}
	docs, err := find[viewDoc](ctx, r.views,
		bson.D{{Key: "user", Value: user}, {Key: "at", Value: bson.D{{Key: "$gte", Value: since}}}},
		firstOf(limit, newestViews()).SetProjection(only("post")))
	if err != nil {
		return nil, unavailable("ViewsOf", err)
	}
	return documents(docs, func(d viewDoc) feed.ID { return d.Post }), nil
}
