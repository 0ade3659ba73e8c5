package mongo

import (
	"context"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"feedgate/feed"
)

// unfinished names the posts with a duty. A range finds them in the sparse index.
func unfinished() bson.E {
	return bson.E{Key: "duty", Value: bson.D{{Key: "$gte", Value: int64(math.MinInt64)}}}
}

func due(now int64) bson.E {
	return bson.E{Key: "duty", Value: bson.D{{Key: "$lte", Value: now}}}
}

func dutyFields() bson.D {
	return only("author", "publishedAt", "delivery", "duty", "repostOf", "originalAuthor", "place")
}

// AuthorsInFlight implements [feed.FlightRecord].
func (r *Record) AuthorsInFlight(ctx context.Context) ([]feed.ID, error) {
	authors, err := r.authorsOf(ctx, bson.D{unfinished()})
	if err != nil {
		return nil, unavailable("AuthorsInFlight", err)
	}
	return authors, nil
}

// authorsOf returns the authors of some posts, each once.
func (r *Record) authorsOf(ctx context.Context, filter bson.D) ([]feed.ID, error) {
	groups, err := aggregate[groupDoc](ctx, r.posts, mongo.Pipeline{
		{{Key: "$match", Value: filter}},
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$author"}}}},
	})
	return documents(groups, func(g groupDoc) feed.ID { return g.ID }), err
}

// UnfinishedAmong implements [feed.FlightRecord].
func (r *Record) UnfinishedAmong(ctx context.Context, authors []feed.ID) ([]feed.ID, error) {
	var found []feed.ID
	for part := range slices.Chunk(distinct(authors), chunk) {
		some, err := r.authorsOf(ctx, bson.D{among("author", part), unfinished()})
		if err != nil {
			return nil, unavailable("UnfinishedAmong", err)
		}
		found = append(found, some...)
	}
	return found, nil
}

// BeginDuty implements [feed.DutyRecord].
func (r *Record) BeginDuty(ctx context.Context, post feed.ID, now, until int64) (feed.Duty, error) {
	change := append(
		set(bson.E{Key: "delivery.state", Value: feed.DeliveryRunning}, bson.E{Key: "duty", Value: until}),
		inc(bson.E{Key: "delivery.op", Value: int64(1)})...)
	doc, ok, err := decoded[postDoc](r.posts.FindOneAndUpdate(ctx, append(byID(post), due(now)), change,
		options.FindOneAndUpdate().SetReturnDocument(options.After)))
	if err != nil {
		return feed.Duty{}, unavailable("BeginDuty", err)
	}
	if ok {
		return doc.duty(), nil
	}
	return feed.Duty{}, r.whyNot(ctx, post, "another worker holds this duty")
}

// whyNot tells why a duty could not be taken or saved.
func (r *Record) whyNot(ctx context.Context, post feed.ID, conflict string) error {
	_, ok, err := findOne[postDoc](ctx, r.posts, append(byID(post), unfinished()), only("duty"))
	switch {
	case err != nil:
		return unavailable("read a duty", err)
	case !ok:
		return feed.NotFound("duty")
	}
	return feed.Conflict("", conflict)
}

// SaveDuty implements [feed.DutyRecord].
func (r *Record) SaveDuty(ctx context.Context, d feed.Duty) error {
	fields := []bson.E{
		{Key: "delivery.mark", Value: d.Mark},
		{Key: "delivery.total", Value: d.Total},
		{Key: "delivery.delivered", Value: d.Delivered},
		{Key: "delivery.state", Value: d.State},
	}
	var change bson.D
	if d.State == feed.DeliveryDone {
		change = append(set(fields...), bson.E{Key: "$unset", Value: bson.D{{Key: "duty", Value: ""}}})
	} else {
		change = set(append(fields, bson.E{Key: "duty", Value: d.Until})...)
	}
	saved, err := r.posts.UpdateOne(ctx, append(byID(d.Post), bson.E{Key: "delivery.op", Value: d.Op}, unfinished()), change)
	if err != nil {
		return unavailable("SaveDuty", err)
	}
	if saved.MatchedCount == 1 {
		return nil
	}
	return r.whyNot(ctx, d.Post, "another worker has taken this duty over")
}

// DueDuties implements [feed.DutyRecord].
func (r *Record) DueDuties(ctx context.Context, now int64, limit int) ([]feed.Duty, error) {
	if limit <= 0 {
		return nil, nil
	}
	docs, err := find[postDoc](ctx, r.posts, bson.D{due(now)}, firstOf(limit, bson.D{
		{Key: "duty", Value: int32(1)}, {Key: "publishedAt", Value: int32(1)}, {Key: "_id", Value: int32(1)},
	}).SetProjection(dutyFields()))
	if err != nil {
		return nil, unavailable("DueDuties", err)
	}
	duties := make([]feed.Duty, len(docs))
	for i := range docs {
		duties[i] = docs[i].duty()
	}
	return duties, nil
}
