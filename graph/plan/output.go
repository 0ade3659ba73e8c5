package plan

import (
	"context"
	"strconv"

	"feedgate/feed"
	"feedgate/graph/model"
	"feedgate/graph/scalar"
)

// output is one object being written.
type output struct {
	ctx  context.Context //nolint:containedctx // lives for one call, and saves passing it through every method
	show Showing
	b    []byte
	left bool // something was found that is for gqlgen to write
}

// begin opens an object, or goes on to its next field.
func (o *output) begin(i int, f *field) {
	if i == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(o.b, f.key...)
}

// end closes an object; one all of whose fields were skipped was never opened.
func (o *output) end(s *Selection) {
	if len(s.fields) == 0 {
		o.b = append(o.b, '{')
	}
	o.b = append(o.b, '}')
}

func (o *output) null() { o.b = append(o.b, "null"...) }

func (o *output) str(s string) { o.b = scalar.AppendString(o.b, s) }

func (o *output) bool(v bool) { o.b = strconv.AppendBool(o.b, v) }

func (o *output) count(n int64) { o.b = scalar.AppendCount(o.b, n) }

func (o *output) float(f float64) { o.b = scalar.AppendFloat(o.b, f) }

func (o *output) id(kind feed.NodeKind, id feed.ID) {
	o.b = scalar.AppendNodeID(o.b, feed.NodeID{Kind: kind, ID: id})
}

// cursor writes a position of a page.
func (o *output) cursor(p *model.Page, at feed.Position) {
	// A cursor is base64: nothing to escape.
	o.b = append(o.b, '"')
	o.b = append(o.b, p.Cursor(at)...)
	o.b = append(o.b, '"')
}

// leave gives the whole object up: gqlgen is to write it.
func (o *output) leave() {
	o.left = true
	o.null()
}

// list writes n elements.
func (o *output) list(n int, element func(i int)) {
	o.b = append(o.b, '[')
	for i := range n {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		element(i)
		if o.left {
			return
		}
	}
	o.b = append(o.b, ']')
}

func (o *output) followFeed(s *Selection, c *model.FollowFeedConnection) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		switch f.op {
		case opCompleteSince:
			if since := c.CompleteSince(); since != nil {
				o.b = scalar.AppendDateTime(o.b, *since)
			} else {
				o.null()
			}
		case opRedDot:
			o.redDot(f.sub, c.Dot.State)
		default:
			o.postsField(s, f, c.PostConnection)
		}
	}
	o.end(s)
}

func (o *output) posts(s *Selection, c *model.PostConnection) {
	for i := range s.fields {
		o.begin(i, &s.fields[i])
		o.postsField(s, &s.fields[i], c)
	}
	o.end(s)
}

func (o *output) nearbyFeed(s *Selection, c *model.NearbyFeedConnection) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		if f.op == opEdges {
			o.list(len(c.Posts), func(i int) { o.nearbyEdge(f.sub, c, &c.Posts[i]) })
			continue
		}
		o.postsField(s, f, c.PostConnection)
	}
	o.end(s)
}

func (o *output) nearbyEdge(s *Selection, c *model.NearbyFeedConnection, e *model.PostEdge) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		if f.op == opDistanceMeters {
			o.distance(c, e)
			continue
		}
		o.postEdgeField(s, f, &c.Page, e)
	}
	o.end(s)
}

func (o *output) distance(c *model.NearbyFeedConnection, e *model.PostEdge) {
	edge := model.NearbyFeedEdge{PostEdge: *e, Near: c.Near}
	if metres := edge.DistanceMeters(); metres != nil {
		o.count(*metres)
	} else {
		o.null()
	}
}

func (o *output) recommendFeed(s *Selection, c *model.RecommendFeedConnection) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		if f.op == opEdges {
			o.list(len(c.Posts), func(i int) { o.recommendEdge(f.sub, c, i) })
			continue
		}
		o.postsField(s, f, c.PostConnection)
	}
	o.end(s)
}

func (o *output) recommendEdge(s *Selection, c *model.RecommendFeedConnection, at int) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		if f.op == opReason {
			o.reason(f.sub, c.Reasons[at])
			continue
		}
		o.postEdgeField(s, f, &c.Page, &c.Posts[at])
	}
	o.end(s)
}

func (o *output) reason(s *Selection, why feed.Reason) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		switch {
		case f.op == opTypename:
			o.str(s.Type.name())
		case f.op == opReasonKind:
			o.str(string(why.Kind))
		case f.op == opTopic && why.Topic == "":
			o.null()
		case f.op == opTopic:
			o.str(why.Topic)
		default:
			o.leave()
		}
	}
	o.end(s)
}

func (o *output) postsField(s *Selection, f *field, c *model.PostConnection) {
	switch f.op {
	case opTypename:
		o.str(s.Type.name())
	case opEdges:
		o.list(len(c.Posts), func(i int) { o.postEdge(f.sub, &c.Page, &c.Posts[i]) })
	case opNodes:
		o.list(len(c.Posts), func(i int) {
			if c.Posts[i].Post == nil {
				o.leave()
				return
			}
			o.post(f.sub, c.Posts[i].Post)
		})
	case opPageInfo:
		if len(c.Posts) == 0 {
			o.pageInfo(f.sub, &c.Page, nil)
			return
		}
		o.pageInfo(f.sub, &c.Page, &c.Posts[0].At)
	default:
		o.leave()
	}
}

func (o *output) postEdge(s *Selection, p *model.Page, e *model.PostEdge) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		o.postEdgeField(s, f, p, e)
	}
	o.end(s)
}

func (o *output) postEdgeField(s *Selection, f *field, p *model.Page, e *model.PostEdge) {
	switch {
	case f.op == opTypename:
		o.str(s.Type.name())
	case f.op == opCursor:
		o.cursor(p, e.At)
	case f.op == opNode && e.Post != nil:
		o.post(f.sub, e.Post)
	default:
		o.leave()
	}
}

func (o *output) pageInfo(s *Selection, p *model.Page, first *feed.Position) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		switch f.op {
		case opTypename:
			o.str(s.Type.name())
		case opHasNextPage:
			o.bool(p.HasNext)
		case opHasPreviousPage:
			o.bool(p.After)
		case opStartCursor:
			if first == nil {
				o.null()
			} else {
				o.cursor(p, *first)
			}
		case opEndCursor:
			if p.HasEnd {
				o.cursor(p, p.End)
			} else {
				o.null()
			}
		default:
			o.leave()
		}
	}
	o.end(s)
}

func (o *output) users(s *Selection, c *model.UserConnection) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		switch f.op {
		case opTypename:
			o.str(s.Type.name())
		case opEdges:
			o.list(len(c.Users), func(i int) { o.userEdge(f.sub, &c.Users[i]) })
		case opNodes:
			o.list(len(c.Users), func(i int) { o.user(f.sub, c.Users[i].Shelf, c.Users[i].ID) })
		case opPageInfo:
			if len(c.Users) == 0 {
				o.pageInfo(f.sub, &c.Page, nil)
				continue
			}
			o.pageInfo(f.sub, &c.Page, &c.Users[0].At)
		default:
			o.leave()
		}
	}
	o.end(s)
}

func (o *output) userEdge(s *Selection, e *model.UserEdge) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		switch f.op {
		case opTypename:
			o.str(s.Type.name())
		case opCursor:
			o.cursor(e.Page, e.At)
		case opNode:
			o.user(f.sub, e.Shelf, e.ID)
		default:
			o.leave()
		}
	}
	o.end(s)
}

func (o *output) comments(s *Selection, p *model.Page, n int, at func(i int) (*feed.Comment, *model.Shelf)) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		switch f.op {
		case opTypename:
			o.str(s.Type.name())
		case opEdges:
			o.list(n, func(i int) {
				c, shelf := at(i)
				o.commentEdge(f.sub, p, c, shelf)
			})
		case opNodes:
			o.list(n, func(i int) {
				c, shelf := at(i)
				o.comment(f.sub, c, shelf)
			})
		case opPageInfo:
			if n == 0 {
				o.pageInfo(f.sub, p, nil)
				continue
			}
			c, _ := at(0)
			first := c.Position()
			o.pageInfo(f.sub, p, &first)
		default:
			o.leave()
		}
	}
	o.end(s)
}

// commentPage writes the first comments of a post, whose authors are on its shelf.
func (o *output) commentPage(s *Selection, page *feed.CommentPage, shelf *model.Shelf) {
	p := model.CommentsPage(page, shelf, false)
	o.comments(s, &p, len(page.Comments), func(i int) (*feed.Comment, *model.Shelf) { return &page.Comments[i], shelf })
}

func (o *output) commentConnection(s *Selection, c *model.CommentConnection) {
	o.comments(s, &c.Page, len(c.Comments), func(i int) (*feed.Comment, *model.Shelf) {
		return c.Comments[i].Comment.Data, c.Comments[i].Comment.Shelf
	})
}

func (o *output) commentEdge(s *Selection, p *model.Page, c *feed.Comment, shelf *model.Shelf) {
	for i := range s.fields {
		f := &s.fields[i]
		o.begin(i, f)
		switch f.op {
		case opTypename:
			o.str(s.Type.name())
		case opCursor:
			o.cursor(p, c.Position())
		case opNode:
			o.comment(f.sub, c, shelf)
		default:
			o.leave()
		}
	}
	o.end(s)
}
