package model

import "feedgate/feed"

// noticeKind stands before a notice's id, for those who keep it. Notices are no
// nodes.
const noticeKind feed.NodeKind = "notice"

// Notice is what others did that concerns the reader.
type Notice struct{ Data *feed.Notice }

// ID names the notice.
func (n *Notice) ID() feed.NodeID { return feed.NodeID{Kind: noticeKind, ID: n.Data.ID} }

// Kind gives what they did.
func (n *Notice) Kind() feed.NoticeKind { return n.Data.Kind }

// At gives when the last of them did it, in ms.
func (n *Notice) At() int64 { return n.Data.At }

// ActorCount gives how many they are.
func (n *Notice) ActorCount() int64 { return n.Data.Total }

// NoticeConnection is a page of notices.
type NoticeConnection struct {
	Page    Page
	Notices []NoticeEdge
}

// NoticeEdge is a notice in a list.
type NoticeEdge struct {
	Notice Notice
	Page   *Page
}

// NewNoticeConnection makes a connection of a page of notices.
func NewNoticeConnection(p *feed.NoticePage, serverTime int64, after bool) *NoticeConnection {
	c := &NoticeConnection{
		Page: Page{
			Kind: feed.CursorNotices, ServerTime: serverTime, After: after,
			HasNext: p.HasNext, End: p.End, HasEnd: p.HasEnd,
		},
		Notices: make([]NoticeEdge, len(p.Notices)),
	}
	for i := range p.Notices {
		c.Notices[i] = NoticeEdge{Notice: Notice{Data: &p.Notices[i]}, Page: &c.Page}
	}
	return c
}

// Edges gives the notices with their cursors.
func (c *NoticeConnection) Edges() []NoticeEdge { return c.Notices }

// Nodes gives the notices alone.
func (c *NoticeConnection) Nodes() []*Notice {
	nodes := make([]*Notice, len(c.Notices))
	for i := range c.Notices {
		nodes[i] = &c.Notices[i].Notice
	}
	return nodes
}

// PageInfo says where the page lies in its list.
func (c *NoticeConnection) PageInfo() *PageInfo {
	if len(c.Notices) == 0 {
		return c.Page.info(nil)
	}
	first := c.Notices[0].Notice.Data.Position()
	return c.Page.info(&first)
}

// Cursor gives the edge's cursor.
func (e *NoticeEdge) Cursor() string { return e.Page.Cursor(e.Notice.Data.Position()) }

// Node gives the notice.
func (e *NoticeEdge) Node() *Notice { return &e.Notice }
