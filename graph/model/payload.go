package model

import (
	"feedgate/feed"
	"feedgate/feed/live"
)

// UserTarget is the input of mutations that concern one other person.
type UserTarget struct{ UserID string }

// PostTarget is the input of mutations that concern one post.
type PostTarget struct{ PostID string }

// CommentTarget is the input of mutations that concern one comment.
type CommentTarget struct{ CommentID string }

// UserPayload is what a mutation of a person gives back.
type UserPayload struct{ User *User }

// PostPayload is what a mutation of a post gives back.
type PostPayload struct{ Post *Post }

// CommentPayload is what a mutation of a comment gives back.
type CommentPayload struct{ Comment *Comment }

// DeletePostPayload is what deletePost gives back.
type DeletePostPayload struct{ DeletedPostID *feed.NodeID }

// DeleteCommentPayload is what deleteComment gives back.
type DeleteCommentPayload struct{ DeletedCommentID *feed.NodeID }

// RecordViewsPayload is what recordViews gives back.
type RecordViewsPayload struct{ Recorded int64 }

// RedDotPayload is what a mutation of a mark gives back.
type RedDotPayload struct{ Dot RedDot }

// RedDot gives what is new now.
func (p *RedDotPayload) RedDot() (*live.State, error) { return p.Dot.State, p.Dot.Err }

// DotError gives why a red dot says nothing now; nil when it says something.
// Whatever it was, another state follows.
func DotError(d *live.State) error {
	if d.Err == nil || feed.CodeOf(d.Err) == feed.CodeUnavailable {
		return d.Err
	}
	return feed.Unavailable("what is new can't be told now: it follows", d.Err)
}

// RedDot is a red dot that was derived because the query asks for it, or why
// it could not be.
type RedDot struct {
	State *live.State
	Err   error
}
