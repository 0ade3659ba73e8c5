package resolvers

import (
	"math"

	"feedgate/feed"
	"feedgate/graph/model"
)

// newPost converts the input of publishPost. What it holds is checked by the domain.
func newPost(in model.PublishPostInput) (feed.NewPost, error) {
	p := feed.NewPost{
		Kind: text(in.Kind), Text: text(in.Text), Topics: in.Topics,
		Attributes: in.Attributes, ClientMutationID: text(in.ClientMutationID),
	}
	for _, m := range in.Media {
		width, err := pixels("width", m.Width)
		if err != nil {
			return p, err
		}
		height, err := pixels("height", m.Height)
		if err != nil {
			return p, err
		}
		p.Media = append(p.Media, feed.Media{URL: m.URL, Alt: text(m.Alt), Width: width, Height: height})
	}
	if in.Link != nil {
		p.Link = &feed.Link{URL: in.Link.URL, Title: text(in.Link.Title)}
	}
	if in.RepostOf != nil {
		id, err := parseID("repostOf", feed.NodePost, *in.RepostOf)
		if err != nil {
			return p, err
		}
		p.RepostOf = id
	}
	if in.Place != nil {
		p.Place = &feed.Place{Latitude: in.Place.Latitude, Longitude: in.Place.Longitude, Precision: feed.PrecisionExact}
		if in.Place.Precision != nil {
			p.Place.Precision = *in.Place.Precision
		}
	}
	return p, nil
}

// pixels reads a width or a height; 0 when it is left out.
func pixels(field string, n *int) (int32, error) {
	if n == nil {
		return 0, nil
	}
	if *n < 1 || *n > math.MaxInt32 {
		return 0, feed.BadInput(field, field+" is a number of pixels, 1 or more")
	}
	return int32(*n), nil
}
