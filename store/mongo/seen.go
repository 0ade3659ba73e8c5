package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"feedgate/feed"
)

// marksDoc is what a document of users says about how far the user has read.
type marksDoc struct {
	Seen struct {
		Position placeInTime `bson:"position"`
		At       int64       `bson:"at"`
	} `bson:"seen"`
	NoticesSeenAt int64 `bson:"noticesSeenAt"`
}

// placeInTime is a position. MongoDB compares embedded documents field by
// field, in the fields' order, so that it orders these as feed.Position does.
type placeInTime struct {
	At int64   `bson:"at"`
	ID feed.ID `bson:"id"`
}

func (d *marksDoc) marks() feed.Seen {
	return feed.Seen{Position: feed.Position(d.Seen.Position), At: d.Seen.At, Notices: d.NoticesSeenAt}
}

// Seen implements [feed.SeenRecord].
func (r *Record) Seen(ctx context.Context, user feed.ID) (feed.Seen, error) {
	doc, _, err := findOne[marksDoc](ctx, r.users, byID(user), only("seen", "noticesSeenAt"))
	if err != nil {
		return feed.Seen{}, unavailable("Seen", err)
	}
	return doc.marks(), nil
}

// MarkSeen implements [feed.SeenRecord]. One atomic update moves all parts, each
// by itself.
func (r *Record) MarkSeen(ctx context.Context, user feed.ID, to feed.Seen) (feed.Seen, error) {
	doc, ok, err := decoded[marksDoc](r.users.FindOneAndUpdate(ctx, byID(user), bson.D{{Key: "$max", Value: bson.D{
		{Key: "seen.position", Value: placeInTime(to.Position)},
		{Key: "seen.at", Value: to.At},
		{Key: "noticesSeenAt", Value: to.Notices},
	}}}, options.FindOneAndUpdate().SetReturnDocument(options.After)))
	switch {
	case err != nil:
		return feed.Seen{}, unavailable("MarkSeen", err)
	case !ok:
		return feed.Seen{}, feed.NotFound("user")
	}
	return doc.marks(), nil
}

// FollowedAt implements [feed.SeenRecord].
func (r *Record) FollowedAt(ctx context.Context, follower feed.ID, followees []feed.ID) (map[feed.ID]int64, error) {
	at := make(map[feed.ID]int64, len(followees))
	for part := range slices.Chunk(distinct(followees), chunk) {
		keys := documents(part, func(followee feed.ID) string { return pair(follower, followee) })
		docs, err := find[followDoc](ctx, r.follows, bson.D{among("_id", keys)}, everything().SetProjection(only("followee", "at")))
		if err != nil {
			return nil, unavailable("FollowedAt", err)
		}
		for i := range docs {
			at[docs[i].Followee] = docs[i].At
		}
	}
	return at, nil
}
