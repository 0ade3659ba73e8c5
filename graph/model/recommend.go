package model

import "feedgate/feed"

// RecommendFeedConnection is a page of recommended posts.
type RecommendFeedConnection struct {
	*PostConnection
	Reasons []feed.Reason // of the posts, at their indexes
}

// RecommendFeedEdge is a recommended post.
type RecommendFeedEdge struct {
	PostEdge
	Why feed.Reason
}

// RecommendReason is why a post is recommended.
type RecommendReason struct{ Data feed.Reason }

// Edges gives the posts with their cursors and reasons.
func (c *RecommendFeedConnection) Edges() []RecommendFeedEdge {
	edges := make([]RecommendFeedEdge, len(c.Posts))
	for i, e := range c.PostConnection.Edges() {
		edges[i] = RecommendFeedEdge{PostEdge: e, Why: c.Reasons[i]}
	}
	return edges
}

// Reason gives why the post is recommended.
func (e *RecommendFeedEdge) Reason() *RecommendReason { return &RecommendReason{Data: e.Why} }

// Kind gives what spoke for the post most.
func (r *RecommendReason) Kind() feed.ReasonKind { return r.Data.Kind }

// Topic gives the topic that the reader likes; nil for other reasons.
func (r *RecommendReason) Topic() *string {
	if r.Data.Topic == "" {
		return nil
	}
	return &r.Data.Topic
}
