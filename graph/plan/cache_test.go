package plan

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"feedgate/graph"
	"feedgate/graph/model"
)

// parsed gives a query that is valid in the schema.
func parsed(t *testing.T, query string) *ast.QueryDocument {
	t.Helper()
	doc, errs := gqlparser.LoadQueryWithRules(graph.NewExecutableSchema(graph.Config{}).Schema(), query, rules.NewDefaultRules())
	if errs != nil {
		t.Fatal(errs)
	}
	return doc
}

// rooted gives the context of a query's last root field.
func rooted(t *testing.T, doc *ast.QueryDocument, vars map[string]any) context.Context {
	t.Helper()
	op := &graphql.OperationContext{Doc: doc, Operation: doc.Operations[0], Variables: vars}
	ctx := graphql.WithOperationContext(t.Context(), op)
	roots := graphql.CollectFields(op, doc.Operations[0].SelectionSet, []string{"Query"})
	return graphql.WithFieldContext(ctx, &graphql.FieldContext{Field: roots[len(roots)-1]})
}

func TestNeedsAreFoundWhereverTheyStand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query string
		want  model.Part
	}{
		{`{ followFeed { edges { cursor } pageInfo { endCursor } completeSince } }`, 0},
		{`{ followFeed { nodes { id text kind publishedAt media { url } link { url } place { latitude } topics attributes } } }`, 0},
		{`{ followFeed { nodes { author { handle } } } }`, model.PartUsers},
		{`{ f: followFeed { e: edges { n: node { a: author { h: handle } } } } }`, model.PartUsers},
		{`{ followFeed { ...a } } fragment a on FollowFeedConnection { edges { ...b } } fragment b on FollowFeedEdge { node { ... on Post { ... on Node { id } likeCount } } }`, model.PartStats},
		{`{ followFeed { nodes { id } edges { node { viewerHasLiked } } } }`, model.PartLiked},
		{`{ followFeed { nodes { repostOf { viewerHasReposted author { followerCount } } } } }`, model.PartOriginal | model.PartReposted | model.PartUsers | model.PartCounts},
		{`{ followFeed { nodes { comments(first: 2) { nodes { text } } } } }`, model.PartStats | model.PartComments},
		{`{ followFeed { nodes { comments { edges { node { author { viewerFollows followsViewer } } } } } } }`, model.PartStats | model.PartComments | model.PartUsers | model.PartRelations | model.PartFollowsMe},
		{`{ followFeed { nodes { id @skip(if: true) likeCount @skip(if: true) author @include(if: false) { handle } } } }`, 0},
	} {
		if got := (&Cache{}).Of(rooted(t, parsed(t, c.query), nil), FollowFeedConnection).Need; got != c.want {
			t.Errorf("%s: needs %#x, want %#x", c.query, got, c.want)
		}
	}
}

func TestOnlyWhatDependsOnNoVariableIsCached(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query  string
		cached bool
	}{
		{`query($x: Boolean!, $n: Int) { followFeed(first: $n) { nodes { id author { handle } comments(first: 2) { nodes { text } } } } }`, true},
		{`query($x: Boolean!, $n: Int) { followFeed(first: $n) { nodes { id likeCount @include(if: $x) } } }`, false},
		{`query($x: Boolean!, $n: Int) { followFeed(first: $n) { ...a @include(if: $x) pageInfo { endCursor } } } fragment a on FollowFeedConnection { nodes { likeCount } }`, false},
		{`query($x: Boolean!, $n: Int) { followFeed(first: $n) { ...a pageInfo { endCursor } } } fragment a on FollowFeedConnection { nodes { likeCount @skip(if: $x) } }`, false},
		{`query($x: Boolean!, $n: Int) { followFeed(first: $n) { nodes { comments(first: $n) { nodes { text } } } } }`, false},
		{`query($x: Boolean!, $n: Int) { followFeed(first: $n) { nodes { id } } ... @include(if: $x) { followFeed(first: $n) { nodes { likeCount } } } }`, false},
	} {
		doc := parsed(t, strings.Replace(c.query, "{ followFeed", "{ __typename @skip(if: $x) followFeed", 1))
		cache := &Cache{}
		var got []string
		for _, x := range []bool{true, false, true} {
			s := cache.Of(rooted(t, doc, map[string]any{"x": x, "n": int64(2)}), FollowFeedConnection)
			fresh := (&Cache{}).Of(rooted(t, doc, map[string]any{"x": x, "n": int64(2)}), FollowFeedConnection)
			if s.Need != fresh.Need || s.direct != fresh.direct {
				t.Errorf("%s, x %v: needs %#x, want %#x", c.query, x, s.Need, fresh.Need)
			}
			got = append(got, fmt.Sprintf("%p", s))
		}
		if cached := got[0] == got[2]; cached != c.cached {
			t.Errorf("%s: cached is %v, want %v", c.query, cached, c.cached)
		}
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	cache := &Cache{}
	for i := range 3_000 {
		doc := parsed(t, fmt.Sprintf(`{ followFeed { nodes { a%d: id text kind topics likeCount commentCount repostCount publishedAt attributes viewerHasLiked viewerHasReposted author { id handle name bio } } } }`, i))
		cache.Of(rooted(t, doc, nil), FollowFeedConnection)
		if cache.fields > maxCached {
			t.Fatalf("%d fields are kept, want at most %d", cache.fields, maxCached)
		}
	}
}
