package feed

import (
	"context"
	"crypto/sha256"
)

// Like records that r likes a post; to like twice is once. NOT_FOUND.
func (s *Service) Like(ctx context.Context, r *Reader, post ID) (*Post, error) {
	return s.onStats(ctx, r, post, func(ctx context.Context, p *Post) ([]GatewayEvent, error) {
		if _, err := s.record.Like(ctx, Like{User: r.id, Post: post, At: s.now(), Weight: 1}); err != nil {
			return nil, err
		}
		return s.notify(ctx, NoticeEdge{To: p.Author, Kind: NoticeLiked, Subject: post, Actor: r.id})
	})
}

// Unlike takes a like back. NOT_FOUND for a post that r does not see.
func (s *Service) Unlike(ctx context.Context, r *Reader, post ID) (*Post, error) {
	return s.onStats(ctx, r, post, func(ctx context.Context, p *Post) ([]GatewayEvent, error) {
		if _, err := s.record.Unlike(ctx, r.id, post); err != nil {
			return nil, err
		}
		return s.unnotify(ctx, NoticeEdge{To: p.Author, Kind: NoticeLiked, Subject: post, Actor: r.id})
	})
}

// onStats carries out a write that changes the stats of a post that r sees and
// r's tastes, and announces what it returns.
func (s *Service) onStats(ctx context.Context, r *Reader, post ID,
	write func(context.Context, *Post) ([]GatewayEvent, error),
) (*Post, error) {
	if _, err := s.RequireProfile(ctx, r); err != nil {
		return nil, err
	}
	p, err := s.visiblePost(ctx, r, post)
	if err != nil {
		return nil, err
	}
	token := newToken()
	tastes := engaging{users: []ID{r.id}, token: token}
	var events []GatewayEvent
	err = s.mutate(ctx, mutation{
		hold: append(tastes.hold(), &HoldDetails[Stats]{IDs: []ID{post}, Token: token}),
		write: func(ctx context.Context) (err error) {
			events, err = write(ctx, p)
			return err
		},
		release: func(bool) []Op {
			return append(tastes.release(s.now()), &ReleaseDetails[Stats]{IDs: []ID{post}, Token: token}, &Announce{Events: events})
		},
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// NewComment is what somebody hands in as a comment.
type NewComment struct {
	Post             ID
	Text             string
	ClientMutationID string // "": not safe to repeat
}

// CommentOn adds a comment to a post that r sees. With a ClientMutationID the
// same input gives the same comment, once. NOT_FOUND, CONFLICT.
func (s *Service) CommentOn(ctx context.Context, r *Reader, in NewComment) (*Comment, error) {
	if in.Text == "" {
		return nil, BadInput("text", "a comment needs a text")
	}
	if err := checkText("text", in.Text, MaxComment); err != nil {
		return nil, err
	}
	if err := checkClientID(in.ClientMutationID); err != nil {
		return nil, err
	}
	id, err := s.ids.NextID()
	if err != nil {
		return nil, err
	}
	c := &Comment{ID: id, Post: in.Post, Author: r.id, At: s.now(), Text: in.Text}
	_, err = s.onStats(ctx, r, in.Post, func(ctx context.Context, p *Post) ([]GatewayEvent, error) {
		if err := s.insertComment(ctx, c, in.ClientMutationID); err != nil {
			return nil, err
		}
		return s.notifyComment(ctx, p, c)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// notifyComment writes the notices to the post's author and to whom c mentions.
func (s *Service) notifyComment(ctx context.Context, p *Post, c *Comment) ([]GatewayEvent, error) {
	mentioned, err := s.mentions(ctx, c.Text)
	if err != nil {
		return nil, err
	}
	edges := []NoticeEdge{{To: p.Author, Kind: NoticeCommented, Subject: p.ID, Actor: c.Author}}
	for _, id := range mentioned {
		if id != p.Author {
			edges = append(edges, NoticeEdge{To: id, Kind: NoticeMentioned, Subject: p.ID, Actor: c.Author})
		}
	}
	return s.notify(ctx, edges...)
}

// insertComment writes c, or finds what an earlier try with the same client id wrote.
func (s *Service) insertComment(ctx context.Context, c *Comment, clientID string) error {
	if clientID != "" {
		hash := sha256.Sum256([]byte(c.Post.String() + " " + c.Text))
		object, err := s.record.Claim(ctx, Claim{
			Author: c.Author, Kind: NodeComment, ClientID: clientID, Object: c.ID, Hash: hash[:],
		})
		if err != nil {
			return err
		}
		c.ID = object
	}
	inserted, err := s.record.InsertComment(ctx, *c)
	if err != nil || inserted {
		return err
	}
	found, err := s.record.CommentsByID(ctx, []ID{c.ID})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return &Error{Code: CodeNotFound, Field: "clientMutationId", Text: "the comment that was written with this clientMutationId has been deleted since: use a new one"}
	}
	*c = found[0]
	return nil
}

// DeleteComment deletes a comment that r wrote, or one under r's own post.
// FORBIDDEN for others, NOT_FOUND.
func (s *Service) DeleteComment(ctx context.Context, r *Reader, id ID) error {
	if _, err := s.RequireProfile(ctx, r); err != nil {
		return err
	}
	found, err := s.record.CommentsByID(ctx, []ID{id})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return NotFound("comment")
	}
	c := found[0]
	if c.Author != r.id {
		post, err := s.visiblePost(ctx, r, c.Post)
		if err != nil {
			return NotFound("comment")
		}
		if post.Author != r.id {
			return Forbidden("only its author, and the author of the post under it, can delete a comment")
		}
	}
	token := newToken()
	tastes := engaging{users: []ID{c.Author}, token: token}
	return s.mutate(ctx, mutation{
		hold: append(tastes.hold(), &HoldDetails[Stats]{IDs: []ID{c.Post}, Token: token}),
		write: func(ctx context.Context) error {
			_, err := s.record.DeleteComment(ctx, id, s.now())
			return err
		},
		release: func(bool) []Op {
			return append(tastes.release(s.now()), &ReleaseDetails[Stats]{IDs: []ID{c.Post}, Token: token})
		},
	})
}

// CommentPage is one page of a post's comments.
type CommentPage struct {
	Comments []Comment
	End      Position // the last position examined
	HasEnd   bool
	HasNext  bool
}

// Comments returns a page of a post's comments strictly above a position,
// oldest first, those hidden from r left out. The zero position is the start.
func (s *Service) Comments(ctx context.Context, r *Reader, post ID, first int, above Position) (*CommentPage, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	p := &CommentPage{}
	for refill := 0; ; refill++ {
		limit := first - len(p.Comments) + 1
		if refill > 0 {
			limit = max(limit, 50<<refill)
		}
		batch, err := s.record.Comments(ctx, post, above, limit)
		if err != nil {
			return nil, err
		}
		if p.take(v, batch, first) {
			return p, nil
		}
		if len(batch) < limit {
			return p, nil
		}
		if len(p.Comments) == first || refill == maxRefills {
			p.HasNext = true
			return p, nil
		}
		above = p.End
	}
}

// take examines comments in order and reports whether the page is full with
// some left over.
func (p *CommentPage) take(v view, batch []Comment, first int) bool {
	for i := range batch {
		if len(p.Comments) == first {
			p.HasNext = true
			return true
		}
		p.End, p.HasEnd = batch[i].Position(), true
		if v.seesContentOf(batch[i].Author) {
			p.Comments = append(p.Comments, batch[i])
		}
	}
	return false
}

// FirstComments gives the first page of comments from a post's stats. It
// returns false when the stats do not suffice: then ask [Service.Comments].
func (s *Service) FirstComments(ctx context.Context, r *Reader, st *Stats, first int) (*CommentPage, bool, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, false, err
	}
	p := &CommentPage{}
	full := p.take(v, st.First, first)
	whole := len(st.First) < FirstComments // fewer than are kept: there are no others
	if !full && !whole {
		if len(p.Comments) < first {
			return nil, false, nil
		}
		p.HasNext = st.Comments > int64(len(st.First))
	}
	return p, true, nil
}

// CommentsByID returns the comments of the ids, at the same indexes; nil where
// one is missing, or it or its post is hidden from r.
func (s *Service) CommentsByID(ctx context.Context, r *Reader, ids []ID) ([]*Comment, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	found, err := s.record.CommentsByID(ctx, NewIDSet(append([]ID(nil), ids...)))
	if err != nil {
		return nil, err
	}
	posts := make([]ID, len(found))
	for i := range found {
		posts[i] = found[i].Post
	}
	items, err := s.Posts(ctx, r, posts)
	if err != nil {
		return nil, err
	}
	byID := make(map[ID]*Comment, len(found))
	for i := range found {
		if items[i].Post != nil && v.seesContentOf(found[i].Author) {
			byID[found[i].ID] = &found[i]
		}
	}
	aligned := make([]*Comment, len(ids))
	for i, id := range ids {
		aligned[i] = byID[id]
	}
	return aligned, nil
}
