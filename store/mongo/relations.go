package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"feedgate/feed"
)

// followDoc is a document of follows.
type followDoc struct {
	ID       string  `bson:"_id"`
	Follower feed.ID `bson:"follower"`
	Followee feed.ID `bson:"followee"`
	At       int64   `bson:"at"`
}

// barDoc is a document of bars.
type barDoc struct {
	ID   string       `bson:"_id"`
	Kind feed.BarKind `bson:"kind"`
	By   feed.ID      `bson:"by"`
	Of   feed.ID      `bson:"of"`
	At   int64        `bson:"at"`
}

func userNodes(ids ...feed.ID) []feed.NodeID {
	nodes := make([]feed.NodeID, len(ids))
	for i, id := range ids {
		nodes[i] = feed.NodeID{Kind: feed.NodeUser, ID: id}
	}
	return nodes
}

// Follow implements [feed.RelationRecord].
func (r *Record) Follow(ctx context.Context, f feed.Follow) (bool, error) {
	if err := r.markDirty(ctx, userNodes(f.Follower, f.Followee)...); err != nil {
		return false, unavailable("Follow", err)
	}
	inserted, err := insert(ctx, r.follows, followDocOf(f))
	if err == nil && inserted {
		err = r.countFollow(ctx, f.Follower, f.Followee, 1)
	}
	if err != nil {
		return false, unavailable("Follow", err)
	}
	return inserted, nil
}

func followDocOf(f feed.Follow) followDoc {
	return followDoc{ID: pair(f.Follower, f.Followee), Follower: f.Follower, Followee: f.Followee, At: f.At}
}

// Unfollow implements [feed.RelationRecord].
func (r *Record) Unfollow(ctx context.Context, follower, followee feed.ID) (bool, error) {
	if err := r.markDirty(ctx, userNodes(follower, followee)...); err != nil {
		return false, unavailable("Unfollow", err)
	}
	done, err := r.follows.DeleteOne(ctx, byID(pair(follower, followee)))
	if err == nil && done.DeletedCount == 1 {
		err = r.countFollow(ctx, follower, followee, -1)
	}
	if err != nil {
		return false, unavailable("Unfollow", err)
	}
	return done.DeletedCount == 1, nil
}

func (r *Record) countFollow(ctx context.Context, follower, followee feed.ID, by int64) error {
	_, err := bulk(ctx, r.users, []mongo.WriteModel{
		update(byID(follower), inc(bson.E{Key: countFollowees, Value: by})),
		update(byID(followee), inc(bson.E{Key: countFollowers, Value: by})),
	})
	return err
}

func barID(kind feed.BarKind, by, of feed.ID) string { return string(kind) + ":" + pair(by, of) }

// AddBar implements [feed.RelationRecord].
func (r *Record) AddBar(ctx context.Context, b feed.Bar) (bool, error) {
	inserted, err := insert(ctx, r.bars, barDoc{ID: barID(b.Kind, b.By, b.Of), Kind: b.Kind, By: b.By, Of: b.Of, At: b.At})
	if err != nil {
		return false, unavailable("AddBar", err)
	}
	return inserted, nil
}

// RemoveBar implements [feed.RelationRecord].
func (r *Record) RemoveBar(ctx context.Context, kind feed.BarKind, by, of feed.ID) (bool, error) {
	done, err := r.bars.DeleteOne(ctx, byID(barID(kind, by, of)))
	if err != nil {
		return false, unavailable("RemoveBar", err)
	}
	return done.DeletedCount == 1, nil
}

// RelationsOf implements [feed.RelationRecord].
func (r *Record) RelationsOf(ctx context.Context, user feed.ID) (feed.Relations, error) {
	var (
		follows []followDoc
		bars    []barDoc
	)
	err := together(func() (err error) {
		follows, err = find[followDoc](ctx, r.follows, bson.D{{Key: "follower", Value: user}},
			everything().SetProjection(bson.D{{Key: "_id", Value: int32(0)}, {Key: "followee", Value: int32(1)}}))
		return err
	}, func() (err error) {
		bars, err = find[barDoc](ctx, r.bars, bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: "by", Value: user}},
			bson.D{{Key: "of", Value: user}, {Key: "kind", Value: feed.Block}},
		}}}, everything().SetProjection(only("kind", "by", "of")))
		return err
	})
	if err != nil {
		return feed.Relations{}, unavailable("RelationsOf", err)
	}
	following := make([]feed.ID, len(follows))
	for i := range follows {
		following[i] = follows[i].Followee
	}
	var blocks, blockedBy, mutes []feed.ID
	for _, b := range bars {
		if b.Kind == feed.Block && b.By == user {
			blocks = append(blocks, b.Of)
		}
		if b.Kind == feed.Block && b.Of == user {
			blockedBy = append(blockedBy, b.By)
		}
		if b.Kind == feed.Mute {
			mutes = append(mutes, b.Of)
		}
	}
	return feed.Relations{
		Following: feed.NewIDSet(following),
		Blocks:    feed.NewIDSet(blocks),
		BlockedBy: feed.NewIDSet(blockedBy),
		Mutes:     feed.NewIDSet(mutes),
	}, nil
}

// Followers implements [feed.RelationRecord].
func (r *Record) Followers(ctx context.Context, followee, after feed.ID, limit int) ([]feed.ID, error) {
	if limit <= 0 {
		return nil, nil
	}
	docs, err := find[followDoc](ctx, r.follows,
		bson.D{{Key: "followee", Value: followee}, {Key: "follower", Value: bson.D{{Key: "$gt", Value: after}}}},
		firstOf(limit, bson.D{{Key: "follower", Value: int32(1)}}).SetProjection(only("follower")))
	if err != nil {
		return nil, unavailable("Followers", err)
	}
	ids := make([]feed.ID, len(docs))
	for i := range docs {
		ids[i] = docs[i].Follower
	}
	return ids, nil
}

// Followees implements [feed.RelationRecord].
func (r *Record) Followees(ctx context.Context, user feed.ID, below feed.Position, limit int) ([]feed.Follow, error) {
	if limit <= 0 {
		return nil, nil
	}
	docs, err := r.followees(ctx, user, below, limit)
	if err != nil {
		return nil, unavailable("Followees", err)
	}
	follows := make([]feed.Follow, len(docs))
	for i, d := range docs {
		follows[i] = feed.Follow{Follower: d.Follower, Followee: d.Followee, At: d.At}
	}
	return follows, nil
}

// followees sends two queries together, as Entries does.
func (r *Record) followees(ctx context.Context, user feed.ID, below feed.Position, limit int) ([]followDoc, error) {
	read := func(docs *[]followDoc, conditions ...bson.E) func() error {
		return func() (err error) {
			*docs, err = find[followDoc](ctx, r.follows, append(bson.D{{Key: "follower", Value: user}}, conditions...),
				firstOf(limit, bson.D{{Key: "at", Value: int32(-1)}, {Key: "followee", Value: int32(-1)}}))
			return err
		}
	}
	var same, older []followDoc
	if below.IsNewest() {
		err := read(&older)()
		return older, err
	}
	err := together(
		read(&same, bson.E{Key: "at", Value: below.At}, bson.E{Key: "followee", Value: bson.D{{Key: "$lt", Value: below.ID}}}),
		read(&older, bson.E{Key: "at", Value: bson.D{{Key: "$lt", Value: below.At}}}))
	all := slices.Concat(same, older)
	return all[:min(limit, len(all))], err
}

// FollowersAmong implements [feed.RelationRecord].
func (r *Record) FollowersAmong(ctx context.Context, followee feed.ID, users []feed.ID) ([]feed.ID, error) {
	var found []feed.ID
	for part := range slices.Chunk(distinct(users), chunk) {
		docs, err := find[followDoc](ctx, r.follows,
			bson.D{{Key: "followee", Value: followee}, among("follower", part)}, everything().SetProjection(only("follower")))
		if err != nil {
			return nil, unavailable("FollowersAmong", err)
		}
		for i := range docs {
			found = append(found, docs[i].Follower)
		}
	}
	return found, nil
}
