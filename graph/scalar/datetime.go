package scalar

import (
	"errors"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

const dateTimeLayout = "2006-01-02T15:04:05.000Z"

// MarshalDateTime writes a moment, given in milliseconds since the Unix
// epoch, in RFC 3339 with milliseconds in UTC.
func MarshalDateTime(ms int64) graphql.Marshaler {
	return appender(func(b []byte) []byte { return AppendDateTime(b, ms) })
}

// UnmarshalDateTime reads a moment in RFC 3339, in any zone.
func UnmarshalDateTime(v any) (int64, error) {
	s, ok := v.(string)
	if !ok {
		return 0, errors.New(`a DateTime is a string such as "2026-03-14T15:09:26.535Z"`)
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return 0, errors.New(`this is no DateTime: write it as in "2026-03-14T15:09:26.535Z"`)
	}
	return t.UnixMilli(), nil
}

// AppendDateTime appends what [MarshalDateTime] writes.
func AppendDateTime(b []byte, ms int64) []byte {
	b = append(b, '"')
	b = time.UnixMilli(ms).UTC().AppendFormat(b, dateTimeLayout)
	return append(b, '"')
}
