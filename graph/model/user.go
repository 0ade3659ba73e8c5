package model

import "feedgate/feed"

// User is a person, as the reader may see them.
type User struct {
	Data  *feed.User
	Shelf *Shelf
}

// IsNode marks a user as a Node.
func (*User) IsNode() {}

// ID gives the person's id.
func (u *User) ID() feed.NodeID { return feed.NodeID{Kind: feed.NodeUser, ID: u.Data.ID} }

// Handle gives the person's unique name.
func (u *User) Handle() string { return u.Data.Handle }

// Name gives the name to show.
func (u *User) Name() string { return u.Data.Name }

// Bio gives what the person says about themselves.
func (u *User) Bio() string { return u.Data.Bio }

// CreatedAt gives the time of registration in ms.
func (u *User) CreatedAt() int64 { return u.Data.CreatedAt }

// AvatarURL gives where the picture is; nil for none.
func (u *User) AvatarURL() *string { return orNil(&u.Data.AvatarURL) }

// FollowerCount gives the number of followers.
func (u *User) FollowerCount() (*int64, error) {
	c, err := u.counts()
	return &c.Followers, err
}

// FolloweeCount gives the number of people followed.
func (u *User) FolloweeCount() (*int64, error) {
	c, err := u.counts()
	return &c.Followees, err
}

// PostCount gives the number of standing posts.
func (u *User) PostCount() (*int64, error) {
	c, err := u.counts()
	return &c.Posts, err
}

// counts never gives nil.
func (u *User) counts() (*feed.UserCounts, error) {
	if err := u.Shelf.check(PartCounts); err != nil {
		return &feed.UserCounts{}, err
	}
	c := u.Shelf.Counts[u.Data.ID]
	if c == nil {
		return &feed.UserCounts{}, feed.Unavailable("the counters of this person can't be read now: try again", nil)
	}
	return c, nil
}

// ViewerFollows tells whether the reader follows the person.
func (u *User) ViewerFollows() (*bool, error) {
	return u.related(PartRelations, func(r *feed.Relations) bool { return r.Follows(u.Data.ID) })
}

// ViewerBlocks tells whether the reader blocks the person.
func (u *User) ViewerBlocks() (*bool, error) {
	return u.related(PartRelations, func(r *feed.Relations) bool { return r.Blocks.Has(u.Data.ID) })
}

// ViewerMutes tells whether the reader mutes the person.
func (u *User) ViewerMutes() (*bool, error) {
	return u.related(PartRelations, func(r *feed.Relations) bool { return r.Mutes.Has(u.Data.ID) })
}

// FollowsViewer tells whether the person follows the reader.
func (u *User) FollowsViewer() (*bool, error) {
	return u.related(PartFollowsMe, func(*feed.Relations) bool { return u.Shelf.FollowsMe.Has(u.Data.ID) })
}

func (u *User) related(part Part, is func(*feed.Relations) bool) (*bool, error) {
	if err := u.Shelf.check(part); err != nil {
		return new(bool), err
	}
	yes := u.Shelf.Reader != 0 && is(u.Shelf.Relations)
	return &yes, nil
}

// orNil gives nil for an empty text.
func orNil(s *string) *string {
	if *s == "" {
		return nil
	}
	return s
}
