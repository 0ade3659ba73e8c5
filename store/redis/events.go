package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
)

var _ feed.EventLog = (*Hot)(nil)

const (
	// eventsKey is the stream that every gateway reads.
	eventsKey = "events"
	// eventsKept is how many events are kept at most, about: a gateway that falls
	// behind further derives its readers anew.
	eventsKept = 100_000
	// eventsAtOnce is how many events one command reads.
	eventsAtOnce = 1_000
	fieldEvent   = "e"
	noPlace      = "0-0"
)

func (h *Hot) announce(b *batch, op *feed.Announce) {
	for i := range op.Events {
		b.text("xadd", eventsKey, "maxlen", "~", eventsKept, "*", fieldEvent, eventText(&op.Events[i]))
	}
}

func eventText(e *feed.GatewayEvent) string {
	return fmt.Sprintf("%d %d %d %d %d %d %d", e.Kind, e.User, e.Post, e.Author, e.Repost, e.Original, e.At)
}

func parseEvent(text string) (e feed.GatewayEvent, ok bool) {
	n, err := fmt.Sscanf(text, "%d %d %d %d %d %d %d", &e.Kind, &e.User, &e.Post, &e.Author, &e.Repost, &e.Original, &e.At)
	return e, err == nil && n == 7
}

// LastEvent implements [feed.EventLog].
func (h *Hot) LastEvent(ctx context.Context) (string, error) {
	last, err := h.client.XRevRangeN(ctx, eventsKey, "+", "-", 1).Result()
	h.onRoundTrip(1)
	if err != nil {
		return "", unavailable("xrevrange", err)
	}
	if len(last) == 0 {
		return noPlace, nil
	}
	return last[0].ID, nil
}

// EventsAfter implements [feed.EventLog].
func (h *Hot) EventsAfter(ctx context.Context, place string, wait time.Duration) (events []feed.GatewayEvent, next string, gap bool, err error) {
	block := min(wait, slice)
	if block <= 0 {
		block = -1
	}
	got, err := h.waiting.XRead(ctx, &goredis.XReadArgs{
		Streams: []string{eventsKey, place}, Count: eventsAtOnce, Block: block,
	}).Result()
	h.onRoundTrip(1)
	none := errors.Is(err, goredis.Nil) || (err != nil && strings.Contains(err.Error(), "UNBLOCKED"))
	if err != nil && !none {
		return nil, place, false, unavailable("xread", err)
	}
	if none || len(got) == 0 || len(got[0].Messages) == 0 {
		// Nothing came: maybe because the stream was lost and began again before our place.
		gap, err = h.cutAfter(ctx, place)
		return nil, place, gap, err
	}
	messages := got[0].Messages
	events = make([]feed.GatewayEvent, 0, len(messages))
	for _, m := range messages {
		text, _ := m.Values[fieldEvent].(string)
		if e, ok := parseEvent(text); ok {
			events = append(events, e)
		}
	}
	next = messages[len(messages)-1].ID
	// A stream that was lost and began anew goes on after our place as if nothing
	// had happened.
	if gap, err = h.cutAfter(ctx, place); err != nil {
		return nil, place, false, err
	}
	return events, next, gap, nil
}

// cutAfter reports whether the stream's bound may have cut off entries after a
// place: the entry at the place is not there any more.
func (h *Hot) cutAfter(ctx context.Context, place string) (bool, error) {
	if place == noPlace {
		return false, nil
	}
	at, err := h.client.XRangeN(ctx, eventsKey, place, place, 1).Result()
	h.onRoundTrip(1)
	if err != nil {
		return false, unavailable("xrange", err)
	}
	return len(at) == 0, nil
}
