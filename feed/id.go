package feed

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ID names a user, a post or a comment: a positive 63-bit integer. New ones
// are time-ordered and above 2^53; imported ones keep theirs.
type ID int64

// String gives the decimal form.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// NodeKind says what an ID names.
type NodeKind string

// The kinds of node that a client can name.
const (
	NodeUser    NodeKind = "user"
	NodePost    NodeKind = "post"
	NodeComment NodeKind = "comment"
)

// NodeID is an ID with its kind, as clients see it: "post:123".
type NodeID struct {
	Kind NodeKind
	ID   ID
}

// String gives the form on the wire.
func (n NodeID) String() string { return string(n.Kind) + ":" + n.ID.String() }

// ParseNodeID reads the form on the wire. Its error is BAD_USER_INPUT.
func ParseNodeID(s string) (NodeID, error) {
	kind, digits, ok := strings.Cut(s, ":")
	if ok {
		k := NodeKind(kind)
		id, err := ParseID(digits)
		if err == nil && (k == NodeUser || k == NodePost || k == NodeComment) {
			return NodeID{Kind: k, ID: id}, nil
		}
	}
	return NodeID{}, BadInput("id", "this is no id of feedgate's: pass one that a query returned, such as \"post:123\"")
}

// ParseID reads the decimal form of an ID: 1 to 2^63-1, no sign, no leading zero.
func ParseID(digits string) (ID, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || digits[0] == '+' || digits[0] == '0' {
		return 0, BadInput("id", "an id is a whole number from 1 to 9223372036854775807")
	}
	return ID(n), nil
}

// Position is a place in a list in time order: newest first, ties by id.
type Position struct {
	At int64 // publishedAt in milliseconds since the Unix epoch
	ID ID
}

// Newest is above every post.
func Newest() Position { return Position{At: math.MaxInt64, ID: math.MaxInt64} }

// IsNewest reports whether p is [Newest], which means "from the top".
func (p Position) IsNewest() bool { return p.At == math.MaxInt64 }

// Below reports whether p comes after q when reading newest first.
func (p Position) Below(q Position) bool {
	if p.At != q.At {
		return p.At < q.At
	}
	return p.ID < q.ID
}

// Compare orders positions newest first, for [slices.SortFunc].
func (p Position) Compare(q Position) int {
	if c := cmp.Compare(q.At, p.At); c != 0 {
		return c
	}
	return cmp.Compare(q.ID, p.ID)
}

// IDSet is a set of ids: sorted, without repeats.
type IDSet []ID

// NewIDSet sorts ids in place, drops repeats and returns the set.
func NewIDSet(ids []ID) IDSet {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Has reports whether id is in the set.
func (s IDSet) Has(id ID) bool {
	_, ok := slices.BinarySearch(s, id)
	return ok
}
