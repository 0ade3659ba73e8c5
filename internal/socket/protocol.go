package socket

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"feedgate/feed"
	"feedgate/internal/operation"
)

// The close codes of graphql-transport-ws. The legacy protocol names none and
// gets the same.
const (
	codeBadRequest   = 4400
	codeUnauthorized = 4401
	codeForbidden    = 4403
	codeSubprotocol  = 4406
	codeInitTimeout  = 4408
	codeDuplicate    = 4409
	codeTooManyInits = 4429
)

// protocol is a subprotocol of WebSocket.
type protocol string

const (
	modern protocol = "graphql-transport-ws"
	legacy protocol = "graphql-ws"
)

// kind is what a message of a client wants.
type kind int

const (
	unknown kind = iota
	initiate
	ping
	pong
	subscribe
	complete
	terminate
)

// kindOf reads the type of a message.
func (p protocol) kindOf(name string) kind {
	if name == "connection_init" {
		return initiate
	}
	if p == legacy {
		switch name {
		case "start":
			return subscribe
		case "stop":
			return complete
		case "connection_terminate":
			return terminate
		}
		return unknown
	}
	switch name {
	case "subscribe":
		return subscribe
	case "complete":
		return complete
	case "ping":
		return ping
	case "pong":
		return pong
	}
	return unknown
}

// message is what a client sends.
type message struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// maxID bounds what a client may call an operation, in bytes.
const maxID = 256

var errMessage = errors.New("invalid message received")

// parse reads a message. It keeps nothing of text.
func parse(text []byte) (message, error) {
	var m message
	if !utf8.Valid(text) {
		return m, errMessage
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Type == "" || len(m.ID) > maxID {
		return m, errMessage
	}
	if string(m.Payload) == "null" {
		m.Payload = nil
	}
	return m, nil
}

// object reports whether a payload is a JSON object, or absent.
func (m message) object() bool { return m.Payload == nil || m.Payload[0] == '{' }

// request is the payload of a message that begins an operation.
type request struct {
	Query         *string        `json:"query"`
	OperationName string         `json:"operationName"`
	Variables     map[string]any `json:"variables"`
	Extensions    map[string]any `json:"extensions"`
}

// params reads the operation that a client asks for. Numbers keep their digits.
func (m message) params() (*graphql.RawParams, error) {
	if m.ID == "" || m.Payload == nil || !m.object() {
		return nil, errMessage
	}
	var r request
	dec := json.NewDecoder(bytes.NewReader(m.Payload))
	dec.UseNumber()
	if err := dec.Decode(&r); err != nil || r.Query == nil {
		return nil, errMessage
	}
	return &graphql.RawParams{
		Query: *r.Query, OperationName: r.OperationName, Variables: r.Variables, Extensions: r.Extensions,
	}, nil
}

// appendPong answers a ping with its own payload.
func appendPong(b, payload []byte) []byte {
	if payload == nil {
		return append(b, `{"type":"pong"}`...)
	}
	b = append(b, `{"type":"pong","payload":`...)
	b = append(b, payload...)
	return append(b, '}')
}

// appendAck welcomes a client. The legacy protocol begins to keep the
// connection alive with it.
func appendAck(b []byte) []byte { return append(b, `{"type":"connection_ack"}`...) }

// keepAlive is the message that shows a client that the connection lives.
func (p protocol) keepAlive() string {
	if p == legacy {
		return `{"type":"ka"}`
	}
	return `{"type":"ping"}`
}

// appendHead begins a message about an operation up to its payload. The id is
// JSON text.
func appendHead(b, id []byte, name string) []byte {
	b = append(b, `{"id":`...)
	b = append(b, id...)
	b = append(b, `,"type":"`...)
	b = append(b, name...)
	return append(b, '"')
}

func (p protocol) appendNext(b, id []byte, resp *graphql.Response) []byte {
	name := "next"
	if p == legacy {
		name = "data"
	}
	b = appendHead(b, id, name)
	b = append(b, `,"payload":`...)
	b = operation.Append(b, resp)
	return append(b, '}')
}

// appendErrors ends an operation that never began, or broke. The legacy
// protocol has place for one error, and its clients read an object.
func (p protocol) appendErrors(b, id []byte, errs gqlerror.List) []byte {
	b = appendHead(b, id, "error")
	b = append(b, `,"payload":`...)
	if p == legacy {
		one := operation.AppendErrors(nil, errs[:1])
		b = append(b, one[1:len(one)-1]...)
	} else {
		b = operation.AppendErrors(b, errs)
	}
	return append(b, '}')
}

func appendComplete(b, id []byte) []byte {
	b = appendHead(b, id, "complete")
	return append(b, '}')
}

// farewell is what the legacy protocol says before the connection is closed.
func (p protocol) farewell(code feed.Code, text string) []byte {
	if p != legacy {
		return nil
	}
	one := operation.AppendErrors(nil, operation.Errors(code, text))
	b := append([]byte(`{"type":"connection_error","payload":`), one[1:len(one)-1]...)
	return append(b, '}')
}

// quote makes JSON of an operation's id.
func quote(id string) []byte {
	text, err := json.Marshal(id)
	if err != nil { // cannot happen: it is a string
		return []byte(`""`)
	}
	return text
}

// reason cuts a text to what a close frame has place for.
func reason(text string) string {
	const most = 123
	if len(text) <= most {
		return text
	}
	for n := most; n > most-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			return text[:n]
		}
	}
	return text[:most]
}

// readMessage reads a message of at most limit bytes into b. The error is
// io.ErrShortBuffer when it is longer; the rest stays unread.
func readMessage(b *bytes.Buffer, r io.Reader, limit int) error {
	n, err := b.ReadFrom(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return err
	}
	if n > int64(limit) {
		return io.ErrShortBuffer
	}
	return nil
}
