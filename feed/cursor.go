package feed

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
)

// CursorKind says which list a cursor belongs to.
type CursorKind byte

// The kinds of cursor. Their numbers are part of every cursor ever handed out.
const (
	CursorFollowFeed CursorKind = 1
	CursorPosts      CursorKind = 2
	CursorComments   CursorKind = 3
	CursorFollowers  CursorKind = 4
	CursorFollowees  CursorKind = 5
	CursorNotices    CursorKind = 6
	CursorNearby     CursorKind = 7
	CursorRecommend  CursorKind = 8 // a place in a session, see [SessionMark]
)

const (
	cursorVersion = 1
	cursorSum     = 4 // bytes of checksum, to tell a damaged cursor from a whole one
	maxCursor     = 64
)

// EncodeCursor makes the opaque text of a position. serverTime (ms) is when
// the page was made. The form is version, kind, three varints and a checksum;
// cursors of an old version stay readable for ever.
func EncodeCursor(kind CursorKind, p Position, serverTime int64) string {
	var buf [maxCursor]byte
	b := append(buf[:0], cursorVersion, byte(kind))
	b = binary.AppendVarint(b, p.At)
	b = binary.AppendUvarint(b, uint64(p.ID)) //nolint:gosec // ids are positive
	b = binary.AppendVarint(b, serverTime)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// DecodeCursor reads the position of a cursor of this kind. BAD_USER_INPUT
// (field "after") for anything else.
func DecodeCursor(kind CursorKind, text string) (Position, error) {
	m, err := DecodeMark(kind, "after", text)
	return m.Position, err
}

// CursorMark is all that a cursor says: a position, and when (ms) its page was made.
type CursorMark struct {
	Position
	ServerTime int64
}

// DecodeMark reads a cursor of this kind. BAD_USER_INPUT (with the field) for
// anything else.
func DecodeMark(kind CursorKind, field, text string) (CursorMark, error) {
	bad := BadInput(field, "this is no cursor of this list: pass an endCursor or an edge's cursor that the same list returned")
	if len(text) > maxCursor {
		return CursorMark{}, bad
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 2+cursorSum || b[0] != cursorVersion || b[1] != byte(kind) {
		return CursorMark{}, bad
	}
	body := b[:len(b)-cursorSum]
	if binary.BigEndian.Uint32(b[len(body):]) != crc32.ChecksumIEEE(body) {
		return CursorMark{}, bad
	}
	rest := body[2:]
	at, n := binary.Varint(rest)
	if n <= 0 {
		return CursorMark{}, bad
	}
	id, m := binary.Uvarint(rest[n:])
	if m <= 0 || id > 1<<63-1 {
		return CursorMark{}, bad
	}
	made, k := binary.Varint(rest[n+m:])
	if k <= 0 {
		return CursorMark{}, bad
	}
	return CursorMark{Position: Position{At: at, ID: ID(id)}, ServerTime: made}, nil
}

// The bounds of a page.
const (
	MaxPage     = 100
	DefaultPage = 20
)

// PageSize checks first: 1 to 100, 20 when absent. BAD_USER_INPUT (field "first").
func PageSize(first *int) (int, error) {
	if first == nil {
		return DefaultPage, nil
	}
	if *first < 1 || *first > MaxPage {
		return 0, BadInput("first", "first must be a whole number from 1 to 100")
	}
	return *first, nil
}
