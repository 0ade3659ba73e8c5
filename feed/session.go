package feed

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
)

// The bounds of a session of recommendFeed.
const (
	sessionTTL   = 3600_000 // ms: cursors are repeatable as long
	sessionChunk = 250      // posts that are ranked at a time
	maxSession   = 5_000    // posts of one session
)

// SessionMark is a place in a session of recommendFeed.
type SessionMark struct {
	Session Token
	Offset  int // of the next post
}

const tokenLength = 26 // of what crypto/rand.Text gives

// EncodeSessionMark makes the opaque text of a mark: version, kind, offset,
// the session's token and a checksum.
func EncodeSessionMark(m SessionMark) string {
	var buf [maxCursor]byte
	b := append(buf[:0], cursorVersion, byte(CursorRecommend))
	b = binary.AppendUvarint(b, uint64(m.Offset)) //nolint:gosec // offsets are positive
	b = append(b, m.Session...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// DecodeSessionMark reads a mark. BAD_USER_INPUT (field "after") for anything else.
func DecodeSessionMark(text string) (SessionMark, error) {
	bad := BadInput("after", "this is no cursor of this list: pass an endCursor or an edge's cursor that the same list returned")
	if len(text) > maxCursor {
		return SessionMark{}, bad
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 2+cursorSum || b[0] != cursorVersion || b[1] != byte(CursorRecommend) {
		return SessionMark{}, bad
	}
	body := b[:len(b)-cursorSum]
	if binary.BigEndian.Uint32(b[len(body):]) != crc32.ChecksumIEEE(body) {
		return SessionMark{}, bad
	}
	offset, n := binary.Uvarint(body[2:])
	if n <= 0 || offset > maxSession || len(body) != 2+n+tokenLength {
		return SessionMark{}, bad
	}
	return SessionMark{Session: Token(body[2+n:]), Offset: int(offset)}, nil
}

// session is what has been ranked for a reader, best first.
type session struct {
	token  Token
	reader ID
	rest   Rest // done: nothing more is there to be ranked
	ranked []Recommendation
}

const sessionVersion = 2

// The reasons' numbers in a kept session.
const (
	codeLikedSimilar byte = iota + 1
	codeTopic
	codeFolloweeLiked
	codeTrending
	codeFresh
)

func (r Reason) code() byte {
	switch r.Kind {
	case ReasonLikedSimilar:
		return codeLikedSimilar
	case ReasonTopic:
		return codeTopic
	case ReasonFolloweeLiked:
		return codeFolloweeLiked
	case ReasonTrending:
		return codeTrending
	case ReasonFresh:
		return codeFresh
	default:
		return 0
	}
}

func reasonOf(code byte) (ReasonKind, bool) {
	switch code {
	case codeLikedSimilar:
		return ReasonLikedSimilar, true
	case codeTopic:
		return ReasonTopic, true
	case codeFolloweeLiked:
		return ReasonFolloweeLiked, true
	case codeTrending:
		return ReasonTrending, true
	case codeFresh:
		return ReasonFresh, true
	default:
		return "", false
	}
}

// encode gives the compact form that the hot data keeps.
func (s *session) encode() []byte {
	b := make([]byte, 0, 32+24*len(s.ranked))
	b = append(b, sessionVersion)
	b = binary.AppendUvarint(b, uint64(s.reader)) //nolint:gosec // ids are positive
	done := byte(0)
	if s.rest.Done {
		done = 1
	}
	b = append(b, done)
	b = binary.AppendVarint(b, s.rest.Below.At)
	b = binary.AppendUvarint(b, uint64(s.rest.Below.ID)) //nolint:gosec // ids are positive
	for i := range s.ranked {
		r := &s.ranked[i]
		b = append(b, r.Reason.code())
		b = binary.AppendUvarint(b, uint64(r.Post))        //nolint:gosec // ids are positive
		b = binary.AppendUvarint(b, uint64(r.Reason.Post)) //nolint:gosec // ids are positive
		b = binary.AppendUvarint(b, uint64(r.Reason.User)) //nolint:gosec // ids are positive
		b = binary.AppendUvarint(b, uint64(len(r.Reason.Topic)))
		b = append(b, r.Reason.Topic...)
	}
	return b
}

// decodeSession reads what encode gave; false for anything else.
func decodeSession(token Token, b []byte) (*session, bool) {
	if len(b) == 0 || b[0] != sessionVersion {
		return nil, false
	}
	p := parser{b: b[1:], ok: true}
	s := &session{token: token, reader: ID(p.number())}                                     //nolint:gosec // checked below
	s.rest = Rest{Done: p.byte() == 1, Below: Position{At: p.signed(), ID: ID(p.number())}} //nolint:gosec // checked below
	for p.ok && len(p.b) > 0 {
		kind, known := reasonOf(p.byte())
		var r Recommendation
		r.Post = ID(p.number())                                                   //nolint:gosec // checked below
		r.Reason = Reason{Kind: kind, Post: ID(p.number()), User: ID(p.number())} //nolint:gosec // checked below
		r.Reason.Topic = p.text()
		if !known || r.Post <= 0 || r.Reason.Post < 0 || r.Reason.User < 0 || len(s.ranked) == maxSession {
			return nil, false
		}
		s.ranked = append(s.ranked, r)
	}
	return s, p.ok && s.reader >= 0 && s.rest.Below.ID >= 0
}

// parser reads a compact form; ok is false once something was missing.
type parser struct {
	b  []byte
	ok bool
}

func (p *parser) number() uint64 {
	n, size := binary.Uvarint(p.b)
	if size <= 0 {
		p.ok, p.b = false, nil
		return 0
	}
	p.b = p.b[size:]
	return n
}

func (p *parser) signed() int64 {
	n, size := binary.Varint(p.b)
	if size <= 0 {
		p.ok, p.b = false, nil
		return 0
	}
	p.b = p.b[size:]
	return n
}

func (p *parser) byte() byte {
	if len(p.b) == 0 {
		p.ok = false
		return 0
	}
	c := p.b[0]
	p.b = p.b[1:]
	return c
}

func (p *parser) text() string {
	n := p.number()
	if n > uint64(len(p.b)) {
		p.ok, p.b = false, nil
		return ""
	}
	s := string(p.b[:n])
	p.b = p.b[n:]
	return s
}
