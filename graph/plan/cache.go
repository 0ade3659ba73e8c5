package plan

import (
	"context"
	"sync"
	"weak"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
)

// maxCached bounds a cache by the fields of all its selections.
const maxCached = 50_000

// Cache keeps selections of queries that are sent again and again. The queries
// themselves are kept by whoever parses them: a cache does not hold on to them.
type Cache struct {
	mu     sync.RWMutex
	known  map[cacheKey]*Selection
	fields int
}

type cacheKey struct {
	field weak.Pointer[ast.Field]
	t     Type
}

// Of reads what the current field asks of the object that it returns, or of
// the objects in its list.
func (c *Cache) Of(ctx context.Context, t Type) *Selection {
	f := &graphql.GetFieldContext(ctx).Field
	key := cacheKey{weak.Make(f.Field), t}
	c.mu.RLock()
	s := c.known[key]
	c.mu.RUnlock()
	if s != nil && alone(f) {
		return s
	}
	r := reading{op: graphql.GetOperationContext(ctx), constant: alone(f)}
	s = r.compile(f.Selections, t)
	if r.constant {
		c.add(key, s, r.fields)
	}
	return s
}

// alone reports whether a field was not merged with others of its name: which
// ones are may depend on variables.
func alone(f *graphql.CollectedField) bool { return len(f.Selections) == len(f.SelectionSet) }

func (c *Cache) add(key cacheKey, s *Selection, fields int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || c.fields+fields > maxCached {
		c.known, c.fields = make(map[cacheKey]*Selection), 0
	}
	if _, there := c.known[key]; !there {
		c.known[key] = s
		c.fields += fields + 1
	}
}
