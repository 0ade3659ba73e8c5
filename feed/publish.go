package feed

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// NewPost is what an author hands in.
type NewPost struct {
	Kind             string // "" : follows from the content
	Text             string
	Media            []Media
	Link             *Link
	RepostOf         ID // a repost of a repost is one of its original
	Topics           []string
	Place            *Place
	Attributes       json.RawMessage
	ClientMutationID string // "" : not safe to repeat
}

// PublishPost publishes a post. From the moment it returns, the post is in
// every follower's feed, delivered or not: the author is marked in flight before
// and after the post is written, together with its duty, to the record.
//
// With a ClientMutationID the same input gives the same post, once; the same
// id with another input is a CONFLICT. UNAVAILABLE when nothing was written, or
// when the post stands but the hot data could not be told; the text says which.
func (s *Service) PublishPost(ctx context.Context, r *Reader, in NewPost) (*Post, error) {
	if _, err := s.RequireProfile(ctx, r); err != nil {
		return nil, err
	}
	hash := in.hash()
	if err := s.kinds.parse(&in); err != nil {
		return nil, err
	}
	if err := CheckPost(&in); err != nil {
		return nil, err
	}
	var originalAuthor ID
	if in.RepostOf != 0 {
		original, err := s.original(ctx, r, in.RepostOf)
		if err != nil {
			return nil, err
		}
		in.RepostOf, originalAuthor = original.ID, original.Author
	}
	id, err := s.ids.NextID()
	if err != nil {
		return nil, err
	}
	post := &Post{
		ID: id, Author: r.id, Kind: in.Kind, Text: in.Text, Media: in.Media, Link: in.Link,
		RepostOf: in.RepostOf, OriginalAuthor: originalAuthor, Topics: in.Topics, Place: in.Place, Attributes: in.Attributes,
	}
	pub := publishing{s: s, post: post, clientID: in.ClientMutationID, hash: hash, token: newToken(), lane: LaneSmall}
	if err := s.mutate(ctx, mutation{hold: pub.hold(), write: pub.write, release: pub.release}); err != nil {
		return nil, err
	}
	return pub.post, nil
}

// original is the post that a repost of id shows. NOT_FOUND, named for the field.
func (s *Service) original(ctx context.Context, r *Reader, id ID) (*Post, error) {
	items, err := s.Posts(ctx, r, []ID{id})
	if err != nil {
		return nil, err
	}
	switch {
	case items[0].Post == nil:
		return nil, &Error{Code: CodeNotFound, Field: "repostOf", Text: "there is no such post to repost, or you may not see it"}
	case items[0].Original != nil:
		return items[0].Original, nil
	case items[0].Post.RepostOf != 0:
		return nil, &Error{Code: CodeNotFound, Field: "repostOf", Text: "what this post reposts is gone, or you may not see it"}
	default:
		return items[0].Post, nil
	}
}

func (in *NewPost) hash() []byte {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %q %q %d %q %q", in.Kind, in.Text, in.Media, in.RepostOf, in.Topics, in.Attributes)
	if in.Link != nil {
		_, _ = fmt.Fprintf(h, " link %q", *in.Link)
	}
	if in.Place != nil {
		_, _ = fmt.Fprintf(h, " place %v", *in.Place)
	}
	return h.Sum(nil)
}

// publishing is one publish under way.
type publishing struct {
	s        *Service
	post     *Post
	clientID string
	hash     []byte
	token    Token
	lane     Lane
	outbox   HoldList
	notices  []GatewayEvent
	repeated bool // the post was on the record before
}

func (p *publishing) hold() []Op {
	p.outbox = HoldList{List: List{Kind: Outbox, Owner: p.post.Author}, Token: p.token}
	ops := []Op{
		&MarkInFlight{Author: p.post.Author, Now: p.s.now()},
		&p.outbox,
		&HoldDetails[Post]{IDs: []ID{p.post.ID}, Token: p.token},
		&HoldDetails[Stats]{IDs: p.statsHeld(), Token: p.token},
		&HoldDetails[UserCounts]{IDs: []ID{p.post.Author}, Token: p.token},
	}
	return append(ops, p.tastes().hold()...)
}

// tastes are the author's, which a repost changes.
func (p *publishing) tastes() engaging {
	if p.post.RepostOf == 0 {
		return engaging{}
	}
	return engaging{users: []ID{p.post.Author}, token: p.token}
}

// statsHeld are the posts whose counters the publish touches.
func (p *publishing) statsHeld() []ID {
	if p.post.RepostOf != 0 {
		return []ID{p.post.RepostOf}
	}
	return nil
}

func (p *publishing) write(ctx context.Context) error {
	rec := p.s.record
	if p.clientID != "" {
		object, err := rec.Claim(ctx, Claim{
			Author: p.post.Author, Kind: NodePost, ClientID: p.clientID, Object: p.post.ID, Hash: p.hash,
		})
		if err != nil {
			return err
		}
		if object != p.post.ID {
			return p.resume(ctx, object)
		}
	}
	return p.insert(ctx)
}

// resume finds the post of an earlier try, or writes it if that try got no
// further than its claim.
func (p *publishing) resume(ctx context.Context, object ID) error {
	rows, err := p.s.record.PostsByID(ctx, []ID{object})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		p.post.ID = object
		return p.insert(ctx)
	}
	*p.post = rows[0].Post
	p.repeated = true
	if p.post.DeletedAt != 0 {
		return &Error{Code: CodeNotFound, Field: "clientMutationId", Text: "the post that was published with this clientMutationId has been deleted since: use a new one"}
	}
	return nil
}

func (p *publishing) insert(ctx context.Context) error {
	stamp, err := p.s.record.StampPost(ctx, p.post.Author, p.s.now())
	if err != nil {
		return err
	}
	if stamp.Followers >= p.s.set.BigAuthorFollowers {
		p.lane = LaneBulk
	}
	p.post.At = stamp.At
	inserted, err := p.s.record.InsertPost(ctx, *p.post, Duty{
		Post: p.post.ID, Author: p.post.Author, At: stamp.At, Lane: p.lane, Until: p.s.now(), State: DeliveryPending,
	})
	if err != nil {
		return err
	}
	if !inserted {
		return p.resume(ctx, p.post.ID) // another try with the same client id was faster
	}
	return p.notify(ctx)
}

// notify writes the notices to whom the post mentions, and whose post it reposts.
func (p *publishing) notify(ctx context.Context) error {
	mentioned, err := p.s.mentions(ctx, p.post.Text)
	if err != nil {
		return err
	}
	edges := make([]NoticeEdge, 0, len(mentioned)+1)
	if p.post.RepostOf != 0 {
		edges = append(edges, NoticeEdge{To: p.post.OriginalAuthor, Kind: NoticeReposted, Subject: p.post.RepostOf, Actor: p.post.Author})
	}
	for _, id := range mentioned {
		edges = append(edges, NoticeEdge{To: id, Kind: NoticeMentioned, Subject: p.post.ID, Actor: p.post.Author})
	}
	p.notices, err = p.s.notify(ctx, edges...)
	return err
}

// release marks the author once more: a publish slower than the marks'
// grace may have lost the first one. It puts the post into outbox, cache and the
// cells around its place, and rings for the dispatchers.
func (p *publishing) release(written bool) []Op {
	commit := &CommitList{List: p.outbox.List, Token: p.token, Was: p.outbox.Was}
	ops := []Op{
		&MarkInFlight{Author: p.post.Author, Now: p.s.now()},
		commit,
		&ReleaseDetails[Stats]{IDs: p.statsHeld(), Token: p.token},
		&ReleaseDetails[UserCounts]{IDs: []ID{p.post.Author}, Token: p.token},
	}
	own := &ReleaseDetails[Post]{IDs: []ID{p.post.ID}, Token: p.token}
	ops = append(append(ops, own), p.tastes().release(p.s.now())...)
	if !written {
		commit.Was = "" // it may stand or not: the outbox must be read anew
		return ops
	}
	commit.Entries = []Entry{p.post.Entry()}
	if !p.repeated {
		own.Values = []Post{*p.post}
	}
	if p.post.RepostOf == 0 || p.post.Quotes() {
		ops = append(ops, &PutOnBoard{
			Board: Fresh(), Ranked: []Ranked{{Post: p.post.ID, Score: float64(p.post.At)}}, Keep: freshKept, Slack: freshSlack,
		})
	}
	if near := NearbyEntry(p.post.Entry(), p.post.Place, p.s.set.NearbyCellLength, p.s.set.NearbyCellAge, p.s.now()); near != nil {
		ops = append(ops, near)
	}
	return append(ops,
		&TrimList{List: p.outbox.List, Keep: p.s.set.OutboxLength, Slack: p.s.set.OutboxLength / 2},
		&Ring{Lane: p.lane, Post: p.post.ID},
		&Announce{Events: append(p.notices, published(p.post))})
}

// DeletePost deletes r's own post. It is hidden everywhere when this returns,
// whatever the number of deliveries. FORBIDDEN for others' posts, NOT_FOUND.
func (s *Service) DeletePost(ctx context.Context, r *Reader, id ID) error {
	if _, err := s.RequireProfile(ctx, r); err != nil {
		return err
	}
	rows, err := s.record.PostsByID(ctx, []ID{id})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return NotFound("post")
	}
	post := rows[0].Post
	if post.Author != r.id {
		if _, err := s.visiblePost(ctx, r, id); err != nil {
			return err
		}
		return Forbidden("only its author can delete a post")
	}
	if post.DeletedAt != 0 {
		return NotFound("post")
	}
	token := newToken()
	var originals []ID
	tastes := engaging{token: token}
	if post.RepostOf != 0 {
		originals, tastes.users = []ID{post.RepostOf}, []ID{r.id}
	}
	return s.mutate(ctx, mutation{
		hold: append(tastes.hold(),
			&HoldDetails[Post]{IDs: []ID{id}, Token: token},
			&HoldDetails[Stats]{IDs: originals, Token: token},
			&HoldDetails[UserCounts]{IDs: []ID{r.id}, Token: token}),
		write: func(ctx context.Context) error {
			_, err := s.record.DeletePost(ctx, id, s.now())
			return err
		},
		release: func(written bool) []Op {
			return append(tastes.release(s.now()),
				&ReleaseDetails[Post]{IDs: []ID{id}, Token: token, Gone: written},
				&ReleaseDetails[Stats]{IDs: originals, Token: token},
				&ReleaseDetails[UserCounts]{IDs: []ID{r.id}, Token: token},
				&TakeOffBoard{Board: Fresh(), Posts: []ID{id}},
				&Announce{Events: []GatewayEvent{{Kind: EventDeleted, Post: id, Author: r.id}}})
		},
	})
}
