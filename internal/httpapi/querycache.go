package httpapi

import (
	"context"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/vektah/gqlparser/v2/ast"
)

// The bounds of the cache of parsed queries.
const (
	cachedQueries = 1_000
	cachedBytes   = 32 << 20
	// A parsed query takes about this many times the bytes of its text.
	parsedFactor = 60
	// A query above this is parsed anew each time: it is no app's own.
	cachedLength = 16 << 10
)

// queryCache keeps the parsed and validated queries that were used last,
// bounded in number and in bytes.
type queryCache struct {
	mu       sync.Mutex
	lru      *simplelru.LRU[string, *ast.QueryDocument]
	bytes    int
	maxBytes int
}

var _ graphql.Cache[*ast.QueryDocument] = (*queryCache)(nil)

func newQueryCache(entries, maxBytes int) *queryCache {
	c := &queryCache{maxBytes: maxBytes}
	// The only error is about a size that is not positive.
	c.lru, _ = simplelru.NewLRU(entries, func(text string, _ *ast.QueryDocument) { c.bytes -= weight(text) })
	return c
}

func weight(text string) int { return len(text) * parsedFactor }

// Get gives a parsed query.
func (c *queryCache) Get(_ context.Context, text string) (*ast.QueryDocument, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(text)
}

// Add keeps a parsed query, in the place of those that were not used for long.
func (c *queryCache) Add(_ context.Context, text string, doc *ast.QueryDocument) {
	if len(text) > cachedLength {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lru.Contains(text) {
		return
	}
	c.bytes += weight(text)
	c.lru.Add(text, doc)
	for c.bytes > c.maxBytes {
		c.lru.RemoveOldest()
	}
}

// CachedQueries tells how many parsed queries are kept, and about how many
// bytes they take.
func (s *Server) CachedQueries() (entries, size int) {
	s.queries.mu.Lock()
	defer s.queries.mu.Unlock()
	return s.queries.lru.Len(), s.queries.bytes
}
