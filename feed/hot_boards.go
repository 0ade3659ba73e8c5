package feed

// ----- boards: what recommendation has learned -----

// BoardKind says what a board ranks posts by.
type BoardKind string

// The kinds of board.
const (
	BoardSimilar  BoardKind = "similar"  // of one post: others by how many people engaged with both
	BoardTopic    BoardKind = "topic"    // of one topic: its posts by engagement
	BoardTrending BoardKind = "trending" // all posts by engagement that fades with time
	BoardFresh    BoardKind = "fresh"    // posts that nobody has viewed yet, by publishedAt in ms
)

// Board names one bounded ranking of posts. Boards are statistics: they carry
// no proof, and what reads them must bear that they are late, or lost.
type Board struct {
	Kind  BoardKind
	Epoch int64  // of learning, see [Learning]; 0 for BoardFresh
	Post  ID     // of BoardSimilar
	Topic string // of BoardTopic
}

// BoardTTL is how long a board lives after its last change, in milliseconds.
const BoardTTL = 30 * 24 * 3600_000

// Ranked is one post on a board.
type Ranked struct {
	Post  ID
	Score float64
}

// ReadBoard reads the highest posts of a board, highest first.
type ReadBoard struct {
	Board Board
	Limit int
	// answer
	Ranked []Ranked
}

// ChangeBoard adds to the scores of posts on a board. Posts that fall to
// nothing (below 1e-9) leave it. A board that has more than Keep + Slack posts is cut
// to its highest Keep.
type ChangeBoard struct {
	Board       Board
	Changes     []Ranked // Score is what is added
	Keep, Slack int
}

// PutOnBoard sets the scores of posts that are not on the board yet, and cuts
// it as ChangeBoard does.
type PutOnBoard struct {
	Board       Board
	Ranked      []Ranked
	Keep, Slack int
}

// TakeOffBoard removes posts from a board.
type TakeOffBoard struct {
	Board Board
	Posts []ID
}

// ----- learning -----

// Learning says which boards are in use. An epoch is the time (ms) at which its
// boards were begun, from which scores that fade grow. While new ones are
// built, the old ones serve, and what happens is counted on both.
type Learning struct {
	Serving  int64 // 0: none yet
	Building int64 // 0: none under way
	Mark     ID    // while building: all users up to this id have been counted
	// The generations that were in force when they were begun.
	ServingUnder, BuildingUnder int64
}

// ReadLearning reads the state of learning.
type ReadLearning struct {
	// answers
	Found    bool
	Learning Learning
}

// SaveLearning writes it. Only the holder of the lease "learning" does.
type SaveLearning struct{ Learning Learning }

// ReadLearned reads which engagements of a user are counted on the boards of
// an epoch.
type ReadLearned struct {
	User  ID
	Epoch int64
	// answer
	Engaged []Engagement
}

// SaveLearned replaces it. It lives for [BoardTTL].
type SaveLearned struct {
	User    ID
	Epoch   int64
	Engaged []Engagement // at most [MaxTastes]
}

// MarkUnlearned notes that the tastes of users have changed. Repeats are one.
type MarkUnlearned struct {
	Users []ID
	Now   int64 // ms
}

// TakeUnlearned takes noted users, the longest waiting first, and keeps others
// from taking them before Until (ms). Those that are not dropped by then are
// taken again. Atomic.
type TakeUnlearned struct {
	Now, Until int64 // ms
	Limit      int
	// answer
	Users []ID
}

// DropUnlearned ends the note of those users that were taken with Until and
// not noted again since. Each is atomic.
type DropUnlearned struct {
	Users []ID
	Until int64 // of TakeUnlearned
}

// ----- sessions of recommendFeed -----

// SaveSession keeps what a session has ranked, for TTL (ms). It replaces what
// was kept under the token.
type SaveSession struct {
	Token Token
	Data  []byte // at most 256 KiB
	TTL   int64
}

// ReadSession reads it.
type ReadSession struct {
	Token Token
	// answer
	Data []byte // nil: there is none, or its time is over
}

func (*ReadBoard) op()     {}
func (*ChangeBoard) op()   {}
func (*PutOnBoard) op()    {}
func (*TakeOffBoard) op()  {}
func (*ReadLearning) op()  {}
func (*SaveLearning) op()  {}
func (*ReadLearned) op()   {}
func (*SaveLearned) op()   {}
func (*MarkUnlearned) op() {}
func (*TakeUnlearned) op() {}
func (*DropUnlearned) op() {}
func (*SaveSession) op()   {}
func (*ReadSession) op()   {}
