package model

import "feedgate/feed/geo"

// NearbyFeedConnection is a page of the posts near a place.
type NearbyFeedConnection struct {
	*PostConnection
	Near geo.Point
}

// NearbyFeedEdge is a post near a place.
type NearbyFeedEdge struct {
	PostEdge
	Near geo.Point
}

// Edges gives the posts with their cursors and distances.
func (c *NearbyFeedConnection) Edges() []NearbyFeedEdge {
	edges := make([]NearbyFeedEdge, len(c.Posts))
	for i, e := range c.PostConnection.Edges() {
		edges[i] = NearbyFeedEdge{PostEdge: e, Near: c.Near}
	}
	return edges
}

// DistanceMeters gives how far away the post's published position is; nil when
// the post could not be shown.
func (e *NearbyFeedEdge) DistanceMeters() *int64 {
	if e.Post == nil {
		return nil
	}
	metres, ok := e.Post.Data.DistanceTo(e.Near)
	if !ok {
		return nil
	}
	return &metres
}
