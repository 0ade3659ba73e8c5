package httpapi

import (
	"context"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// Validation compares every two fields of one name in a selection set with each
// other, to find out whether they can be merged: two thousand of them would keep
// a core busy for a second. No app repeats itself that much.
const (
	maxRepeats = 5  // of one name in one selection set
	maxSpreads = 30 // of fragments in one selection set
)

// repetitive reports whether a query repeats itself too much to be validated.
// Queries that are kept parsed were found not to.
func (c *queryCache) repetitive(ctx context.Context, text string) bool {
	if _, known := c.Get(ctx, text); known {
		return false
	}
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, maxTokens)
	if err != nil {
		return false // the executor will tell what is wrong with it
	}
	for _, op := range doc.Operations {
		if repeats(op.SelectionSet) {
			return true
		}
	}
	for _, f := range doc.Fragments {
		if repeats(f.SelectionSet) {
			return true
		}
	}
	return false
}

func repeats(set ast.SelectionSet) bool {
	t := tally{names: make(map[string]int, len(set))}
	return t.tooMany(set)
}

// tally counts what one selection set holds, inline fragments included.
type tally struct {
	names   map[string]int
	spreads int
}

func (t *tally) tooMany(set ast.SelectionSet) bool {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			t.names[sel.Alias]++
			if t.names[sel.Alias] > maxRepeats || len(sel.SelectionSet) > 0 && repeats(sel.SelectionSet) {
				return true
			}
		case *ast.InlineFragment:
			if t.tooMany(sel.SelectionSet) {
				return true
			}
		case *ast.FragmentSpread:
			t.spreads++
			if t.spreads > maxSpreads {
				return true
			}
		}
	}
	return false
}
