package feed

import "encoding/json"

// User is a person's public profile.
type User struct {
	ID        ID
	Handle    string // 1 to 30 of a-z 0-9 _
	Name      string
	AvatarURL string
	Bio       string
	CreatedAt int64 // ms since the epoch
}

// UserCounts are a user's public counters. They are derived: the edges are
// the truth, and the sweeper recounts what is marked dirty.
type UserCounts struct {
	Followers, Followees, Posts int64
}

// ProfilePatch is a change of a profile; nil leaves a field as it is.
type ProfilePatch struct {
	Name, AvatarURL, Bio *string
}

// Post is what an author published. It never changes but by being deleted.
type Post struct {
	ID             ID
	Author         ID
	At             int64 // publishedAt, ms since the epoch
	Kind           string
	Text           string
	Media          []Media
	Link           *Link
	RepostOf       ID // the original, 0 for none; never itself a repost
	OriginalAuthor ID // the author of RepostOf, 0 for none
	Topics         []string
	Place          *Place
	Attributes     json.RawMessage // free JSON as it came, nil for none
	DeletedAt      int64           // 0 while it stands
}

// Position gives the place of p in time order.
func (p *Post) Position() Position { return Position{At: p.At, ID: p.ID} }

// Entry gives the list entry of p.
func (p *Post) Entry() Entry { return Entry{At: p.At, ID: p.ID} }

// Quotes reports whether p is a repost with words or pictures of its own, which
// stands without its original.
func (p *Post) Quotes() bool { return p.RepostOf != 0 && (p.Text != "" || len(p.Media) > 0) }

// Media is a picture or a video that a post shows, held elsewhere.
type Media struct {
	URL           string
	Alt           string
	Width, Height int32 // pixels, 0 when unknown
}

// Link is a page that a post points at.
type Link struct {
	URL   string
	Title string
}

// Precision says how much of a place others may know.
type Precision string

// The precisions. The exact position of the last three is for the author alone.
const (
	PrecisionExact         Precision = "EXACT"
	PrecisionNeighbourhood Precision = "NEIGHBOURHOOD" // the centre of its geohash-6 cell
	PrecisionCity          Precision = "CITY"          // the centre of its geohash-4 cell
	PrecisionHidden        Precision = "HIDDEN"        // nothing at all
)

// Place is where a post was written, as its author gave it.
type Place struct {
	Latitude, Longitude float64 // degrees
	Precision           Precision
}

// Stats are the changing facts about a post.
type Stats struct {
	Likes, Comments, Reposts int64
	First                    []Comment // the oldest comments, at most [FirstComments]
}

// FirstComments is how many comments are kept with a post's stats.
const FirstComments = 3

// Comment is an answer under a post.
type Comment struct {
	ID     ID
	Post   ID
	Author ID
	At     int64 // ms since the epoch
	Text   string
}

// Position gives the place of c in time order.
func (c *Comment) Position() Position { return Position{At: c.At, ID: c.ID} }

// Entry is one post in a list in time order. Author is known when the entry
// came from the record, else 0.
type Entry struct {
	At     int64
	ID     ID
	Author ID
}

// Position gives the place of e in time order.
func (e Entry) Position() Position { return Position{At: e.At, ID: e.ID} }

// Relations are all that stands between one reader and others.
type Relations struct {
	Following IDSet // people followed, suspended follows included
	Blocks    IDSet // people that the reader blocks
	BlockedBy IDSet // people who block the reader
	Mutes     IDSet // people whose posts the reader does not want to see
}

// BarKind is what one person puts between themselves and another.
type BarKind string

// The kinds of bar.
const (
	Block BarKind = "block"
	Mute  BarKind = "mute"
)

// Bar is a block or a mute.
type Bar struct {
	Kind BarKind
	By   ID
	Of   ID
	At   int64
}

// Follow is one directed edge.
type Follow struct {
	Follower, Followee ID
	At                 int64
}

// Like is one reader's like of a post. Weight is 1, or what an import says.
type Like struct {
	User, Post ID
	At         int64
	Weight     int64
}

// DeliveryState is how far a post's fan-out has come.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending DeliveryState = "PENDING"
	DeliveryRunning DeliveryState = "RUNNING"
	DeliveryDone    DeliveryState = "DONE"
	DeliveryFailed  DeliveryState = "FAILED"
)

// Delivery is the state of a post's fan-out, for its author.
type Delivery struct {
	State     DeliveryState
	Total     int64 // followers when dispatched
	Delivered int64 // followers of executed tasks, inactive ones included, each once
}

// Lane separates fan-outs, so that a large one does not hold up a small one.
type Lane string

// The lanes.
const (
	LaneSmall Lane = "small"
	LaneBulk  Lane = "bulk"
)

// Duty is the record's note that a post is still to be fanned out.
type Duty struct {
	Post      ID
	Author    ID
	At        int64 // publishedAt of the post
	Lane      Lane
	Op        int64 // raised by each dispatcher that takes the duty over
	Mark      ID    // all followers up to this id have been executed
	Total     int64
	Delivered int64 // followers up to Mark
	Until     int64 // ms since the epoch: nobody else takes the duty before
	State     DeliveryState
	Repost    ID     // the original that the post reposts, 0 for none; stores give it, and take it from the post
	Original  ID     // its author
	Place     *Place // where the post was written, nil for none; stores give it, and take it from the post
}
