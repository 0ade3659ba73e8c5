// Package operationtest is a small schema that is carried out by hand, and a
// network within the process, for the tests of transports.
package operationtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"feedgate/feed"
)

const sdl = `
type Query { hello: String!  who: String!  panic: String!  never: String! }
type Mutation { publish(n: Int!): Int! }
type Subscription { state: Int!  countTo(n: Int!): Int!  broken: Int!  panic: Int! }
`

// Hub is where subscriptions to state get their states from: each has place
// for one, and a newer one replaces it.
type Hub struct {
	mu        sync.Mutex
	listeners map[chan int]struct{}
	changed   chan struct{} // closed and replaced when somebody comes or goes
	last      int
}

// NewHub makes a Hub.
func NewHub() *Hub {
	return &Hub{listeners: make(map[chan int]struct{}), changed: make(chan struct{})}
}

func (h *Hub) listen(ctx context.Context) <-chan int {
	ch := make(chan int, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	ch <- h.last
	h.listeners[ch] = struct{}{}
	h.signal()
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, ch)
		h.signal()
	})
	return ch
}

func (h *Hub) signal() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// Publish gives everybody a new state.
func (h *Hub) Publish(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = n
	for ch := range h.listeners {
		select {
		case <-ch:
		default:
		}
		ch <- n
	}
}

// Count gives the number of listeners, and a channel that says when it changes.
func (h *Hub) Count() (int, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners), h.changed
}

// schema is carried out by hand: what is tested stands before it.
type schema struct {
	hub *Hub
	doc *ast.Schema
	pad string // makes each state long
}

// WhoKey is the context key of what the query who answers.
type WhoKey struct{}

func (s *schema) Schema() *ast.Schema { return s.doc }

func (*schema) Complexity(context.Context, string, string, int, map[string]any) (int, bool) {
	return 0, false
}

func (s *schema) Exec(ctx context.Context) graphql.ResponseHandler {
	op := graphql.GetOperationContext(ctx)
	field := graphql.CollectFields(op, op.Operation.SelectionSet, nil)[0]
	args := field.ArgumentMap(op.Variables)
	switch op.Operation.Operation {
	case ast.Mutation:
		n, _ := args["n"].(int64)
		s.hub.Publish(int(n))
		return graphql.OneShot(result(field.Alias, n))
	case ast.Subscription:
		return s.subscribe(ctx, field, args)
	default:
		return s.query(ctx, field)
	}
}

func (*schema) query(ctx context.Context, field graphql.CollectedField) graphql.ResponseHandler {
	switch field.Name {
	case "panic":
		panic("the inside")
	case "never":
		return func(ctx context.Context) *graphql.Response {
			<-ctx.Done()
			return nil
		}
	case "who":
		who, _ := ctx.Value(WhoKey{}).(string)
		return graphql.OneShot(result(field.Alias, who))
	}
	return graphql.OneShot(result(field.Alias, "world"))
}

func (s *schema) subscribe(ctx context.Context, field graphql.CollectedField, args map[string]any) graphql.ResponseHandler {
	switch field.Name {
	case "broken":
		graphql.AddError(ctx, feed.Unavailable("the store is away", errors.New("dial tcp")))
		return nil
	case "panic":
		first := true
		return func(context.Context) *graphql.Response {
			if !first {
				panic("the inside")
			}
			first = false
			return result(field.Alias, 1)
		}
	case "countTo":
		to, _ := args["n"].(int64)
		at := int64(0)
		return func(context.Context) *graphql.Response {
			at++
			if at > to {
				return nil
			}
			return result(field.Alias, at)
		}
	}
	states := s.hub.listen(ctx)
	shared := new(graphql.Response) // as gqlgen does: the next one overwrites it
	return func(ctx context.Context) *graphql.Response {
		select {
		case n := <-states:
			shared.Data = append(shared.Data[:0], `{"`+field.Alias+`":`+strconv.Itoa(n)+s.pad+`}`...)
			return shared
		case <-ctx.Done():
			return nil
		}
	}
}

func result(name string, value any) *graphql.Response {
	text, err := json.Marshal(map[string]any{name: value})
	if err != nil {
		panic(err)
	}
	return &graphql.Response{Data: text}
}

// NewExecutor makes an executor of the schema, whose errors look like
// feedgate's. Pad is JSON that follows each state, to make it long.
func NewExecutor(h *Hub, pad string) *executor.Executor {
	exec := executor.New(&schema{hub: h, pad: pad, doc: gqlparser.MustLoadSchema(&ast.Source{Input: sdl})})
	exec.SetRecoverFunc(func(_ context.Context, value any) error { return fmt.Errorf("panic: %v", value) })
	exec.SetErrorPresenter(func(_ context.Context, err error) *gqlerror.Error {
		shown := &gqlerror.Error{Message: "something went wrong", Extensions: map[string]any{"code": feed.CodeInternal}}
		if known, ok := errors.AsType[*feed.Error](err); ok {
			shown.Message, shown.Extensions["code"] = known.Text, known.Code
		} else if errors.Is(err, context.DeadlineExceeded) {
			shown.Message, shown.Extensions["code"] = "this took too long", feed.CodeUnavailable
		} else if g, ok := errors.AsType[*gqlerror.Error](err); ok && (g.Extensions["code"] == errcode.ValidationFailed || g.Extensions["code"] == errcode.ParseFailed) {
			shown.Message, shown.Extensions["code"] = g.Message, feed.CodeBadInput
		}
		return shown
	})
	return exec
}
