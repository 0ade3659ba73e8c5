package feed

import (
	"context"
	"time"
)

// EventKind says what a gateway event is about.
type EventKind byte

// The kinds of event. Their numbers are part of the stream.
const (
	EventPublished EventKind = 1 // Author published Post; Original is the author of what it reposts
	EventAnnounced EventKind = 2 // the same, told again by a dispatcher
	EventDeleted   EventKind = 3 // Post is gone
	EventRelated   EventKind = 4 // what stands between User and others changed; Author was followed at At, if set
	EventSeen      EventKind = 5 // User has moved a mark
	EventNoticed   EventKind = 6 // User has a new notice, or one less; Post and At are the notice's place, if new
)

// GatewayEvent tells all gateways of a change, once, whatever the number of
// readers that it concerns. Events may be lost along with the hot data, and
// may repeat: what they lead to is derived, they only say when to look.
type GatewayEvent struct {
	Kind     EventKind
	User     ID
	Post     ID
	Author   ID
	Repost   ID    // the original that Post reposts, 0 for none
	Original ID    // its author
	At       int64 // ms
}

// Announce appends events to the capped stream that every gateway reads.
type Announce struct {
	Events []GatewayEvent
}

func (*Announce) op() {}

// EventLog is the stream of gateway events.
type EventLog interface {
	// LastEvent returns the place of the newest event, to read on from.
	LastEvent(ctx context.Context) (string, error)
	// EventsAfter waits up to wait for events after a place, and returns them with
	// the place of the last. Gap means that some after it may have been lost, to
	// the stream's bound or with the stream.
	EventsAfter(ctx context.Context, place string, wait time.Duration) (events []GatewayEvent, next string, gap bool, err error)
}

// Announced is what a dispatcher tells of the post of a duty.
func (d *Duty) Announced() GatewayEvent {
	return GatewayEvent{Kind: EventAnnounced, Post: d.Post, Author: d.Author, Repost: d.Repost, Original: d.Original, At: d.At}
}

func published(p *Post) GatewayEvent {
	return GatewayEvent{Kind: EventPublished, Post: p.ID, Author: p.Author, Repost: p.RepostOf, Original: p.OriginalAuthor, At: p.At}
}
