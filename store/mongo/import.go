package mongo

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"feedgate/feed"
	"feedgate/store/internal/intake"
)

// duplicateKey is MongoDB's code for a document whose key is taken.
const duplicateKey = 11000

// importAttempts bounds how often rows are judged again that another import
// wrote between judging and writing.
const importAttempts = 5

var errOvertaken = errors.New("other imports wrote the same rows each time")

// importRows judges rows, writes the accepted ones and judges again those
// that turn out to be there by now. Write returns the positions of those.
func importRows[T any](operation string, rows []T,
	judge func(rows []T) ([]feed.Outcome, error), write func(accepted []T) (taken []int, err error),
) ([]feed.Outcome, error) {
	outcomes := make([]feed.Outcome, len(rows))
	pending := make([]int, len(rows)) // positions in rows
	for i := range pending {
		pending[i] = i
	}
	for range importAttempts {
		if len(pending) == 0 {
			return outcomes, nil
		}
		batch := make([]T, len(pending))
		for i, at := range pending {
			batch[i] = rows[at]
		}
		verdicts, err := judge(batch)
		if err != nil {
			return nil, unavailable(operation, err)
		}
		var accepted []T
		var positions []int
		for i, v := range verdicts {
			outcomes[pending[i]] = v
			if v.State == feed.Added {
				accepted = append(accepted, batch[i])
				positions = append(positions, pending[i])
			}
		}
		if len(accepted) == 0 {
			return outcomes, nil
		}
		taken, err := write(accepted)
		if err != nil {
			return nil, unavailable(operation, err)
		}
		pending = make([]int, len(taken))
		for i, at := range taken {
			pending[i] = positions[at]
		}
	}
	if len(pending) > 0 {
		return nil, unavailable(operation, errOvertaken)
	}
	return outcomes, nil
}

// insertMany writes documents in one command and returns the positions of
// those whose key is taken.
func insertMany[T any](ctx context.Context, c *mongo.Collection, docs []T) ([]int, error) {
	_, err := c.InsertMany(ctx, docs, options.InsertMany().SetOrdered(false))
	failed, ok := errors.AsType[mongo.BulkWriteException](err)
	if !ok {
		return nil, err
	}
	if failed.WriteConcernError != nil {
		return nil, err
	}
	var taken []int
	for _, e := range failed.WriteErrors {
		if e.Code != duplicateKey {
			return nil, err
		}
		taken = append(taken, e.Index)
	}
	slices.Sort(taken)
	return taken, nil
}

// documents turns rows into documents.
func documents[T, D any](rows []T, document func(T) D) []D {
	docs := make([]D, len(rows))
	for i, row := range rows {
		docs[i] = document(row)
	}
	return docs
}

// ids picks one id of each row.
func ids[T any](rows []T, pick func(T) feed.ID) []feed.ID { return documents(rows, pick) }

// present tells which of some ids a collection has.
func present(ctx context.Context, c *mongo.Collection, of []feed.ID) (map[feed.ID]bool, error) {
	docs, err := findByID[struct {
		ID feed.ID `bson:"_id"`
	}](ctx, c, of, only("_id"))
	if err != nil {
		return nil, err
	}
	there := make(map[feed.ID]bool, len(docs))
	for _, d := range docs {
		there[d.ID] = true
	}
	return there, nil
}

// edges tells which of some pairs a collection has.
func edges(ctx context.Context, c *mongo.Collection, pairs []intake.Edge) (map[intake.Edge]bool, error) {
	named := make(map[string]intake.Edge, len(pairs))
	keys := make([]string, len(pairs))
	for i, e := range pairs {
		keys[i] = pair(e.From, e.To)
		named[keys[i]] = e
	}
	there := make(map[intake.Edge]bool, len(pairs))
	for part := range slices.Chunk(keys, chunk) {
		docs, err := find[struct {
			ID string `bson:"_id"`
		}](ctx, c, bson.D{among("_id", part)}, everything().SetProjection(only("_id")))
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			there[named[d.ID]] = true
		}
	}
	return there, nil
}

// ImportUsers implements [feed.ImportRecord].
func (r *Record) ImportUsers(ctx context.Context, rows []feed.User) ([]feed.Outcome, error) {
	return importRows("ImportUsers", rows, func(rows []feed.User) ([]feed.Outcome, error) {
		docs, err := find[userDoc](ctx, r.users, bson.D{{Key: "$or", Value: bson.A{
			bson.D{among("_id", ids(rows, func(u feed.User) feed.ID { return u.ID }))},
			bson.D{among("handle", documents(rows, func(u feed.User) string { return u.Handle }))},
		}}}, everything().SetProjection(only("handle")))
		if err != nil {
			return nil, err
		}
		there := intake.Handles{ByID: make(map[feed.ID]string), ByHandle: make(map[string]feed.ID)}
		for _, d := range docs {
			there.ByID[d.ID], there.ByHandle[d.Handle] = d.Handle, d.ID
		}
		return intake.Users(rows, there), nil
	}, func(accepted []feed.User) ([]int, error) {
		return insertMany(ctx, r.users, documents(accepted, userDocOf))
	})
}

// ImportPosts implements [feed.ImportRecord].
func (r *Record) ImportPosts(ctx context.Context, rows []feed.Post) ([]feed.Outcome, error) {
	return importRows("ImportPosts", slices.Clone(rows), func(rows []feed.Post) ([]feed.Outcome, error) {
		var users map[feed.ID]bool
		var docs []postDoc
		if err := together(func() (err error) {
			users, err = present(ctx, r.users, ids(rows, func(p feed.Post) feed.ID { return p.Author }))
			return err
		}, func() (err error) {
			docs, err = findByID[postDoc](ctx, r.posts, append(ids(rows, func(p feed.Post) feed.ID { return p.ID }),
				ids(rows, func(p feed.Post) feed.ID { return p.RepostOf })...), only("author", "publishedAt", "text", "repostOf"))
			return err
		}); err != nil {
			return nil, err
		}
		there := make(map[feed.ID]intake.Known, len(rows))
		for i := range docs {
			d := &docs[i]
			there[d.ID] = intake.Known{Author: d.Author, At: d.At, Text: d.Text, RepostOf: d.RepostOf}
		}
		return intake.Posts(rows, users, there), nil
	}, func(accepted []feed.Post) ([]int, error) {
		var changed []feed.NodeID
		for _, p := range accepted {
			changed = append(changed, derivedFrom(p.Author, p.RepostOf)...)
		}
		if err := r.markDirty(ctx, changed...); err != nil {
			return nil, err
		}
		return insertMany(ctx, r.posts, documents(accepted, func(p feed.Post) postDoc { return postDocOf(p, nil) }))
	})
}

// ImportFollows implements [feed.ImportRecord].
func (r *Record) ImportFollows(ctx context.Context, rows []feed.Follow) ([]feed.Outcome, error) {
	follower := func(f feed.Follow) feed.ID { return f.Follower }
	followee := func(f feed.Follow) feed.ID { return f.Followee }
	return importRows("ImportFollows", rows, func(rows []feed.Follow) ([]feed.Outcome, error) {
		var users map[feed.ID]bool
		var there map[intake.Edge]bool
		err := together(func() (err error) {
			users, err = present(ctx, r.users, append(ids(rows, follower), ids(rows, followee)...))
			return err
		}, func() (err error) {
			there, err = edges(ctx, r.follows, documents(rows, func(f feed.Follow) intake.Edge {
				return intake.Edge{From: f.Follower, To: f.Followee}
			}))
			return err
		})
		if err != nil {
			return nil, err
		}
		return intake.Follows(rows, users, there), nil
	}, func(accepted []feed.Follow) ([]int, error) {
		if err := r.markDirty(ctx, userNodes(append(ids(accepted, follower), ids(accepted, followee)...)...)...); err != nil {
			return nil, err
		}
		return insertMany(ctx, r.follows, documents(accepted, followDocOf))
	})
}

// ImportLikes implements [feed.ImportRecord].
func (r *Record) ImportLikes(ctx context.Context, rows []feed.Like) ([]feed.Outcome, error) {
	return importRows("ImportLikes", rows, func(rows []feed.Like) ([]feed.Outcome, error) {
		var users, posts map[feed.ID]bool
		var there map[intake.Edge]bool
		err := together(func() (err error) {
			users, err = present(ctx, r.users, ids(rows, func(l feed.Like) feed.ID { return l.User }))
			return err
		}, func() (err error) {
			posts, err = present(ctx, r.posts, ids(rows, func(l feed.Like) feed.ID { return l.Post }))
			return err
		}, func() (err error) {
			there, err = edges(ctx, r.likes, documents(rows, func(l feed.Like) intake.Edge {
				return intake.Edge{From: l.User, To: l.Post}
			}))
			return err
		})
		if err != nil {
			return nil, err
		}
		return intake.Likes(rows, users, posts, there), nil
	}, func(accepted []feed.Like) ([]int, error) {
		if err := r.markDirty(ctx, documents(accepted, func(l feed.Like) feed.NodeID {
			return feed.NodeID{Kind: feed.NodePost, ID: l.Post}
		})...); err != nil {
			return nil, err
		}
		return insertMany(ctx, r.likes, documents(accepted, likeDocOf))
	})
}

// Empty implements [feed.ImportRecord].
func (r *Record) Empty(ctx context.Context) (bool, error) {
	_, found, err := findOne[userDoc](ctx, r.users, bson.D{}, only("_id"))
	if err != nil {
		return false, unavailable("Empty", err)
	}
	return !found, nil
}
