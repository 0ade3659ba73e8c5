package model

import "feedgate/feed"

// Media is a picture or a video that a post shows.
type Media struct{ *feed.Media }

// Width gives the width in pixels; nil when unknown.
func (m Media) Width() *int64 { return pixels(m.Media.Width) }

// Height gives the height in pixels; nil when unknown.
func (m Media) Height() *int64 { return pixels(m.Media.Height) }

func pixels(n int32) *int64 {
	if n == 0 {
		return nil
	}
	p := int64(n)
	return &p
}
