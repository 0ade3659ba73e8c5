package model

import (
	"feedgate/feed"
	"feedgate/feed/live"
)

// Page says where a page lies in its list, and how its cursors are made.
type Page struct {
	Kind       feed.CursorKind
	ServerTime int64 // ms
	After      bool  // the page was asked for with a cursor
	HasNext    bool
	End        feed.Position // the last position examined
	HasEnd     bool
	// Session is that of recommendFeed, "" for all other lists. The At of its
	// positions is a place in the session.
	Session feed.Token
}

// Cursor gives the cursor of a position.
func (p *Page) Cursor(at feed.Position) string {
	if p.Session != "" {
		return feed.EncodeSessionMark(feed.SessionMark{Session: p.Session, Offset: int(at.At)})
	}
	return feed.EncodeCursor(p.Kind, at, p.ServerTime)
}

// info gives the page info; first is the position of the first edge, if any.
func (p *Page) info(first *feed.Position) *PageInfo {
	info := &PageInfo{HasNextPage: p.HasNext, HasPreviousPage: p.After}
	if first != nil {
		c := p.Cursor(*first)
		info.StartCursor = &c
	}
	if p.HasEnd {
		c := p.Cursor(p.End)
		info.EndCursor = &c
	}
	return info
}

// PageInfo says where a page lies in its list.
type PageInfo struct {
	HasNextPage     bool
	HasPreviousPage bool
	StartCursor     *string
	EndCursor       *string
}

// PostConnection is a page of posts.
type PostConnection struct {
	Page  Page
	Posts []PostEdge // Page of each is set by Edges
}

// FollowFeedConnection is a page of the follow feed.
type FollowFeedConnection struct {
	*PostConnection
	Since int64 // ms; 0 for none
	Dot   RedDot
}

// NewFollowFeed makes a page of the follow feed of a page of posts.
func NewFollowFeed(c *PostConnection, since int64) *FollowFeedConnection {
	return &FollowFeedConnection{PostConnection: c, Since: since}
}

// CompleteSince gives from when on the hot data hold the feed complete; nil
// when the record served the page.
func (c *FollowFeedConnection) CompleteSince() *int64 {
	if c.Since == 0 {
		return nil
	}
	return &c.Since
}

// RedDot gives what is new for the reader.
func (c *FollowFeedConnection) RedDot() (*live.State, error) { return c.Dot.State, c.Dot.Err }

// PostEdge is a post in a list.
type PostEdge struct {
	At   feed.Position
	Post *Post // nil when it could not be shown
	Page *Page
}

// Edges gives the posts with their cursors.
func (c *PostConnection) Edges() []PostEdge {
	for i := range c.Posts {
		c.Posts[i].Page = &c.Page
	}
	return c.Posts
}

// Nodes gives the posts alone.
func (c *PostConnection) Nodes() []*Post {
	nodes := make([]*Post, len(c.Posts))
	for i := range c.Posts {
		nodes[i] = c.Posts[i].Post
	}
	return nodes
}

// PageInfo says where the page lies in its list.
func (c *PostConnection) PageInfo() *PageInfo {
	if len(c.Posts) == 0 {
		return c.Page.info(nil)
	}
	return c.Page.info(&c.Posts[0].At)
}

// Cursor gives the edge's cursor.
func (e *PostEdge) Cursor() string { return e.Page.Cursor(e.At) }

// Node gives the post.
func (e *PostEdge) Node() (*Post, error) {
	if e.Post != nil {
		return e.Post, nil
	}
	return nil, feed.Unavailable("this post can't be shown now: try again", nil)
}

// UserConnection is a page of people.
type UserConnection struct {
	Page  Page
	Users []UserEdge
}

// UserEdge is a person in a list.
type UserEdge struct {
	At   feed.Position
	ID   feed.ID
	Page *Page
	// Shelf holds the person, when the query wants more than cursors.
	Shelf *Shelf
}

// Edges gives the people with their cursors.
func (c *UserConnection) Edges() []UserEdge { return c.Users }

// Nodes gives the people alone.
func (c *UserConnection) Nodes() ([]*User, error) {
	nodes := make([]*User, len(c.Users))
	for i := range c.Users {
		u, err := c.Users[i].Node()
		if err != nil {
			return nil, err
		}
		nodes[i] = u
	}
	return nodes, nil
}

// PageInfo says where the page lies in its list.
func (c *UserConnection) PageInfo() *PageInfo {
	if len(c.Users) == 0 {
		return c.Page.info(nil)
	}
	return c.Page.info(&c.Users[0].At)
}

// Cursor gives the edge's cursor.
func (e *UserEdge) Cursor() string { return e.Page.Cursor(e.At) }

// Node gives the person; nil when hidden from the reader.
func (e *UserEdge) Node() (*User, error) { return e.Shelf.User(e.ID) }

// CommentConnection is a page of comments.
type CommentConnection struct {
	Page     Page
	Comments []CommentEdge
}

// CommentEdge is a comment in a list.
type CommentEdge struct {
	Comment Comment
	Page    *Page
}

// Edges gives the comments with their cursors.
func (c *CommentConnection) Edges() []CommentEdge { return c.Comments }

// Nodes gives the comments alone.
func (c *CommentConnection) Nodes() []*Comment {
	nodes := make([]*Comment, len(c.Comments))
	for i := range c.Comments {
		nodes[i] = &c.Comments[i].Comment
	}
	return nodes
}

// PageInfo says where the page lies in its list.
func (c *CommentConnection) PageInfo() *PageInfo {
	if len(c.Comments) == 0 {
		return c.Page.info(nil)
	}
	first := c.Comments[0].Comment.Data.Position()
	return c.Page.info(&first)
}

// Cursor gives the edge's cursor.
func (e *CommentEdge) Cursor() string { return e.Page.Cursor(e.Comment.Data.Position()) }

// Node gives the comment.
func (e *CommentEdge) Node() *Comment { return &e.Comment }

// CommentsPage says where a page of comments lies.
func CommentsPage(page *feed.CommentPage, shelf *Shelf, after bool) Page {
	return Page{
		Kind: feed.CursorComments, ServerTime: shelf.ServerTime, After: after,
		HasNext: page.HasNext, End: page.End, HasEnd: page.HasEnd,
	}
}

// NewCommentConnection makes a connection of a page of comments, whose authors
// shelf holds.
func NewCommentConnection(page *feed.CommentPage, shelf *Shelf, after bool) *CommentConnection {
	c := &CommentConnection{
		Page:     CommentsPage(page, shelf, after),
		Comments: make([]CommentEdge, len(page.Comments)),
	}
	for i := range page.Comments {
		c.Comments[i] = CommentEdge{Comment: Comment{Data: &page.Comments[i], Shelf: shelf}, Page: &c.Page}
	}
	return c
}
