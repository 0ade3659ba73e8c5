package scalar

import (
	"errors"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"feedgate/feed"
)

// MarshalNodeID writes an id with its kind, as in "post:123".
func MarshalNodeID(n feed.NodeID) graphql.Marshaler {
	return appender(func(b []byte) []byte { return AppendNodeID(b, n) })
}

// UnmarshalNodeID reads what [MarshalNodeID] writes. Its error is BAD_USER_INPUT.
func UnmarshalNodeID(v any) (feed.NodeID, error) {
	s, ok := v.(string)
	if !ok {
		return feed.NodeID{}, errors.New(`an id is a string such as "post:123"`)
	}
	return feed.ParseNodeID(s)
}

// AppendNodeID appends what [MarshalNodeID] writes.
func AppendNodeID(b []byte, n feed.NodeID) []byte {
	b = append(b, '"')
	b = append(b, n.Kind...)
	b = append(b, ':')
	b = strconv.AppendInt(b, int64(n.ID), 10)
	return append(b, '"')
}
