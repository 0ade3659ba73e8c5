package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"feedgate/feed"
)

func TestRecommendFeedPagesWithReasonsAndForgetsWhatWasViewed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	for i := range 5 {
		w.publish(bob, feed.NewPost{Text: fmt.Sprint("post ", i), Topics: []string{"tea"}})
	}
	type page struct {
		RecommendFeed struct {
			Edges []struct {
				Cursor string
				Node   struct{ ID string }
				Reason struct {
					Kind  string
					Topic *string
					Post  *struct{ ID string }
					User  *struct{ ID string }
				}
			}
			PageInfo struct {
				HasNextPage bool
				EndCursor   *string
			}
		}
	}
	const query = `query($after: String, $exclude: [ID!]) { recommendFeed(first: 2, after: $after, exclude: $exclude) {
		edges { cursor node { id } reason { kind topic post { id } user { id } } } pageInfo { hasNextPage endCursor } } }`
	seen := map[string]bool{}
	vars := map[string]any{}
	var first page
	for pages := 0; ; pages++ {
		var p page
		w.as(ann, query, vars).into(t, &p)
		if pages == 0 {
			first = p
		}
		for _, e := range p.RecommendFeed.Edges {
			if seen[e.Node.ID] || e.Reason.Kind != "FRESH" || e.Reason.Topic != nil || e.Reason.Post != nil || e.Reason.User != nil {
				t.Errorf("got %+v", e)
			}
			seen[e.Node.ID] = true
		}
		if !p.RecommendFeed.PageInfo.HasNextPage || pages > 5 {
			break
		}
		vars["after"] = *p.RecommendFeed.PageInfo.EndCursor
	}
	if len(seen) != 5 {
		t.Fatalf("%d posts came, want 5", len(seen))
	}
	viewed := first.RecommendFeed.Edges[0].Node.ID
	if a := w.as(ann, `mutation($ids: [ID!]!) { recordViews(input: {postIds: $ids}) { recorded } }`,
		map[string]any{"ids": []string{viewed, viewed, "post:1"}}); a.text != `{"data":{"recordViews":{"recorded":1}}}` {
		t.Errorf("recordViews: %s", a.text)
	}
	excluded := first.RecommendFeed.Edges[1].Node.ID
	for range 3 {
		var p page
		w.as(ann, query, map[string]any{"exclude": []string{excluded}}).into(t, &p)
		for _, e := range p.RecommendFeed.Edges {
			if e.Node.ID == viewed || e.Node.ID == excluded {
				t.Errorf("%s came again", e.Node.ID)
			}
		}
	}
}

func TestRecommendFeedSaysWhatIsWrongWithItsArguments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	elsewhere := feed.EncodeCursor(feed.CursorPosts, feed.Position{At: 5, ID: 6}, 7)
	many := `["` + strings.Repeat(`post:1", "`, 100) + `post:1"]`
	for query, field := range map[string]string{
		`{ recommendFeed(first: 0) { nodes { id } } }`:                          "first",
		`{ recommendFeed(first: 101) { nodes { id } } }`:                        "first",
		`{ recommendFeed(after: "") { nodes { id } } }`:                         "after",
		`{ recommendFeed(after: "` + elsewhere + `") { nodes { id } } }`:        "after",
		`{ recommendFeed(exclude: ["user:1"]) { nodes { id } } }`:               "exclude",
		`{ recommendFeed(exclude: ` + many + `) { nodes { id } } }`:             "exclude",
		`mutation { recordViews(input: {postIds: ["1"]}) { recorded } }`:        "postIds",
		`mutation { recordViews(input: {postIds: ` + many + `}) { recorded } }`: "postIds",
	} {
		if a := w.as(ann, query, nil); a.code() != "BAD_USER_INPUT" || a.Errors[0].Extensions.Field != field {
			t.Errorf("%.60s: got %s, want BAD_USER_INPUT about %s", query, a.text, field)
		}
	}
	if a := w.as(0, `mutation { recordViews(input: {postIds: []}) { recorded } }`, nil); a.code() != "UNAUTHENTICATED" {
		t.Errorf("nobody's views: %s", a.text)
	}
	if a := w.as(0, `{ recommendFeed { nodes { id } pageInfo { hasNextPage } } }`, nil); a.text !=
		`{"data":{"recommendFeed":{"nodes":[],"pageInfo":{"hasNextPage":false}}}}` {
		t.Errorf("an empty world: %s", a.text)
	}
}
