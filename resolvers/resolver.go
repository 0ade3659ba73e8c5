// Package resolvers turns GraphQL into calls of the domain: each resolver
// parses, calls and converts. There is one file for each type of the schema.
package resolvers

import (
	"context"
	"log/slog"

	"feedgate/feed"
	"feedgate/feed/live"
	"feedgate/graph"
	"feedgate/graph/plan"
	"feedgate/loaders"
)

// Root resolves everything.
type Root struct {
	Service *feed.Service
	Clock   feed.Clock
	Plans   *plan.Cache
	Log     *slog.Logger
	// Hub keeps the connected readers; without one nobody can subscribe.
	Hub *live.Hub
	// Cards are posts as subscriptions show them.
	Cards *loaders.Cards
	// Open lets anybody without a token make new people: development mode.
	Open bool
}

var _ graph.ResolverRoot = (*Root)(nil)

// Query resolves the fields of Query.
func (r *Root) Query() graph.QueryResolver { return query{r} }

// Mutation resolves the fields of Mutation.
func (r *Root) Mutation() graph.MutationResolver { return mutation{r} }

// Subscription resolves the fields of Subscription.
func (r *Root) Subscription() graph.SubscriptionResolver { return subscription{r} }

// RedDot resolves the fields of RedDot.
func (r *Root) RedDot() graph.RedDotResolver { return redDot{r} }

// Notice resolves those fields of Notice that load something by themselves.
func (r *Root) Notice() graph.NoticeResolver { return notice{r} }

// RecommendReason resolves those fields of RecommendReason that load something by themselves.
func (r *Root) RecommendReason() graph.RecommendReasonResolver { return recommendReason{r} }

// User resolves those fields of User that load something by themselves.
func (r *Root) User() graph.UserResolver { return user{r} }

// Post resolves those fields of Post that load something by themselves.
func (r *Root) Post() graph.PostResolver { return post{r} }

// Comment resolves those fields of Comment that load something by themselves.
func (r *Root) Comment() graph.CommentResolver { return comment{r} }

func (r *Root) now() int64 { return r.Clock.Now().UnixMilli() }

// reader gives the reader of the response.
func reader(ctx context.Context) *feed.Reader { return loaders.From(ctx).Reader }
