package scalar

import (
	"math"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
)

// MarshalCount writes a number as a GraphQL Int, which has 32 bits: what is
// larger is written as the largest.
func MarshalCount(n int64) graphql.Marshaler {
	return appender(func(b []byte) []byte { return AppendCount(b, n) })
}

// UnmarshalCount reads a GraphQL Int.
func UnmarshalCount(v any) (int64, error) { return graphql.UnmarshalInt64(v) }

// AppendCount appends what [MarshalCount] writes.
func AppendCount(b []byte, n int64) []byte {
	return strconv.AppendInt(b, min(max(n, math.MinInt32), math.MaxInt32), 10)
}

// AppendFloat appends a GraphQL Float as gqlgen writes it.
func AppendFloat(b []byte, f float64) []byte { return strconv.AppendFloat(b, f, 'g', -1, 64) }
