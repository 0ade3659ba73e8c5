package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"feedgate/feed"
)

// userDoc is a document of users.
type userDoc struct {
	ID         feed.ID      `bson:"_id"`
	Handle     string       `bson:"handle"`
	Name       string       `bson:"name"`
	AvatarURL  string       `bson:"avatarUrl"`
	Bio        string       `bson:"bio"`
	CreatedAt  int64        `bson:"createdAt"`
	Counters   userCounters `bson:"counters"`
	LastPostAt int64        `bson:"lastPostAt"`
}

type userCounters struct {
	Followers int64 `bson:"followers"`
	Followees int64 `bson:"followees"`
	Posts     int64 `bson:"posts"`
}

// The users' counters.
const (
	countFollowers = "counters.followers"
	countFollowees = "counters.followees"
	countPosts     = "counters.posts"
)

func userDocOf(u feed.User) userDoc {
	return userDoc{ID: u.ID, Handle: u.Handle, Name: u.Name, AvatarURL: u.AvatarURL, Bio: u.Bio, CreatedAt: u.CreatedAt}
}

func (d *userDoc) row() feed.UserRow {
	return feed.UserRow{
		User: feed.User{
			ID: d.ID, Handle: d.Handle, Name: d.Name, AvatarURL: d.AvatarURL, Bio: d.Bio, CreatedAt: d.CreatedAt,
		},
		UserCounts: feed.UserCounts(d.Counters),
	}
}

// CreateUser implements [feed.UserRecord].
func (r *Record) CreateUser(ctx context.Context, u feed.User) error {
	inserted, err := insert(ctx, r.users, userDocOf(u))
	if err != nil {
		return unavailable("CreateUser", err)
	}
	if !inserted {
		return feed.Conflict("handle", "this handle is taken, or you have a profile already: choose another handle")
	}
	return nil
}

// UpdateUser implements [feed.UserRecord].
func (r *Record) UpdateUser(ctx context.Context, id feed.ID, p feed.ProfilePatch) (feed.User, error) {
	var fields bson.D
	for _, f := range []struct {
		name  string
		value *string
	}{{"name", p.Name}, {"avatarUrl", p.AvatarURL}, {"bio", p.Bio}} {
		if f.value != nil {
			fields = append(fields, bson.E{Key: f.name, Value: *f.value})
		}
	}
	var (
		doc userDoc
		ok  bool
		err error
	)
	if len(fields) == 0 {
		doc, ok, err = findOne[userDoc](ctx, r.users, byID(id), nil)
	} else {
		doc, ok, err = decoded[userDoc](r.users.FindOneAndUpdate(ctx, byID(id), set(fields...),
			options.FindOneAndUpdate().SetReturnDocument(options.After)))
	}
	switch {
	case err != nil:
		return feed.User{}, unavailable("UpdateUser", err)
	case !ok:
		return feed.User{}, feed.NotFound("user")
	}
	return doc.row().User, nil
}

// UsersByID implements [feed.UserRecord].
func (r *Record) UsersByID(ctx context.Context, ids []feed.ID) ([]feed.UserRow, error) {
	docs, err := findByID[userDoc](ctx, r.users, ids, nil)
	if err != nil {
		return nil, unavailable("UsersByID", err)
	}
	rows := make([]feed.UserRow, len(docs))
	for i := range docs {
		rows[i] = docs[i].row()
	}
	return rows, nil
}

// UserByHandle implements [feed.UserRecord].
func (r *Record) UserByHandle(ctx context.Context, handle string) (feed.UserRow, error) {
	doc, ok, err := findOne[userDoc](ctx, r.users, bson.D{{Key: "handle", Value: handle}}, nil)
	switch {
	case err != nil:
		return feed.UserRow{}, unavailable("UserByHandle", err)
	case !ok:
		return feed.UserRow{}, feed.NotFound("user")
	}
	return doc.row(), nil
}
