package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"feedgate/feed"
)

// transport speaks GraphQL over HTTP: POST with a JSON body, and GET for
// queries. Unlike gqlgen's own it gives every refusal a code, never repeats a
// body, and writes the data as they were marshalled instead of having
// encoding/json go through them once more.
type transport struct {
	metrics *Metrics
	clock   feed.Clock
	slots   chan struct{} // one for each operation that is carried out
	bodies  chan struct{} // one for each large body that is read
}

func newTransport(metrics *Metrics, clock feed.Clock) transport {
	return transport{
		metrics: metrics, clock: clock,
		slots: make(chan struct{}, maxOperations), bodies: make(chan struct{}, maxBodies),
	}
}

// Above these bounds requests are refused: what cannot be served soon would
// only take memory and time from those that can.
const (
	maxOperations = 256             // carried out at a time
	maxBodies     = 64              // bodies above smallBody read at a time
	smallBody     = 32 << 10        // bytes
	slotWait      = 2 * time.Second // longest wait for a turn
)

// enter waits for a turn, and reports false when none came.
func (t transport) enter(ctx context.Context) bool {
	select {
	case t.slots <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(slotWait)
	defer timer.Stop()
	select {
	case t.slots <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (t transport) leave() { <-t.slots }

// admit lets a body be read; large ones, and those of unknown length, are
// bounded in number. Call done when it was read.
func (t transport) admit(r *http.Request) (done func(), ok bool) {
	if r.Method == http.MethodGet || (r.ContentLength >= 0 && r.ContentLength <= smallBody) {
		return func() {}, true
	}
	select {
	case t.bodies <- struct{}{}:
		return func() { <-t.bodies }, true
	default:
		return nil, false
	}
}

// busy refuses a request for which there is no room.
func (t transport) busy(w http.ResponseWriter) {
	t.metrics.fail(feed.CodeUnavailable)
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusServiceUnavailable, feed.CodeUnavailable, "too many requests at a time: try again in a moment")
}

var _ graphql.Transport = transport{}

const (
	typeJSON    = "application/json"
	typeGraphQL = "application/graphql-response+json"
)

// Supports accepts what the router lets through.
func (transport) Supports(r *http.Request) bool {
	return r.Method == http.MethodPost || r.Method == http.MethodGet
}

// Do answers one request.
func (t transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	began := t.clock.Now()
	done, ok := t.admit(r)
	if !ok {
		t.busy(w)
		return
	}
	params, status, err := read(r)
	done()
	if err != nil {
		t.metrics.fail(err.Code)
		refuse(w, status, err.Code, err.Text)
		return
	}
	if strings.Contains(r.Header.Get("Accept"), typeGraphQL) {
		w.Header()["Content-Type"] = []string{typeGraphQL}
	}
	ctx := r.Context()
	if !t.enter(ctx) {
		t.busy(w)
		return
	}
	defer t.leave()
	op, errs := exec.CreateOperationContext(ctx, params)
	if len(errs) > 0 {
		writeResponse(w, http.StatusBadRequest, exec.DispatchError(graphql.WithOperationContext(ctx, op), errs))
		t.metrics.done("invalid", t.clock.Now().Sub(began))
		return
	}
	kind := op.Operation.Operation
	if kind == ast.Subscription {
		t.metrics.fail(feed.CodeBadInput)
		refuse(w, http.StatusBadRequest, feed.CodeBadInput, "a subscription needs a stream: subscribe over WebSocket, or send Accept: text/event-stream")
		return
	}
	if r.Method == http.MethodGet && kind != ast.Query {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, feed.CodeBadInput, "GET is for queries: send a "+string(kind)+" by POST")
		return
	}
	responses, ctx := exec.DispatchOperation(ctx, op)
	resp := responses(ctx)
	t.metrics.done(string(kind), t.clock.Now().Sub(began))
	switch {
	case r.Context().Err() != nil && resp == nil, resp == nil:
		t.metrics.fail(feed.CodeUnavailable)
		refuse(w, http.StatusServiceUnavailable, feed.CodeUnavailable, "this took too long: try again, or ask for less")
	default:
		writeResponse(w, http.StatusOK, resp)
	}
}

// read takes the operation from a request. Its error comes with the status.
func read(r *http.Request) (*graphql.RawParams, int, *feed.Error) {
	var params *graphql.RawParams
	var status int
	var err *feed.Error
	if r.Method == http.MethodGet {
		params, err = readURL(r.URL)
		status = http.StatusBadRequest
	} else {
		params, status, err = readBody(r)
	}
	if err != nil {
		return nil, status, err
	}
	if params.Query == "" {
		return nil, http.StatusBadRequest, feed.BadInput("query", "there is no query: send a JSON object with a field query")
	}
	params.Headers = r.Header
	return params, 0, nil
}

func readURL(u *url.URL) (*graphql.RawParams, *feed.Error) {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, feed.BadInput("query", "this URL's query can't be read: escape it")
	}
	params := &graphql.RawParams{Query: q.Get("query"), OperationName: q.Get("operationName")}
	if v := q.Get("variables"); v != "" {
		if err := decode([]byte(v), &params.Variables); err != nil {
			return nil, feed.BadInput("variables", "variables is no JSON object")
		}
	}
	return params, nil
}

// body is the JSON object of a POST.
type body struct {
	Query         string         `json:"query"`
	OperationName string         `json:"operationName"`
	Variables     map[string]any `json:"variables"`
	Extensions    map[string]any `json:"extensions"`
}

func readBody(r *http.Request) (*graphql.RawParams, int, *feed.Error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != typeJSON {
		return nil, http.StatusUnsupportedMediaType, feed.BadInput("", "send the query as JSON, with the header Content-Type: application/json")
	}
	text, err := readAll(r)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, http.StatusRequestEntityTooLarge, tooComplex("a request has at most 1 MiB")
	}
	if err != nil {
		return nil, http.StatusBadRequest, feed.BadInput("", "the request ended early")
	}
	if text = bytes.TrimLeft(text, " \t\r\n"); len(text) == 0 || text[0] != '{' {
		return nil, http.StatusBadRequest, feed.BadInput("", "the body is no JSON object: send one with a field query")
	}
	var b body
	if err := decode(text, &b); err != nil {
		return nil, http.StatusBadRequest, feed.BadInput("", "the body can't be read: send a JSON object with query, and variables, operationName if there are any")
	}
	return &graphql.RawParams{Query: b.Query, OperationName: b.OperationName, Variables: b.Variables, Extensions: b.Extensions}, 0, nil
}

// readAll reads a body, in one piece when its length is known.
func readAll(r *http.Request) ([]byte, error) {
	var buf bytes.Buffer
	if n := r.ContentLength; n > 0 && n <= maxBody {
		buf.Grow(int(n) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(r.Body)
	return buf.Bytes(), err
}

// decode reads one JSON value and nothing after it; numbers keep their digits.
func decode(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

// writeResponse writes a response. The data is JSON already.
func writeResponse(w http.ResponseWriter, status int, resp *graphql.Response) {
	h := w.Header()
	if h["Content-Type"] == nil {
		h["Content-Type"] = []string{typeJSON}
	}
	head, tail := []byte(`{"data":`), []byte("}")
	if len(resp.Errors) > 0 {
		head = append(append([]byte(`{"errors":`), encodeErrors(resp.Errors)...), `,"data":`...)
	}
	data := []byte(resp.Data)
	if len(data) == 0 {
		data = []byte("null")
	}
	h["Content-Length"] = []string{itoa(len(head) + len(data) + len(tail))}
	w.WriteHeader(status)
	for _, part := range [...][]byte{head, data, tail} {
		if _, err := w.Write(part); err != nil {
			return // the client is gone
		}
	}
}

func encodeErrors(errs gqlerror.List) []byte {
	text, err := json.Marshal(errs)
	if err != nil { // cannot happen: messages and paths are text and numbers
		return []byte(`[{"message":"something went wrong inside feedgate","extensions":{"code":"INTERNAL"}}]`)
	}
	return text
}
