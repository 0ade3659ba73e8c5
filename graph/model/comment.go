package model

import "feedgate/feed"

// Comment is an answer under a post, as the reader may see it.
type Comment struct {
	Data  *feed.Comment
	Shelf *Shelf
}

// IsNode marks a comment as a Node.
func (*Comment) IsNode() {}

// ID gives the comment's id.
func (c *Comment) ID() feed.NodeID { return feed.NodeID{Kind: feed.NodeComment, ID: c.Data.ID} }

// Author gives who wrote it; nil when hidden from the reader.
func (c *Comment) Author() (*User, error) { return c.Shelf.User(c.Data.Author) }

// Text gives the text.
func (c *Comment) Text() string { return c.Data.Text }

// PublishedAt gives the time of writing in ms.
func (c *Comment) PublishedAt() int64 { return c.Data.At }
