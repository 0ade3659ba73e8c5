package feed

import (
	"context"

	"feedgate/feed/geo"
)

// PlaceRecord finds posts by where they were written. Stores keep, with each
// post, the cell of its published position ([Post.Cell]) and index (cell, at, id).
type PlaceRecord interface {
	// EntriesInCells returns the newest posts of the cells strictly below a
	// position, newest first, deleted ones left out; Author and the published
	// Point are set. Cells are at most [MaxCells].
	EntriesInCells(ctx context.Context, cells []geo.Cell, below Position, limit int) ([]CellEntry, error)
}

// MaxCells is how many cells one question to the record may name.
const MaxCells = 100

// TasteRecord tells what people engage with.
type TasteRecord interface {
	// TastesOf returns the newest engagements of each of the users: likes,
	// comments that stand and reposts that stand (Post is the original), each post
	// once, at its newest engagement, at most limit a user, newest first. Users
	// without any are left out. Users come in any number and are asked for in
	// chunks; the number of awaited commands does not depend on the data otherwise.
	TastesOf(ctx context.Context, users []ID, limit int) ([]Tastes, error)
	// Engaged returns users that like, comment or repost anything, with an id
	// above after, in id order.
	Engaged(ctx context.Context, after ID, limit int) ([]ID, error)
	// RecentPosts returns the newest posts of everybody strictly below a position,
	// newest first, deleted ones left out; Author is set.
	RecentPosts(ctx context.Context, below Position, limit int) ([]Entry, error)
}

// ViewRecord remembers which posts a reader has viewed.
type ViewRecord interface {
	// AddViews notes the views, each post once, at its newest view; of a reader's
	// views only the newest keep stay, and none from before since (ms).
	AddViews(ctx context.Context, user ID, posts []ID, at int64, keep int, since int64) error
	// ViewsOf returns the posts viewed at or after since (ms), newest view first.
	ViewsOf(ctx context.Context, user ID, since int64, limit int) ([]ID, error)
}

// EngagementKind is how somebody engaged with a post.
type EngagementKind uint8

// The kinds of engagement. Their numbers are kept in the hot data.
const (
	EngagedLike    EngagementKind = 1
	EngagedComment EngagementKind = 2
	EngagedRepost  EngagementKind = 3
)

// Engagement is one person's interest in a post.
type Engagement struct {
	Post ID
	At   int64 // ms since the epoch
	Kind EngagementKind
}

// MaxTastes is how many engagements of a person count.
const MaxTastes = 200

// Tastes are the posts that a person engaged with last, each once, newest
// first by (At, Post), at most [MaxTastes].
type Tastes struct {
	User    ID
	Engaged []Engagement
}

// The bounds of what is remembered of views.
const (
	MaxViews  = 5_000
	ViewsKept = 30 * 24 * 3600_000 // ms
)

// Views are the posts that a reader has viewed, newest view first, at most
// [MaxViews], none older than [ViewsKept].
type Views struct {
	Posts []ID
}
