// Package scalar says how feedgate's scalars look on the wire. Each has a
// Marshal function for gqlgen and an Append function that the direct writer
// uses; both write the same bytes.
package scalar

import (
	"io"

	"github.com/99designs/gqlgen/graphql"
)

// appender makes a marshaler of a function that appends JSON.
func appender(appendTo func([]byte) []byte) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		// A failing writer is the transport's business: it finds the connection gone.
		_, _ = w.Write(appendTo(make([]byte, 0, 32)))
	})
}
