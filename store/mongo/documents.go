package mongo

import (
	"encoding/json"

	"feedgate/feed"
	"feedgate/feed/geo"
)

// postDoc is a document of posts.
type postDoc struct {
	ID             feed.ID      `bson:"_id"`
	Author         feed.ID      `bson:"author"`
	At             int64        `bson:"publishedAt"`
	Kind           string       `bson:"kind"`
	Text           string       `bson:"text"`
	Media          []mediaDoc   `bson:"media,omitempty"`
	Link           *linkDoc     `bson:"link,omitempty"`
	RepostOf       feed.ID      `bson:"repostOf,omitempty"`
	OriginalAuthor feed.ID      `bson:"originalAuthor,omitempty"`
	Topics         []string     `bson:"topics,omitempty"`
	Place          *placeDoc    `bson:"place,omitempty"`
	Attributes     string       `bson:"attributes,omitempty"` // JSON, as it came
	Counters       postCounters `bson:"counters"`
	First          []firstDoc   `bson:"first,omitempty"`
	FirstRev       int64        `bson:"firstRev"` // raised by each change of the comments
	DeletedAt      int64        `bson:"deletedAt"`
	Delivery       deliveryDoc  `bson:"delivery"`
	Duty           *int64       `bson:"duty,omitempty"`
}

type mediaDoc struct {
	URL    string `bson:"url"`
	Alt    string `bson:"alt,omitempty"`
	Width  int32  `bson:"width,omitempty"`
	Height int32  `bson:"height,omitempty"`
}

type linkDoc struct {
	URL   string `bson:"url"`
	Title string `bson:"title,omitempty"`
}

type placeDoc struct {
	Latitude  float64        `bson:"latitude"`
	Longitude float64        `bson:"longitude"`
	Precision feed.Precision `bson:"precision"`
	Cell      geo.Cell       `bson:"cell"` // of the published position, "" for none
}

// placeDocOf gives nil for a post without a place.
func placeDocOf(p *feed.Post) *placeDoc {
	if p.Place == nil {
		return nil
	}
	return &placeDoc{Latitude: p.Place.Latitude, Longitude: p.Place.Longitude, Precision: p.Place.Precision, Cell: p.Cell()}
}

func (d *placeDoc) place() *feed.Place {
	if d == nil {
		return nil
	}
	return &feed.Place{Latitude: d.Latitude, Longitude: d.Longitude, Precision: d.Precision}
}

type postCounters struct {
	Likes    int64 `bson:"likes"`
	Comments int64 `bson:"comments"`
	Reposts  int64 `bson:"reposts"`
}

// The posts' counters.
const (
	countLikes    = "counters.likes"
	countComments = "counters.comments"
	countReposts  = "counters.reposts"
)

// firstDoc is a comment as it is kept with its post.
type firstDoc struct {
	ID     feed.ID `bson:"id"`
	Author feed.ID `bson:"author"`
	At     int64   `bson:"at"`
	Text   string  `bson:"text"`
}

type deliveryDoc struct {
	State     feed.DeliveryState `bson:"state"`
	Lane      feed.Lane          `bson:"lane,omitempty"`
	Op        int64              `bson:"op"`
	Mark      feed.ID            `bson:"mark"`
	Total     int64              `bson:"total"`
	Delivered int64              `bson:"delivered"`
}

// postDocOf makes a document; a nil duty is none.
func postDocOf(p feed.Post, d *feed.Duty) postDoc {
	doc := postDoc{
		ID: p.ID, Author: p.Author, At: p.At, Kind: p.Kind, Text: p.Text,
		Link: (*linkDoc)(p.Link), RepostOf: p.RepostOf, OriginalAuthor: p.OriginalAuthor, Topics: p.Topics,
		Place: placeDocOf(&p), Attributes: string(p.Attributes),
		Delivery: deliveryDoc{State: feed.DeliveryDone},
	}
	for _, m := range p.Media {
		doc.Media = append(doc.Media, mediaDoc(m))
	}
	if d != nil {
		doc.Delivery = deliveryDoc{State: feed.DeliveryPending, Lane: d.Lane, Total: d.Total}
		doc.Duty = &d.Until
	}
	return doc
}

func (d *postDoc) row() feed.PostRow {
	row := feed.PostRow{
		Post: feed.Post{
			ID: d.ID, Author: d.Author, At: d.At, Kind: d.Kind, Text: d.Text,
			Link: (*feed.Link)(d.Link), RepostOf: d.RepostOf, OriginalAuthor: d.OriginalAuthor, Topics: d.Topics,
			Place: d.Place.place(), DeletedAt: d.DeletedAt,
		},
		Stats: feed.Stats{Likes: d.Counters.Likes, Comments: d.Counters.Comments, Reposts: d.Counters.Reposts},
		Delivery: feed.Delivery{
			State: d.Delivery.State, Total: d.Delivery.Total, Delivered: d.Delivery.Delivered,
		},
	}
	if d.Attributes != "" {
		row.Attributes = json.RawMessage(d.Attributes)
	}
	for _, m := range d.Media {
		row.Media = append(row.Media, feed.Media(m))
	}
	for _, c := range d.First {
		row.First = append(row.First, feed.Comment{ID: c.ID, Post: d.ID, Author: c.Author, At: c.At, Text: c.Text})
	}
	return row
}

// duty gives the unfinished duty of a document that has one.
func (d *postDoc) duty() feed.Duty {
	duty := feed.Duty{
		Post: d.ID, Author: d.Author, At: d.At, Lane: d.Delivery.Lane, Op: d.Delivery.Op, Mark: d.Delivery.Mark,
		Total: d.Delivery.Total, Delivered: d.Delivery.Delivered, State: d.Delivery.State,
		Repost: d.RepostOf, Original: d.OriginalAuthor, Place: d.Place.place(),
	}
	if d.Duty != nil {
		duty.Until = *d.Duty
	}
	return duty
}
