package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"feedgate/feed"
)

const (
	// maxName is above what people may choose: bundles bring names of other things.
	maxName   = 2 * feed.MaxName
	maxWeight = 1 << 53
)

// parse turns one line into a feed.User, feed.Follow, feed.Post or feed.Like.
func (im *Importer) parse(line []byte) (any, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("the line is not UTF-8")
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, notJSON(err)
	}
	f := &fields{raw: raw}
	var row any
	switch kind := f.text("type", 1, 20); kind {
	case "user":
		row = im.user(f)
	case "follow":
		row = im.follow(f)
	case "post":
		row = im.post(f)
	case "like":
		row = im.like(f)
	case "":
	default:
		return nil, fmt.Errorf("the type %q is none of user, follow, post, like", kind)
	}
	if f.err != nil {
		return nil, f.err
	}
	for name := range f.raw {
		im.report.ignore(name)
	}
	return row, nil
}

func notJSON(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("the line is not JSON: %w, after %d bytes", syntax, syntax.Offset)
	}
	return errors.New("the line is JSON, but not an object")
}

func (im *Importer) user(f *fields) feed.User {
	u := feed.User{
		ID:        f.id("id"),
		Handle:    f.text("handle", 1, feed.MaxHandle),
		Name:      f.text("name", 0, maxName),
		AvatarURL: f.text("avatarUrl", 0, feed.MaxURL),
		Bio:       f.text("bio", 0, feed.MaxBio),
		CreatedAt: im.past(f, "at"),
	}
	if feed.CheckHandle(u.Handle) != nil {
		f.fail("handle", "must have 1 to 30 characters out of a-z, 0-9 and _")
	}
	return u
}

func (im *Importer) follow(f *fields) feed.Follow {
	row := feed.Follow{Follower: f.id("follower"), Followee: f.id("followee"), At: im.past(f, "at")}
	if row.Follower == row.Followee {
		f.fail("followee", "is the follower: nobody follows themselves")
	}
	return row
}

func (im *Importer) like(f *fields) feed.Like {
	return feed.Like{User: f.id("user"), Post: f.id("post"), At: im.past(f, "at"), Weight: f.whole("weight", 1, 1, maxWeight)}
}

func (im *Importer) post(f *fields) feed.Post {
	post := feed.Post{
		ID:         f.id("id"),
		Author:     f.id("author"),
		Kind:       feed.KindOriginal,
		Text:       f.text("text", 0, feed.MaxText),
		Place:      f.place(),
		Attributes: f.free("attributes", feed.MaxAttributes),
	}
	at, given := f.time("at")
	if !given {
		f.fail("at", "is missing: a post needs its time")
	}
	post.At = at
	var dropped int64
	post.Topics, dropped = f.topics()
	if f.err == nil {
		im.report.Trimmed += dropped
		if at > im.cfg.Clock.Now().UnixMilli() {
			im.future = true
		}
	}
	return post
}

// past reads an optional time; without one, or with one from the future, it is now.
func (im *Importer) past(f *fields, name string) int64 {
	now := im.cfg.Clock.Now().UnixMilli()
	at, given := f.time(name)
	if !given || at > now {
		return now
	}
	return at
}

// fields takes the fields of one line out of raw; what stays there is unknown.
// The first thing that is wrong is kept in err, and the rest reads as zero.
type fields struct {
	raw map[string]json.RawMessage
	err error
}

func (f *fields) fail(name, reason string) {
	if f.err == nil {
		f.err = fmt.Errorf("%s %s", name, reason)
	}
}

// take removes a field; it reports false for one that is absent or null.
func (f *fields) take(name string) (json.RawMessage, bool) {
	value, ok := f.raw[name]
	delete(f.raw, name)
	return value, ok && !bytes.Equal(value, []byte("null"))
}

func (f *fields) text(name string, low, high int) string {
	raw, ok := f.take(name)
	if !ok {
		if low > 0 {
			f.fail(name, "is missing")
		}
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		f.fail(name, "must be a string")
		return ""
	}
	if n := utf8.RuneCountInString(text); n < low || n > high {
		f.fail(name, fmt.Sprintf("has %d characters; %d to %d are allowed", n, low, high))
	}
	return text
}

func (f *fields) id(name string) feed.ID {
	digits := f.text(name, 1, 20)
	if digits == "" {
		return 0
	}
	id, err := feed.ParseID(digits)
	if err != nil {
		f.fail(name, "must be a whole number from 1 to 9223372036854775807, as a string")
	}
	return id
}

func (f *fields) whole(name string, absent, low, high int64) int64 {
	raw, ok := f.take(name)
	if !ok {
		return absent
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < low || n > high {
		f.fail(name, fmt.Sprintf("must be a whole number from %d to %d", low, high))
		return absent
	}
	return n
}

func (f *fields) time(name string) (int64, bool) {
	text := f.text(name, 0, 40)
	if text == "" {
		return 0, false
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		f.fail(name, "must be a time such as 2010-01-02T03:04:05Z")
		return 0, false
	}
	return at.UnixMilli(), true
}

// free keeps any JSON as it came.
func (f *fields) free(name string, maxBytes int) json.RawMessage {
	raw, ok := f.take(name)
	if !ok {
		return nil
	}
	if len(raw) > maxBytes {
		f.fail(name, fmt.Sprintf("has %d bytes; %d are allowed", len(raw), maxBytes))
		return nil
	}
	return bytes.Clone(raw)
}

func (f *fields) place() *feed.Place {
	raw, ok := f.take("place")
	if !ok {
		return nil
	}
	var place map[string]json.RawMessage
	if json.Unmarshal(raw, &place) != nil {
		f.fail("place", `must be like {"lat": 40.7, "lon": -73.8}`)
		return nil
	}
	inner := &fields{raw: place}
	p := &feed.Place{
		Latitude:  inner.degrees("lat", 90),
		Longitude: inner.degrees("lon", 180),
		Precision: feed.PrecisionExact,
	}
	if inner.err != nil {
		f.fail("place", inner.err.Error())
	}
	for name, value := range inner.raw {
		f.raw["place."+name] = value // unknown as well
	}
	return p
}

func (f *fields) degrees(name string, most float64) float64 {
	raw, ok := f.take(name)
	var degrees float64
	switch {
	case !ok:
		f.fail(name, "is missing")
	case json.Unmarshal(raw, &degrees) != nil:
		f.fail(name, "must be a number of degrees")
	case degrees < -most || degrees > most:
		f.fail(name, fmt.Sprintf("is %g, which is outside the globe: %g to %g", degrees, -most, most))
	}
	return degrees
}

// topics reads the topics, and how many had to be left out for the bounds.
func (f *fields) topics() ([]string, int64) {
	raw, ok := f.take("topics")
	if !ok {
		return nil, 0
	}
	var all []string
	if json.Unmarshal(raw, &all) != nil {
		f.fail("topics", "must be a list of strings")
		return nil, 0
	}
	var kept []string
	for _, topic := range all {
		if n := utf8.RuneCountInString(topic); n >= 1 && n <= feed.MaxTopic && len(kept) < feed.MaxTopics {
			kept = append(kept, topic)
		}
	}
	return kept, int64(len(all) - len(kept))
}
