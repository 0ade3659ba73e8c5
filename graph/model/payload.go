package model

import "feedgate/feed"

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
