// Package operation carries out one GraphQL operation for a transport that
// streams results: the same for WebSocket and Server-Sent Events.
package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"feedgate/feed"
)

// Run carries out an operation and gives each result to next, which must not
// keep it: the executor reuses its buffers. Only when next has returned is the
// following result asked for, so that a slow listener holds back nothing but
// its own operation, and the source can let newer states replace older ones.
// Next returns false when nobody listens any more.
//
// A query or a mutation has one result and at most limit of time. What Run
// returns are the errors of an operation that was refused before it began,
// ran out of time, or panicked; nil says that it came to its end, or that ctx
// did.
func Run(ctx context.Context, exec graphql.GraphExecutor, params *graphql.RawParams, limit time.Duration,
	next func(*graphql.Response) bool,
) (failed gqlerror.List) {
	ctx = graphql.StartOperationTrace(ctx)
	var op *graphql.OperationContext
	defer func() {
		if v := recover(); v != nil {
			failed = panicked(ctx, exec, op, v)
		}
	}()
	op, errs := exec.CreateOperationContext(ctx, params)
	if len(errs) > 0 {
		return exec.DispatchError(graphql.WithOperationContext(ctx, op), errs).Errors
	}
	if op.Operation.Operation == ast.Subscription {
		responses, ctx := exec.DispatchOperation(ctx, op)
		for {
			resp := responses(ctx)
			if resp == nil || !next(resp) {
				return nil
			}
		}
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	responses, inner := exec.DispatchOperation(bounded, op)
	if resp := responses(inner); resp != nil {
		next(resp)
		return nil
	}
	if ctx.Err() == nil && bounded.Err() != nil {
		return present(ctx, exec, op, bounded.Err())
	}
	return nil
}

// panicked makes an error of a panic: what a client may see of it is the
// executor's to say.
func panicked(ctx context.Context, exec graphql.GraphExecutor, op *graphql.OperationContext, value any) (shown gqlerror.List) {
	defer func() {
		if recover() != nil { // what presents errors is broken itself
			shown = Errors(feed.CodeInternal, brokenText)
		}
	}()
	if op == nil || op.RecoverFunc == nil {
		return present(ctx, exec, op, fmt.Errorf("panic: %v\n%s", value, debug.Stack()))
	}
	return present(ctx, exec, op, op.RecoverFunc(ctx, value))
}

func present(ctx context.Context, exec graphql.GraphExecutor, op *graphql.OperationContext, err error) gqlerror.List {
	known, ok := errors.AsType[*gqlerror.Error](err)
	if !ok {
		known = &gqlerror.Error{Err: err, Message: err.Error()}
	}
	return exec.DispatchError(graphql.WithOperationContext(ctx, op), gqlerror.List{known}).Errors
}

// Errors is one error that needs no executor to be shown.
func Errors(code feed.Code, text string) gqlerror.List {
	return gqlerror.List{{Message: text, Extensions: map[string]any{"code": code}}}
}

const brokenText = "something went wrong inside feedgate"

// Append appends a result as JSON. The data are JSON already and are not gone
// through again.
func Append(b []byte, resp *graphql.Response) []byte {
	b = append(b, '{')
	if len(resp.Errors) > 0 {
		b = append(b, `"errors":`...)
		b = AppendErrors(b, resp.Errors)
		b = append(b, ',')
	}
	b = append(b, `"data":`...)
	if len(resp.Data) == 0 {
		b = append(b, "null"...)
	} else {
		b = append(b, resp.Data...)
	}
	if len(resp.Extensions) > 0 {
		if text, err := json.Marshal(resp.Extensions); err == nil {
			b = append(b, `,"extensions":`...)
			b = append(b, text...)
		}
	}
	return append(b, '}')
}

// AppendErrors appends errors as a JSON array.
func AppendErrors(b []byte, errs gqlerror.List) []byte {
	text, err := json.Marshal(errs)
	if err != nil { // an extension that is no JSON
		return append(b, `[{"message":"`+brokenText+`","extensions":{"code":"INTERNAL"}}]`...)
	}
	return append(b, text...)
}
