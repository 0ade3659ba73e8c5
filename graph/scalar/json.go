package scalar

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/99designs/gqlgen/graphql"
)

// MarshalJSON writes JSON as it is.
func MarshalJSON(raw json.RawMessage) graphql.Marshaler {
	if len(raw) == 0 {
		return graphql.Null
	}
	return graphql.WriterFunc(func(w io.Writer) {
		// A failing writer is the transport's business: it finds the connection gone.
		_, _ = w.Write(raw)
	})
}

// UnmarshalJSON gives the text of a JSON value that the transport has read.
// Numbers keep the digits with which they came.
func UnmarshalJSON(v any) (json.RawMessage, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, errors.New("this is no JSON value")
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
