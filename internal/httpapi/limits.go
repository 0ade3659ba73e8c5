package httpapi

import (
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"feedgate/feed"
)

// The limits of one query.
const (
	maxQuery   = 64 << 10 // bytes of text
	maxTokens  = 2_000    // of the text
	maxDepth   = 15       // fields within fields
	maxAliases = 100
	maxRoots   = 30 // fields of Query or Mutation
	maxCost    = 30_000
	// listCost is what a list costs beside its elements: it is read by itself.
	listCost = 50
)

// limits refuses queries that ask for too much, before anything is loaded.
type limits struct {
	queries       *queryCache
	introspection bool
}

var _ interface {
	graphql.HandlerExtension
	graphql.OperationParameterMutator
	graphql.OperationContextMutator
} = limits{}

// ExtensionName names the extension.
func (limits) ExtensionName() string { return "Limits" }

// Validate accepts every schema.
func (limits) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters refuses a text that is too long to be parsed, or
// too repetitive to be validated.
func (l limits) MutateOperationParameters(ctx context.Context, p *graphql.RawParams) *gqlerror.Error {
	if len(p.Query) > maxQuery {
		return gqlerror.Wrap(tooComplex(fmt.Sprintf("a query has at most %d bytes: pass what is long in variables", maxQuery)))
	}
	if l.queries.repetitive(ctx, p.Query) {
		return gqlerror.Wrap(tooComplex("this query repeats itself too often: name each field once, or a few times"))
	}
	return nil
}

// MutateOperationContext refuses an operation that is too deep, too wide or
// too costly.
func (l limits) MutateOperationContext(_ context.Context, op *graphql.OperationContext) *gqlerror.Error {
	op.DisableIntrospection = !l.introspection
	m := meter{vars: op.Variables, introspection: l.introspection}
	cost := m.set(op.Operation.SelectionSet, 1)
	switch {
	case m.refused != nil:
		return gqlerror.Wrap(m.refused)
	case m.roots > maxRoots:
		return gqlerror.Wrap(tooComplex(fmt.Sprintf("an operation has at most %d fields at its root: send several requests", maxRoots)))
	case cost > maxCost:
		return gqlerror.Wrap(tooComplex(fmt.Sprintf("this query may cost more than %d: ask for shorter pages, or fewer lists within lists", maxCost)))
	}
	return nil
}

// meter adds up what an operation may cost: one for each field, lists times
// their page sizes. It stops at the first limit, so that fragments that spread
// fragments cannot make it run long.
type meter struct {
	vars          map[string]any
	introspection bool
	aliases       int
	roots         int
	steps         int
	refused       *feed.Error
}

func (m *meter) refuse(text string) int {
	if m.refused == nil {
		m.refused = tooComplex(text)
	}
	return 0
}

func (m *meter) set(set ast.SelectionSet, depth int) int {
	cost := 0
	for _, sel := range set {
		if m.refused != nil || cost > maxCost {
			return cost
		}
		m.steps++
		if m.steps > maxCost {
			return m.refuse("this query's fragments come to too much: ask for less at once")
		}
		switch sel := sel.(type) {
		case *ast.Field:
			cost += m.field(sel, depth)
		case *ast.InlineFragment:
			m.noDefer(sel.Directives)
			cost += m.set(sel.SelectionSet, depth)
		case *ast.FragmentSpread:
			m.noDefer(sel.Directives)
			cost += m.set(sel.Definition.SelectionSet, depth)
		}
	}
	return cost
}

func (m *meter) noDefer(directives ast.DirectiveList) {
	if m.refused == nil && directives.ForName("defer") != nil {
		m.refused = feed.BadInput("", "@defer is not supported over this transport: leave it out")
	}
}

func (m *meter) field(f *ast.Field, depth int) int {
	if depth > maxDepth {
		return m.refuse(fmt.Sprintf("a query is at most %d fields deep", maxDepth))
	}
	if depth == 1 {
		m.roots++
		if !m.introspection && (f.Name == "__schema" || f.Name == "__type") {
			m.refused = feed.BadInput("", "introspection is off: read the schema in feedgate's repository")
			return 0
		}
	}
	if f.Alias != f.Name {
		m.aliases++
		if m.aliases > maxAliases {
			return m.refuse(fmt.Sprintf("a query has at most %d aliases", maxAliases))
		}
	}
	if len(f.SelectionSet) == 0 {
		return 1
	}
	cost := 1 + m.set(f.SelectionSet, depth+1)
	n, list := m.size(f)
	if !list {
		return cost
	}
	// Neither factor is above 100 * maxCost: this cannot overflow.
	return listCost + n*cost
}

// size gives how many elements a list may have. What is not permitted is
// refused by the resolver: here it counts as the most that is.
func (m *meter) size(f *ast.Field) (int, bool) {
	if f.Definition == nil {
		return 0, false
	}
	if f.Definition.Arguments.ForName("first") != nil {
		n := feed.DefaultPage
		if arg := f.Arguments.ForName("first"); arg != nil {
			n = m.number(arg.Value)
		}
		return n, true
	}
	if f.Definition.Arguments.ForName("ids") != nil {
		arg := f.Arguments.ForName("ids")
		return m.length(arg), arg != nil
	}
	return 0, false
}

func (m *meter) number(v *ast.Value) int {
	given, err := v.Value(m.vars)
	if err != nil {
		return feed.MaxPage
	}
	if given == nil {
		return feed.DefaultPage
	}
	n, err := graphql.UnmarshalInt(given)
	if err != nil || n < 1 || n > feed.MaxPage {
		return feed.MaxPage
	}
	return n
}

func (m *meter) length(arg *ast.Argument) int {
	if arg == nil {
		return 0
	}
	given, err := arg.Value.Value(m.vars)
	if list, ok := given.([]any); ok && err == nil {
		return min(len(list), feed.MaxPage)
	}
	return 1
}
