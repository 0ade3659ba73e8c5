package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"feedgate/feed"
)

// dirtyDoc is a document of dirty.
type dirtyDoc struct {
	ID   string        `bson:"_id"`
	Kind feed.NodeKind `bson:"kind"`
	Of   feed.ID       `bson:"of"`
	At   bson.DateTime `bson:"at"` // when it was marked last, by the server's clock
}

// markDirty notes that counters may be wrong from now on.
func (r *Record) markDirty(ctx context.Context, nodes ...feed.NodeID) error {
	seen := make(map[feed.NodeID]bool, len(nodes))
	var writes []mongo.WriteModel
	for _, n := range nodes {
		if seen[n] {
			continue
		}
		seen[n] = true
		writes = append(writes, update(byID(n.String()), bson.D{
			{Key: "$currentDate", Value: bson.D{{Key: "at", Value: true}}},
			{Key: "$setOnInsert", Value: bson.D{{Key: "kind", Value: n.Kind}, {Key: "of", Value: n.ID}}},
		}).SetUpsert(true))
	}
	return upsert(ctx, r.dirty, writes)
}

// upsertAttempts bounds how often an upsert is sent again that met another one
// of the same document.
const upsertAttempts = 3

// upsert sends upserts. They must do no harm when repeated.
func upsert(ctx context.Context, c *mongo.Collection, writes []mongo.WriteModel) error {
	var err error
	for range upsertAttempts {
		if _, err = bulk(ctx, c, writes); !mongo.IsDuplicateKeyError(err) {
			return err
		}
	}
	return err
}
