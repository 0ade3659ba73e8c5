package httpapi

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"feedgate/feed"
	"feedgate/loaders"
)

// session gives each response a reader and loaders of its own. Each mutation
// of a request gets fresh ones: it must see what the one before has changed.
type session struct {
	service *feed.Service
	observe func(loader string, size int)
}

var _ interface {
	graphql.HandlerExtension
	graphql.ResponseInterceptor
	graphql.RootFieldInterceptor
} = session{}

// ExtensionName names the extension.
func (session) ExtensionName() string { return "Session" }

// Validate accepts every schema.
func (session) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptResponse opens a session for the response.
func (s session) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	return next(s.open(ctx))
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
