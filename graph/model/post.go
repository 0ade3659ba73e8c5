package model

import (
	"encoding/json"

	"feedgate/feed"
)

// Post is a post, as the reader may see it.
type Post struct {
	Data     *feed.Post
	Stats    *feed.Stats // nil when not loaded
	Original *Post       // of a repost; nil when not loaded, gone or hidden
	Shelf    *Shelf
}

// IsNode marks a post as a Node.
func (*Post) IsNode() {}

// ID gives the post's id.
func (p *Post) ID() feed.NodeID { return feed.NodeID{Kind: feed.NodePost, ID: p.Data.ID} }

// Author gives who published it; nil when hidden from the reader.
func (p *Post) Author() (*User, error) { return p.Shelf.User(p.Data.Author) }

// Kind gives how the post is to be read.
func (p *Post) Kind() string { return p.Data.Kind }

// Text gives the text.
func (p *Post) Text() string { return p.Data.Text }

// Media gives pictures and videos in order.
func (p *Post) Media() []Media {
	media := make([]Media, len(p.Data.Media))
	for i := range p.Data.Media {
		media[i] = Media{Media: &p.Data.Media[i]}
	}
	return media
}

// Link gives the page that the post points at; nil for none.
func (p *Post) Link() *feed.Link { return p.Data.Link }

// RepostOf gives the original of a repost; nil when gone or hidden.
func (p *Post) RepostOf() (*Post, error) {
	var err error
	if p.Data.RepostOf != 0 {
		err = p.Shelf.check(PartOriginal)
	}
	return p.Original, err
}

// Topics gives the topics that the author named.
func (p *Post) Topics() []string { return p.Data.Topics }

// Attributes gives the JSON that came with the post.
func (p *Post) Attributes() json.RawMessage { return p.Data.Attributes }

// PublishedAt gives the server's time of publication in ms.
func (p *Post) PublishedAt() int64 { return p.Data.At }

// Place gives where the post was written, as far as the reader may know.
func (p *Post) Place() *feed.Place {
	if p.Data.Place == nil {
		return nil
	}
	place, ok := p.Shelf.Place(p.Data)
	if !ok {
		return nil
	}
	return &place
}

// LikeCount gives the number of likes.
func (p *Post) LikeCount() (*int64, error) {
	st, err := p.stats()
	return &st.Likes, err
}

// CommentCount gives the number of comments.
func (p *Post) CommentCount() (*int64, error) {
	st, err := p.stats()
	return &st.Comments, err
}

// RepostCount gives the number of standing reposts.
func (p *Post) RepostCount() (*int64, error) {
	st, err := p.stats()
	return &st.Reposts, err
}

// stats never gives nil.
func (p *Post) stats() (*feed.Stats, error) {
	if p.Stats != nil {
		return p.Stats, nil
	}
	if err := p.Shelf.check(PartStats); err != nil {
		return &feed.Stats{}, err
	}
	return &feed.Stats{}, feed.Unavailable("the counters of this post can't be read now: try again", nil)
}

// ViewerHasLiked tells whether the reader likes the post.
func (p *Post) ViewerHasLiked() (*bool, error) {
	yes := p.Shelf.Liked.Has(p.Data.ID)
	return &yes, p.Shelf.check(PartLiked)
}

// ViewerHasReposted tells whether a repost of the post by the reader stands.
func (p *Post) ViewerHasReposted() (*bool, error) {
	yes := p.Shelf.Reposted.Has(p.Data.ID)
	return &yes, p.Shelf.check(PartReposted)
}
