package mongo

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"feedgate/feed"
	"feedgate/store/internal/taste"
)

const (
	// tastesAtOnce is how many commands TastesOf sends together.
	tastesAtOnce = 30
	// repeats is how many comments or reposts a post are read at first.
	repeats = 4
	// usersAtOnce is among how many users Engaged looks at a time, at least.
	usersAtOnce = 100
)

// engagements are all engagements of one kind.
type engagements struct {
	kind           feed.EngagementKind
	in             *mongo.Collection
	user, post, at string   // fields
	repeat         bool     // a user may have many for one post
	among          []bson.E // the documents that count
}

func (r *Record) engagements() []engagements {
	return []engagements{
		{kind: feed.EngagedLike, in: r.likes, user: "user", post: "post", at: "at"},
		{
			kind: feed.EngagedComment, in: r.comments, user: "author", post: "post", at: "at", repeat: true,
			among: []bson.E{standing()},
		},
		{
			kind: feed.EngagedRepost, in: r.posts, user: "author", post: "repostOf", at: "publishedAt", repeat: true,
			among: []bson.E{standing(), {Key: "repostOf", Value: bson.D{{Key: "$gt", Value: feed.ID(0)}}}},
		},
	}
}

// engagedDoc is a like, a comment or a repost.
type engagedDoc struct {
	Post        feed.ID `bson:"post"`
	At          int64   `bson:"at"`
	RepostOf    feed.ID `bson:"repostOf"`
	PublishedAt int64   `bson:"publishedAt"`
}

func (e engagements) of(d engagedDoc) feed.Engagement {
	if e.kind == feed.EngagedRepost {
		return feed.Engagement{Post: d.RepostOf, At: d.PublishedAt, Kind: e.kind}
	}
	return feed.Engagement{Post: d.Post, At: d.At, Kind: e.kind}
}

// newest reads the newest posts, each once, that a user engaged with. It takes
// one command, and more only for those who come back to the same posts over
// and over: twice as many documents each time, of the posts not found yet.
func (e engagements) newest(ctx context.Context, user feed.ID, limit int) ([]feed.Engagement, error) {
	page := limit
	if e.repeat {
		page = min(limit*repeats, batch)
	}
	var found []feed.Engagement
	seen := make(map[feed.ID]bool, limit)
	for {
		filter := append(bson.D{{Key: e.user, Value: user}}, e.among...)
		if len(found) > 0 {
			known := ids(found, func(g feed.Engagement) feed.ID { return g.Post })
			others := bson.D{{Key: e.post, Value: bson.D{{Key: "$nin", Value: known}}}}
			filter = bson.D{{Key: "$and", Value: bson.A{filter, others}}}
		}
		docs, err := find[engagedDoc](ctx, e.in, filter,
			firstOf(page, bson.D{{Key: e.at, Value: int32(-1)}, {Key: e.post, Value: int32(-1)}}).
				SetProjection(bson.D{{Key: "_id", Value: int32(0)}, {Key: e.post, Value: int32(1)}, {Key: e.at, Value: int32(1)}}))
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			if g := e.of(d); !seen[g.Post] {
				seen[g.Post] = true
				found = append(found, g)
			}
		}
		if len(docs) < page || len(found) >= limit {
			return found, nil
		}
		page = min(2*page, batch)
	}
}

// TastesOf implements [feed.TasteRecord]. It sends a command for each user and
// kind, many together, because no one command of all servers takes the newest of
// each user.
func (r *Record) TastesOf(ctx context.Context, users []feed.ID, limit int) ([]feed.Tastes, error) {
	if limit <= 0 {
		return nil, nil
	}
	kinds, asked := r.engagements(), distinct(users)
	lists := make([][]feed.Engagement, len(kinds)*len(asked))
	if err := each(ctx, len(lists), tastesAtOnce, func(ctx context.Context, i int) (err error) {
		lists[i], err = kinds[i%len(kinds)].newest(ctx, asked[i/len(kinds)], limit)
		return err
	}); err != nil {
		return nil, unavailable("TastesOf", err)
	}
	var all []feed.Tastes
	for i, user := range asked {
		if engaged := taste.Merge(slices.Concat(lists[i*len(kinds):(i+1)*len(kinds)]...), limit); len(engaged) > 0 {
			all = append(all, feed.Tastes{User: user, Engaged: engaged})
		}
	}
	return all, nil
}

// Engaged implements [feed.TasteRecord]. It goes through the users in chunks,
// so that a command looks at the engagements of one chunk only.
func (r *Record) Engaged(ctx context.Context, after feed.ID, limit int) ([]feed.ID, error) {
	if limit <= 0 {
		return nil, nil
	}
	page := min(max(limit, usersAtOnce), batch)
	var found []feed.ID
	for len(found) < limit {
		users, err := find[groupDoc](ctx, r.users, bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}}}},
			firstOf(page, bson.D{{Key: "_id", Value: int32(1)}}).SetProjection(only("_id")))
		if err != nil {
			return nil, unavailable("Engaged", err)
		}
		if len(users) == 0 {
			break
		}
		last := users[len(users)-1].ID
		engaged, err := r.engagedBetween(ctx, after, last)
		if err != nil {
			return nil, unavailable("Engaged", err)
		}
		found = append(found, engaged...)
		after = last
		if len(users) < page {
			break
		}
	}
	return found[:min(limit, len(found))], nil
}

// engagedBetween returns the engaged users above after, up to last, in order.
func (r *Record) engagedBetween(ctx context.Context, after, last feed.ID) (feed.IDSet, error) {
	kinds := r.engagements()
	groups := make([][]groupDoc, len(kinds))
	asks := make([]func() error, len(kinds))
	for i, e := range kinds {
		asks[i] = func() (err error) {
			groups[i], err = aggregate[groupDoc](ctx, e.in, mongo.Pipeline{
				{{Key: "$match", Value: append(bson.D{
					{Key: e.user, Value: bson.D{{Key: "$gt", Value: after}, {Key: "$lte", Value: last}}},
				}, e.among...)}},
				{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$" + e.user}}}},
			})
			return err
		}
	}
	err := together(asks...)
	return feed.NewIDSet(documents(slices.Concat(groups...), func(g groupDoc) feed.ID { return g.ID })), err
}

// RecentPosts implements [feed.TasteRecord].
func (r *Record) RecentPosts(ctx context.Context, below feed.Position, limit int) ([]feed.Entry, error) {
	if limit <= 0 {
		return nil, nil
	}
	docs, err := newestPosts[entryDoc](ctx, r.posts, nil, only("author", "publishedAt"), below, noLeast, limit)
	if err != nil {
		return nil, unavailable("RecentPosts", err)
	}
	return documents(docs[:min(limit, len(docs))], entryDoc.entry), nil
}
