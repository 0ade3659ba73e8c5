package feed

import "context"

// Record is the truth: what a returned mutation has written stays, whatever
// happens to the hot data. Every method is one awaited command or a number of
// commands that does not depend on the data, but for the chunks named.
//
// Errors are [*Error]: NOT_FOUND and CONFLICT where a method says so, and
// UNAVAILABLE for all that goes wrong in the store or on the way. Writes are
// durable when the method returns (MongoDB: majority, journaled; SQLite:
// synchronous=FULL), and reads see every write that has returned.
type Record interface {
	UserRecord
	PostRecord
	RelationRecord
	LikeRecord
	CommentRecord
	ClaimRecord
	FlightRecord
	MetaRecord
	PlaceRecord
}

// UserRow is a user with the counters.
type UserRow struct {
	User
	UserCounts
}

// UserRecord holds the people.
type UserRecord interface {
	// CreateUser inserts u. CONFLICT (field "handle") when the handle or the id is taken.
	CreateUser(ctx context.Context, u User) error
	// UpdateUser applies the patch and returns the result. NOT_FOUND.
	UpdateUser(ctx context.Context, id ID, p ProfilePatch) (User, error)
	// UsersByID returns those that exist, in any order.
	UsersByID(ctx context.Context, ids []ID) ([]UserRow, error)
	// UserByHandle returns one. NOT_FOUND.
	UserByHandle(ctx context.Context, handle string) (UserRow, error)
}

// PostRow is a post with the changing facts and, for its author, the delivery.
type PostRow struct {
	Post
	Stats
	Delivery
}

// Stamp is what publishing needs to know of its author.
type Stamp struct {
	At        int64 // strictly above that of the author's every earlier stamp
	Followers int64
}

// PostRecord holds the posts.
type PostRecord interface {
	// StampPost gives max(now, last + 1 ms) and remembers it as the author's last. NOT_FOUND without the author.
	StampPost(ctx context.Context, author ID, now int64) (Stamp, error)
	// InsertPost writes the post and its duty (Op 0, Until and Lane as given) in one
	// atomic write, and counts it with the author and, for a repost, with the original.
	// It returns false, and changes nothing, when the id is there already.
	InsertPost(ctx context.Context, p Post, d Duty) (bool, error)
	// PostsByID returns those that exist, in any order; deleted ones have DeletedAt.
	// At most [Stats].First comments that are not deleted come along.
	PostsByID(ctx context.Context, ids []ID) ([]PostRow, error)
	// DeletePost sets DeletedAt, ends the duty and uncounts the post. It returns
	// false when the post was deleted before. NOT_FOUND.
	DeletePost(ctx context.Context, id ID, at int64) (bool, error)
	// Entries returns the newest posts of the authors strictly below a position,
	// newest first, deleted ones left out; Author is set. Authors come in any
	// number and are asked for in chunks of at most 100.
	Entries(ctx context.Context, authors []ID, below Position, limit int) ([]Entry, error)
	// RepostedAmong returns those of the originals that user has a standing repost of.
	RepostedAmong(ctx context.Context, user ID, originals []ID) ([]ID, error)
}

// RelationRecord holds follows, blocks and mutes.
type RelationRecord interface {
	// Follow inserts the edge and counts it for both. It returns false when it was there.
	Follow(ctx context.Context, f Follow) (bool, error)
	// Unfollow removes the edge. It returns false when there was none.
	Unfollow(ctx context.Context, follower, followee ID) (bool, error)
	// AddBar inserts a block or a mute. It returns false when it was there.
	AddBar(ctx context.Context, b Bar) (bool, error)
	// RemoveBar removes one. It returns false when there was none.
	RemoveBar(ctx context.Context, kind BarKind, by, of ID) (bool, error)
	// RelationsOf returns all that stands between user and others; At most two commands.
	RelationsOf(ctx context.Context, user ID) (Relations, error)
	// Followers returns followers with an id above after, in id order.
	Followers(ctx context.Context, followee, after ID, limit int) ([]ID, error)
	// Followees returns whom user follows, newest follow first; the position is (at, followee).
	Followees(ctx context.Context, user ID, below Position, limit int) ([]Follow, error)
	// FollowersAmong returns those of the users who follow followee.
	FollowersAmong(ctx context.Context, followee ID, users []ID) ([]ID, error)
}

// LikeRecord holds the likes.
type LikeRecord interface {
	// Like inserts the edge and counts it. It returns false when it was there.
	Like(ctx context.Context, l Like) (bool, error)
	// Unlike removes it. It returns false when there was none.
	Unlike(ctx context.Context, user, post ID) (bool, error)
	// LikedAmong returns those of the posts that user likes.
	LikedAmong(ctx context.Context, user ID, posts []ID) ([]ID, error)
}

// CommentRecord holds the comments. A write keeps the post's first comments and count right.
type CommentRecord interface {
	// InsertComment returns false, and changes nothing, when the id is there already.
	InsertComment(ctx context.Context, c Comment) (bool, error)
	// CommentsByID returns those that exist and are not deleted, in any order.
	CommentsByID(ctx context.Context, ids []ID) ([]Comment, error)
	// DeleteComment returns false when it was deleted before. NOT_FOUND when it never was.
	DeleteComment(ctx context.Context, id ID, at int64) (bool, error)
	// Comments returns a post's comments strictly above a position, oldest first.
	// The zero position is below every comment.
	Comments(ctx context.Context, post ID, above Position, limit int) ([]Comment, error)
}

// Claim binds a client's mutation id to the object that it makes.
type Claim struct {
	Author   ID
	Kind     NodeKind
	ClientID string
	Object   ID     // the id that the object is to take
	Hash     []byte // of the input
}

// ClaimRecord makes mutations safe to repeat.
type ClaimRecord interface {
	// Claim inserts c, or finds the earlier claim with the same author, kind and
	// client id and returns its object's id. CONFLICT (field "clientMutationId")
	// when that one had another hash.
	Claim(ctx context.Context, c Claim) (ID, error)
}

// FlightRecord tells what is not yet fanned out.
type FlightRecord interface {
	// AuthorsInFlight returns the authors of all unfinished duties, each once.
	AuthorsInFlight(ctx context.Context) ([]ID, error)
	// UnfinishedAmong returns those of the authors who have an unfinished duty.
	UnfinishedAmong(ctx context.Context, authors []ID) ([]ID, error)
}

// DutyRecord is what the workers do with duties.
type DutyRecord interface {
	// BeginDuty takes over the duty of a post until a time, raises Op, sets RUNNING
	// and returns it. NOT_FOUND when the post has no duty (done, deleted, unknown);
	// CONFLICT when another holds it (Until > now).
	BeginDuty(ctx context.Context, post ID, now, until int64) (Duty, error)
	// SaveDuty writes Mark, Total, Delivered, State and Until. CONFLICT when Op was
	// raised meanwhile; NOT_FOUND when the duty has ended (the post was deleted).
	// State DONE ends the duty; FAILED keeps it unfinished.
	SaveDuty(ctx context.Context, d Duty) error
	// DueDuties returns unfinished duties with Until <= now, the oldest first.
	DueDuties(ctx context.Context, now int64, limit int) ([]Duty, error)
}

// CounterRecord repairs what is derived.
type CounterRecord interface {
	// Recount recounts counters and first comments that were marked dirty before a
	// time (ms), and returns what it changed.
	Recount(ctx context.Context, before int64, limit int) ([]NodeID, error)
}

// MetaRecord holds what all processes share.
type MetaRecord interface {
	// Generation returns the hot generation. It begins with the time (ms) at which
	// the record was made, so that a new one is above those before it.
	Generation(ctx context.Context) (int64, error)
	// RaiseGeneration raises it by one if it still is from, and returns the one in force.
	RaiseGeneration(ctx context.Context, from int64) (int64, error)
}

// HeartbeatRecord remembers how far each Redis master had come.
type HeartbeatRecord interface {
	// Heartbeats returns the last saved beat by name.
	Heartbeats(ctx context.Context) (map[string]int64, error)
	// SaveHeartbeats keeps the higher of the saved and the given beat of each name.
	SaveHeartbeats(ctx context.Context, beats map[string]int64) error
}

// ProcessRecord leases the process numbers that make ids unique.
type ProcessRecord interface {
	// LeaseProcess takes the lowest number below most that is free or whose lease
	// ended before now, for owner (a random name), until a time. UNAVAILABLE when all are taken.
	LeaseProcess(ctx context.Context, owner string, most int, now, until int64) (int, error)
	// RenewProcess extends the lease. CONFLICT when it is no longer owner's.
	RenewProcess(ctx context.Context, number int, owner string, until int64) error
	// ReleaseProcess ends the lease if it is owner's.
	ReleaseProcess(ctx context.Context, number int, owner string) error
}

// Outcome says what became of one imported row.
type Outcome struct {
	State  OutcomeState
	Reason string // for Refused: a sentence
}

// OutcomeState is what became of one imported row.
type OutcomeState int

// The outcomes.
const (
	Added   OutcomeState = iota // written
	Same                        // there already, the same
	Refused                     // its id or handle belongs to something else, or its author or post is missing
)

// ImportRecord takes bulk data. Each method writes one batch (at most 2,000
// rows) and gives the outcome of each row in order; to repeat a batch changes
// nothing. Imported posts have no duty (state DONE) and keep their time.
// Counters are marked dirty, to be recounted by RecountAll.
type ImportRecord interface {
	ImportUsers(ctx context.Context, rows []User) ([]Outcome, error)
	ImportPosts(ctx context.Context, rows []Post) ([]Outcome, error)
	ImportFollows(ctx context.Context, rows []Follow) ([]Outcome, error)
	ImportLikes(ctx context.Context, rows []Like) ([]Outcome, error)
	// RecountAll recounts everything that is dirty, and says how far it is.
	RecountAll(ctx context.Context, progress func(done, total int64)) error
	// Empty reports whether there is no user at all.
	Empty(ctx context.Context) (bool, error)
}
