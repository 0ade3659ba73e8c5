package mongo

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"feedgate/feed"
)

// recountAtOnce is how many counters RecountAll corrects with one set of commands.
const recountAtOnce = 1_000

// Recount implements [feed.CounterRecord]. It looks at up to limit marks. A
// counter that somebody changes at the same time keeps its mark.
func (r *Record) Recount(ctx context.Context, before int64, limit int) ([]feed.NodeID, error) {
	if before <= 0 || limit <= 0 {
		return nil, nil
	}
	// A date of the server's clock ends with the year 9999.
	before = min(before, time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC).UnixMilli())
	marks, err := find[dirtyDoc](ctx, r.dirty, bson.D{{Key: "at", Value: bson.D{{Key: "$lt", Value: bson.DateTime(before)}}}},
		firstOf(limit, bson.D{{Key: "at", Value: int32(1)}}))
	if err != nil {
		return nil, unavailable("Recount", err)
	}
	changed, settled, err := r.correct(ctx, marks)
	if err == nil && settled {
		err = r.unmark(ctx, marks)
	}
	if err != nil {
		return nil, unavailable("Recount", err)
	}
	return changed, nil
}

// unmark removes marks that were not set again meanwhile.
func (r *Record) unmark(ctx context.Context, marks []dirtyDoc) error {
	writes := make([]mongo.WriteModel, len(marks))
	for i, m := range marks {
		writes[i] = mongo.NewDeleteOneModel().SetFilter(append(byID(m.ID), bson.E{Key: "at", Value: m.At}))
	}
	_, err := bulk(ctx, r.dirty, writes)
	return err
}

// RecountAll implements [feed.ImportRecord]. It leaves the marks to Recount,
// because a mutation may be under way between one of them and its counter.
func (r *Record) RecountAll(ctx context.Context, progress func(done, total int64)) error {
	total, err := r.dirty.CountDocuments(ctx, bson.D{})
	if err != nil {
		return unavailable("RecountAll", err)
	}
	last, done := "", int64(0)
	for {
		marks, err := find[dirtyDoc](ctx, r.dirty, bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: last}}}},
			firstOf(recountAtOnce, bson.D{{Key: "_id", Value: int32(1)}}))
		if err == nil {
			_, _, err = r.correct(ctx, marks)
		}
		if err != nil {
			return unavailable("RecountAll", err)
		}
		if len(marks) == 0 {
			return nil
		}
		last = marks[len(marks)-1].ID
		done += int64(len(marks))
		if progress != nil {
			progress(done, max(total, done))
		}
	}
}

// correct recounts what is marked, and returns what was wrong. Settled is
// false when somebody changed one of the counters between reading and writing.
func (r *Record) correct(ctx context.Context, marks []dirtyDoc) (changed []feed.NodeID, settled bool, err error) {
	var users, posts []feed.ID
	for _, m := range marks {
		if m.Kind == feed.NodeUser {
			users = append(users, m.Of)
		} else {
			posts = append(posts, m.Of)
		}
	}
	settled = true
	for _, part := range []struct {
		kind feed.NodeKind
		ids  []feed.ID
		fix  func(context.Context, []feed.ID) ([]feed.ID, bool, error)
	}{{feed.NodeUser, users, r.correctUsers}, {feed.NodePost, posts, r.correctPosts}} {
		if len(part.ids) == 0 {
			continue
		}
		wrong, all, err := part.fix(ctx, part.ids)
		if err != nil {
			return nil, false, err
		}
		settled = settled && all
		for _, id := range wrong {
			changed = append(changed, feed.NodeID{Kind: part.kind, ID: id})
		}
	}
	return changed, settled, nil
}

// tally counts documents by a field, for some of its values.
func tally(ctx context.Context, c *mongo.Collection, field string, values []feed.ID, more ...bson.E) (map[feed.ID]int64, error) {
	groups, err := aggregate[groupDoc](ctx, c, mongo.Pipeline{
		{{Key: "$match", Value: append(bson.D{among(field, values)}, more...)}},
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$" + field}, {Key: "n", Value: bson.D{{Key: "$sum", Value: int64(1)}}}}}},
	})
	if err != nil {
		return nil, err
	}
	counts := make(map[feed.ID]int64, len(groups))
	for _, g := range groups {
		counts[g.ID] = g.N
	}
	return counts, nil
}

func (r *Record) correctUsers(ctx context.Context, ids []feed.ID) (wrong []feed.ID, settled bool, err error) {
	docs, err := findByID[userDoc](ctx, r.users, ids, only("counters"))
	if err != nil {
		return nil, false, err
	}
	var followers, followees, posts map[feed.ID]int64
	if err := together(
		func() (err error) { followers, err = tally(ctx, r.follows, "followee", ids); return err },
		func() (err error) { followees, err = tally(ctx, r.follows, "follower", ids); return err },
		func() (err error) { posts, err = tally(ctx, r.posts, "author", ids, standing()); return err },
	); err != nil {
		return nil, false, err
	}
	var writes []mongo.WriteModel
	for _, d := range docs {
		are := userCounters{Followers: followers[d.ID], Followees: followees[d.ID], Posts: posts[d.ID]}
		if d.Counters == are {
			continue
		}
		wrong = append(wrong, d.ID)
		writes = append(writes, update(append(byID(d.ID),
			bson.E{Key: countFollowers, Value: d.Counters.Followers},
			bson.E{Key: countFollowees, Value: d.Counters.Followees},
			bson.E{Key: countPosts, Value: d.Counters.Posts},
		), set(bson.E{Key: "counters", Value: are})))
	}
	matched, err := bulk(ctx, r.users, writes)
	return wrong, matched == int64(len(writes)), err
}

func (r *Record) correctPosts(ctx context.Context, ids []feed.ID) (wrong []feed.ID, settled bool, err error) {
	docs, err := findByID[postDoc](ctx, r.posts, ids, only("counters", "first", "firstRev"))
	if err != nil {
		return nil, false, err
	}
	var likes, comments, reposts map[feed.ID]int64
	if err := together(
		func() (err error) { likes, err = tally(ctx, r.likes, "post", ids); return err },
		func() (err error) { comments, err = tally(ctx, r.comments, "post", ids, standing()); return err },
		func() (err error) { reposts, err = tally(ctx, r.posts, "repostOf", ids, standing()); return err },
	); err != nil {
		return nil, false, err
	}
	var writes []mongo.WriteModel
	for i := range docs {
		d := &docs[i]
		are := postCounters{Likes: likes[d.ID], Comments: comments[d.ID], Reposts: reposts[d.ID]}
		oldest := []firstDoc{}
		if are.Comments > 0 {
			if oldest, err = r.firstComments(ctx, d.ID); err != nil {
				return nil, false, err
			}
		}
		if d.Counters == are && slices.Equal(d.First, oldest) {
			continue
		}
		wrong = append(wrong, d.ID)
		writes = append(writes, update(append(byID(d.ID),
			bson.E{Key: countLikes, Value: d.Counters.Likes},
			bson.E{Key: countComments, Value: d.Counters.Comments},
			bson.E{Key: countReposts, Value: d.Counters.Reposts},
			bson.E{Key: "firstRev", Value: d.FirstRev},
		), append(set(bson.E{Key: "counters", Value: are}, bson.E{Key: "first", Value: oldest}),
			inc(bson.E{Key: "firstRev", Value: int64(1)})...)))
	}
	matched, err := bulk(ctx, r.posts, writes)
	return wrong, matched == int64(len(writes)), err
}
