package httpapi

import (
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"feedgate/feed"
	"feedgate/loaders"
)

// session gives each response a reader and loaders of its own. Each mutation
// of a request gets fresh ones: it must see what the one before has changed.
type session struct {
	service *feed.Service
	observe func(loader string, size int)
	present graphql.ErrorPresenterFunc
	// subscribed bounds the subscriptions of each reader.
	subscribed *seats
}

var _ interface {
	graphql.HandlerExtension
	graphql.OperationInterceptor
	graphql.ResponseInterceptor
	graphql.RootFieldInterceptor
} = session{}

// ExtensionName names the extension.
func (session) ExtensionName() string { return "Session" }

// Validate accepts every schema.
func (session) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptOperation opens a session for what decides whether a subscription
// begins: that happens before there is any response.
func (s session) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	op := graphql.GetOperationContext(ctx)
	if op.Operation.Operation != ast.Subscription {
		return next(ctx)
	}
	fields := graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Subscription"})
	if len(fields) == 1 {
		ctx = context.WithValue(ctx, streamKey{}, &graphql.FieldContext{Object: "Subscription", Field: fields[0], IsResolver: true})
	}
	release, err := s.subscribed.take(exchangeOf(ctx).reader, "you have too many subscriptions: complete one")
	if err != nil {
		return graphql.OneShot(&graphql.Response{Errors: gqlerror.List{s.present(ctx, err)}})
	}
	release = sync.OnceFunc(release)
	context.AfterFunc(ctx, release) // transports end an operation's context with it
	responses := next(s.open(ctx))
	return func(ctx context.Context) *graphql.Response {
		resp := responses(ctx)
		if resp == nil {
			release() // before the client is told of the end: it may subscribe again at once
		}
		return resp
	}
}

// streamKey finds the field of a subscription in the context of its events.
type streamKey struct{}

func streaming(ctx context.Context) bool { return ctx.Value(streamKey{}) != nil }

// InterceptResponse opens a session for the response: that of a query or
// mutation, or of one event of a subscription.
func (s session) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	ctx = s.open(ctx)
	stream, ok := ctx.Value(streamKey{}).(*graphql.FieldContext)
	if !ok {
		return next(ctx)
	}
	// gqlgen forgets the field between events: errors would have no place.
	field := *stream
	resp := next(graphql.WithFieldContext(ctx, &field))
	if resp != nil && len(resp.Errors) > 0 && string(resp.Data) == `{"`+field.Field.Alias+`":null}` {
		resp.Data = nil // no subscription's field can be null: GraphQL has it that nothing is left
	}
	return resp
}

// InterceptRootField opens a session for each mutation.
func (s session) InterceptRootField(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
	if graphql.GetOperationContext(ctx).Operation.Operation == ast.Mutation {
		ctx = s.open(ctx)
	}
	return next(ctx)
}

func (s session) open(ctx context.Context) context.Context {
	reader := s.service.Reader(exchangeOf(ctx).reader)
	return loaders.With(ctx, loaders.New(ctx, s.service, reader, s.observe))
}
