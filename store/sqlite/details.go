package sqlite

import (
	"encoding/json"
	"fmt"

	"feedgate/feed"
)

// details are what a post shows beside its text, as the file keeps them.
type details struct {
	Media  []media  `json:"media,omitempty"`
	Link   *link    `json:"link,omitempty"`
	Topics []string `json:"topics,omitempty"`
}

type media struct {
	URL    string `json:"url"`
	Alt    string `json:"alt,omitempty"`
	Width  int32  `json:"width,omitempty"`
	Height int32  `json:"height,omitempty"`
}

type link struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

// encodeDetails gives "" for a post that shows text alone.
func encodeDetails(p feed.Post) (string, error) {
	if len(p.Media) == 0 && p.Link == nil && len(p.Topics) == 0 {
		return "", nil
	}
	d := details{Link: (*link)(p.Link), Topics: p.Topics}
	for _, m := range p.Media {
		d.Media = append(d.Media, media(m))
	}
	b, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("post %s: details: %w", p.ID, err)
	}
	return string(b), nil
}

func decodeDetails(b []byte, p *feed.Post) error {
	var d details
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("post %s: details: %w", p.ID, err)
	}
	for _, m := range d.Media {
		p.Media = append(p.Media, feed.Media(m))
	}
	p.Link, p.Topics = (*feed.Link)(d.Link), d.Topics
	return nil
}
