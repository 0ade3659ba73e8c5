package redis

import (
	"encoding/json"

	"google.golang.org/protobuf/encoding/protowire"

	"feedgate/feed"
)

// tombstoneMark starts the value of a detail whose post is gone. No field's
// tag has this byte: its wire type would end a group that nothing began.
const tombstoneMark = 'T'

// appendTombstone makes the value that stands for a deleted detail.
func appendTombstone(b []byte, gen int64) []byte {
	return appendGeneration(append(b, tombstoneMark), gen)
}

// appendDetail makes the value of a detail.
func appendDetail[T feed.Detail](b []byte, gen int64, v *T) []byte {
	b = appendGeneration(b, gen)
	switch v := any(v).(type) {
	case *feed.Post:
		return appendPost(b, v)
	case *feed.Stats:
		return appendStats(b, v)
	case *feed.User:
		return appendUser(b, v)
	case *feed.UserCounts:
		b = appendInt(b, 2, v.Followers)
		b = appendInt(b, 3, v.Followees)
		return appendInt(b, 4, v.Posts)
	case *feed.Tastes:
		return appendTastes(b, v)
	case *feed.Views:
		return appendViews(b, v)
	}
	return b
}

// decodeDetail reads the value of the detail of id into v. What cannot be read,
// or was written under another generation, is missing.
func decodeDetail[T feed.Detail](s string, gen int64, id feed.ID, v *T) feed.DetailState {
	state := feed.Found
	if s != "" && s[0] == tombstoneMark {
		state = feed.Gone
		s = s[1:]
	}
	r := reader{s: s}
	if r.header() != gen || r.bad {
		return feed.Missing
	}
	if state == feed.Gone {
		return state
	}
	switch v := any(v).(type) {
	case *feed.Post:
		decodePost(&r, id, v)
	case *feed.Stats:
		decodeStats(&r, id, v)
	case *feed.User:
		decodeUser(&r, id, v)
	case *feed.UserCounts:
		decodeUserCounts(&r, v)
	case *feed.Tastes:
		decodeTastes(&r, id, v)
	case *feed.Views:
		decodeViews(&r, v)
	}
	if r.bad {
		var zero T
		*v = zero
		return feed.Missing
	}
	return feed.Found
}

func appendPost(b []byte, p *feed.Post) []byte {
	b = appendInt(b, 2, int64(p.Author))
	b = appendInt(b, 3, p.At)
	b = appendText(b, 4, p.Kind)
	b = appendText(b, 5, p.Text)
	for i := range p.Media {
		m := &p.Media[i]
		at := len(b)
		b = appendText(b, 1, m.URL)
		b = appendText(b, 2, m.Alt)
		b = appendInt(b, 3, int64(m.Width))
		b = appendInt(b, 4, int64(m.Height))
		b = nest(b, at, 6)
	}
	if p.Link != nil {
		at := len(b)
		b = appendText(b, 1, p.Link.URL)
		b = appendText(b, 2, p.Link.Title)
		b = nest(b, at, 7)
	}
	b = appendInt(b, 8, int64(p.RepostOf))
	b = appendInt(b, 9, int64(p.OriginalAuthor))
	for _, topic := range p.Topics {
		b = protowire.AppendTag(b, 10, protowire.BytesType)
		b = protowire.AppendString(b, topic)
	}
	if p.Place != nil {
		at := len(b)
		b = appendDouble(b, 1, p.Place.Latitude)
		b = appendDouble(b, 2, p.Place.Longitude)
		b = appendText(b, 3, string(p.Place.Precision))
		b = nest(b, at, 11)
	}
	if p.Attributes != nil {
		b = protowire.AppendTag(b, 12, protowire.BytesType)
		b = protowire.AppendBytes(b, p.Attributes)
	}
	return appendInt(b, 13, p.DeletedAt)
}

// nest makes what was appended since at the nested message of a field.
func nest(b []byte, at int, n protowire.Number) []byte {
	size := len(b) - at
	var head [2 * protowireMax]byte
	h := protowire.AppendTag(head[:0], n, protowire.BytesType)
	h = protowire.AppendVarint(h, uint64(size)) //nolint:gosec // a length
	b = append(b, h...)
	copy(b[at+len(h):], b[at:at+size])
	copy(b[at:], h)
	return b
}

// protowireMax is the length of the longest varint.
const protowireMax = 10

func decodePost(r *reader, id feed.ID, p *feed.Post) {
	p.ID = id
	for f := r.field(); f != 0; f = r.field() {
		switch f {
		case 2<<3 | asVarint:
			p.Author = feed.ID(r.int())
		case 3<<3 | asVarint:
			p.At = r.int()
		case 4<<3 | asText:
			p.Kind = r.text()
		case 5<<3 | asText:
			p.Text = r.text()
		case 6<<3 | asMessage:
			if p.Media == nil {
				p.Media = make([]feed.Media, 0, r.run(f))
			}
			p.Media = append(p.Media, decodeMedia(r))
		case 7<<3 | asMessage:
			p.Link = decodeLink(r)
		case 8<<3 | asVarint:
			p.RepostOf = feed.ID(r.int())
		case 9<<3 | asVarint:
			p.OriginalAuthor = feed.ID(r.int())
		case 10<<3 | asText:
			if p.Topics == nil {
				p.Topics = make([]string, 0, r.run(f))
			}
			p.Topics = append(p.Topics, r.text())
		case 11<<3 | asMessage:
			p.Place = decodePlace(r)
		case 12<<3 | asText:
			p.Attributes = json.RawMessage(r.text())
		case 13<<3 | asVarint:
			p.DeletedAt = r.int()
		default:
			r.skip(f)
		}
	}
}

// inner opens a nested message; close it with leave.
func (r *reader) inner() reader { return reader{s: r.text(), bad: r.bad} }

// leave makes r bad if the nested message was.
func (r *reader) leave(in *reader) {
	if in.bad {
		r.fail()
	}
}

func decodeMedia(r *reader) feed.Media {
	var m feed.Media
	in := r.inner()
	for f := in.field(); f != 0; f = in.field() {
		switch f {
		case 1<<3 | asText:
			m.URL = in.text()
		case 2<<3 | asText:
			m.Alt = in.text()
		case 3<<3 | asVarint:
			m.Width = int32(in.int()) //nolint:gosec // written from an int32
		case 4<<3 | asVarint:
			m.Height = int32(in.int()) //nolint:gosec // written from an int32
		default:
			in.skip(f)
		}
	}
	r.leave(&in)
	return m
}

func decodeLink(r *reader) *feed.Link {
	l := new(feed.Link)
	in := r.inner()
	for f := in.field(); f != 0; f = in.field() {
		switch f {
		case 1<<3 | asText:
			l.URL = in.text()
		case 2<<3 | asText:
			l.Title = in.text()
		default:
			in.skip(f)
		}
	}
	r.leave(&in)
	return l
}

func decodePlace(r *reader) *feed.Place {
	p := new(feed.Place)
	in := r.inner()
	for f := in.field(); f != 0; f = in.field() {
		switch f {
		case 1<<3 | asDouble:
			p.Latitude = in.double()
		case 2<<3 | asDouble:
			p.Longitude = in.double()
		case 3<<3 | asText:
			p.Precision = feed.Precision(in.text())
		default:
			in.skip(f)
		}
	}
	r.leave(&in)
	return p
}

func appendStats(b []byte, s *feed.Stats) []byte {
	b = appendInt(b, 2, s.Likes)
	b = appendInt(b, 3, s.Comments)
	b = appendInt(b, 4, s.Reposts)
	for i := range s.First {
		c := &s.First[i]
		at := len(b)
		b = appendInt(b, 1, int64(c.ID))
		b = appendInt(b, 2, int64(c.Author))
		b = appendInt(b, 3, c.At)
		b = appendText(b, 4, c.Text)
		b = nest(b, at, 5)
	}
	return b
}

func decodeStats(r *reader, post feed.ID, s *feed.Stats) {
	for f := r.field(); f != 0; f = r.field() {
		switch f {
		case 2<<3 | asVarint:
			s.Likes = r.int()
		case 3<<3 | asVarint:
			s.Comments = r.int()
		case 4<<3 | asVarint:
			s.Reposts = r.int()
		case 5<<3 | asMessage:
			if s.First == nil {
				s.First = make([]feed.Comment, 0, r.run(f))
			}
			s.First = append(s.First, decodeComment(r, post))
		default:
			r.skip(f)
		}
	}
}

func decodeComment(r *reader, post feed.ID) feed.Comment {
	c := feed.Comment{Post: post}
	in := r.inner()
	for f := in.field(); f != 0; f = in.field() {
		switch f {
		case 1<<3 | asVarint:
			c.ID = feed.ID(in.int())
		case 2<<3 | asVarint:
			c.Author = feed.ID(in.int())
		case 3<<3 | asVarint:
			c.At = in.int()
		case 4<<3 | asText:
			c.Text = in.text()
		default:
			in.skip(f)
		}
	}
	r.leave(&in)
	return c
}

func appendUser(b []byte, u *feed.User) []byte {
	b = appendText(b, 2, u.Handle)
	b = appendText(b, 3, u.Name)
	b = appendText(b, 4, u.AvatarURL)
	b = appendText(b, 5, u.Bio)
	return appendInt(b, 6, u.CreatedAt)
}

func decodeUser(r *reader, id feed.ID, u *feed.User) {
	u.ID = id
	for f := r.field(); f != 0; f = r.field() {
		switch f {
		case 2<<3 | asText:
			u.Handle = r.text()
		case 3<<3 | asText:
			u.Name = r.text()
		case 4<<3 | asText:
			u.AvatarURL = r.text()
		case 5<<3 | asText:
			u.Bio = r.text()
		case 6<<3 | asVarint:
			u.CreatedAt = r.int()
		default:
			r.skip(f)
		}
	}
}

func decodeUserCounts(r *reader, c *feed.UserCounts) {
	for f := r.field(); f != 0; f = r.field() {
		switch f {
		case 2<<3 | asVarint:
			c.Followers = r.int()
		case 3<<3 | asVarint:
			c.Followees = r.int()
		case 4<<3 | asVarint:
			c.Posts = r.int()
		default:
			r.skip(f)
		}
	}
}
