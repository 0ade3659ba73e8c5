package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"feedgate/feed"
	"feedgate/internal/httpapi"
)

// stoppedClock makes the cursors of two answers the same.
type stoppedClock struct{}

func (stoppedClock) Now() time.Time { return time.UnixMilli(1_780_000_000_123) }

// leaves are the fields without fields of their own.
var leaves = map[string][]string{
	"Post": {
		"__typename", "id", "kind", "text", "topics", "attributes", "publishedAt", "likeCount", "commentCount", "repostCount",
		"viewerHasLiked", "viewerHasReposted",
	},
	"User": {
		"__typename", "id", "handle", "name", "avatarUrl", "bio", "createdAt", "followerCount", "followeeCount", "postCount",
		"viewerFollows", "followsViewer", "viewerBlocks", "viewerMutes",
	},
	"Comment":  {"__typename", "id", "text", "publishedAt"},
	"Media":    {"__typename", "url", "alt", "width", "height"},
	"Link":     {"__typename", "url", "title"},
	"Place":    {"__typename", "latitude", "longitude", "precision"},
	"PageInfo": {"__typename", "hasNextPage", "hasPreviousPage", "startCursor", "endCursor"},
	"Delivery": {"__typename", "state", "total"},
	"RedDot":   {"__typename", "feedCount", "feedCountCapped", "noticeCount", "changedAt"},
}

// objects are the fields with fields of their own, and their types.
var objects = map[string]map[string]string{
	"Post": {
		"author": "User", "media": "Media", "link": "Link", "place": "Place", "repostOf": "Post",
		"comments(first: 1)": "CommentConnection", "comments(first: 2)": "CommentConnection", "comments(first: $n)": "CommentConnection",
		"comments(first: 2, after: null)": "CommentConnection", "comments": "CommentConnection", "delivery": "Delivery",
	},
	"User":                 {"posts(first: 2)": "PostConnection", "followers(first: 3)": "UserConnection", "followees": "UserConnection"},
	"Comment":              {"author": "User", "post": "Post"},
	"CommentConnection":    {"edges": "CommentEdge", "nodes": "Comment", "pageInfo": "PageInfo"},
	"CommentEdge":          {"node": "Comment"},
	"FollowFeedConnection": {"edges": "FollowFeedEdge", "nodes": "Post", "pageInfo": "PageInfo", "redDot": "RedDot"},
	"RedDot":               {"newestPost": "Post"},
	"FollowFeedEdge":       {"node": "Post"},
	"NearbyFeedConnection": {"edges": "NearbyFeedEdge", "nodes": "Post", "pageInfo": "PageInfo"},
	"NearbyFeedEdge":       {"node": "Post"},
	// Those of a reason load by themselves.
	"RecommendFeedConnection": {"edges": "RecommendFeedEdge", "nodes": "Post", "pageInfo": "PageInfo"},
	"RecommendFeedEdge":       {"node": "Post", "reason": "RecommendReason"},
	"RecommendReason":         {"post": "Post", "user": "User"},
	"PostConnection":          {"edges": "PostEdge", "nodes": "Post", "pageInfo": "PageInfo"},
	"PostEdge":                {"node": "Post"},
	"UserConnection":          {"edges": "UserEdge", "nodes": "User", "pageInfo": "PageInfo"},
	"UserEdge":                {"node": "User"},
}

// selection draws a selection of a type: leaves and objects, aliased, doubled,
// skipped and spread over fragments.
func selection(t *rapid.T, typ string, depth int) string {
	var b strings.Builder
	b.WriteString("{ ")
	n := rapid.IntRange(1, 5).Draw(t, "fields")
	for i := range n {
		field := one(t, typ, depth)
		switch rapid.IntRange(0, 11).Draw(t, "how") {
		case 0:
			if !strings.Contains(field, ": ") {
				field = fmt.Sprintf("a%d_%d: %s", depth, i, field)
			}
			b.WriteString(field + " ")
		case 1:
			fmt.Fprintf(&b, "... on %s { %s } ", typ, field)
		case 2:
			fmt.Fprintf(&b, "... { %s } ", field)
		case 3:
			fmt.Fprintf(&b, "... @include(if: $yes) { %s } ", field)
		case 4:
			fmt.Fprintf(&b, "... @skip(if: $yes) { %s } ", field)
		default:
			b.WriteString(field + " ")
		}
	}
	b.WriteString("}")
	return b.String()
}

func one(t *rapid.T, typ string, depth int) string {
	var below []string
	for f := range objects[typ] {
		below = append(below, f)
	}
	flat := leaves[typ]
	if strings.HasSuffix(typ, "Edge") {
		flat = []string{"cursor", "__typename"}
	}
	if typ == "NearbyFeedEdge" {
		flat = append(flat, "distanceMeters")
	}
	if typ == "RecommendReason" {
		flat = []string{"__typename", "kind", "topic", "kind", "topic", "kind"}
	}
	if strings.HasSuffix(typ, "Connection") {
		flat = []string{"__typename"}
	}
	if typ == "FollowFeedConnection" {
		flat = []string{"__typename", "completeSince"}
	}
	if len(below) > 0 && depth > 0 && rapid.IntRange(0, 2).Draw(t, "object") > 0 || len(flat) == 0 {
		field := rapid.SampledFrom(sorted(below)).Draw(t, "field")
		name, _, _ := strings.Cut(field, "(")
		return fmt.Sprintf("%s_%d: %s %s", name, rapid.IntRange(0, 1_000_000).Draw(t, "alias"), field, selection(t, objects[typ][field], depth-1))
	}
	return rapid.SampledFrom(flat).Draw(t, "leaf")
}

func sorted(s []string) []string {
	for i := range s {
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
	return s
}

// variedTown has posts of all kinds, and people hidden from the reader.
func (w *world) variedTown() feed.ID {
	w.tb.Helper()
	ctx := context.Background()
	reader := w.town(6)
	ann, err := w.svc.UserByHandle(ctx, w.svc.Reader(reader), "person_0")
	w.must(err)
	other := w.person("other")
	w.must2(w.svc.Follow(ctx, w.svc.Reader(ann.ID), reader))
	full := w.publish(ann.ID, feed.NewPost{
		Text: "everything \"quoted\" \\ \n 👩‍👩‍👧", Topics: []string{"a", "b"}, Attributes: json.RawMessage(`{"a":[1,2.50,"<x>"]}`),
		Media: []feed.Media{{URL: "https://example.com/1.jpg", Alt: "one", Width: 3, Height: 4}, {URL: "https://example.com/2.jpg"}},
		Place: &feed.Place{Latitude: 1.25, Longitude: -100.0625, Precision: feed.PrecisionCity},
	})
	w.publish(ann.ID, feed.NewPost{Text: "see", Link: &feed.Link{URL: "https://example.com/", Title: "Example"}})
	w.publish(ann.ID, feed.NewPost{RepostOf: w.publish(other, feed.NewPost{Text: "the original"})})
	w.publish(reader, feed.NewPost{RepostOf: full})
	for i, by := range []feed.ID{ann.ID, other, reader} {
		w.publish(by, feed.NewPost{Text: fmt.Sprint("near ", i), Place: &feed.Place{
			Latitude: 1.25 + float64(i)/100, Longitude: -100.0625, Precision: feed.PrecisionExact,
		}})
	}
	w.publish(other, feed.NewPost{RepostOf: full, Place: &feed.Place{Latitude: 1.26, Longitude: -100.07, Precision: feed.PrecisionNeighbourhood}})
	w.publish(reader, feed.NewPost{Text: "my own", Place: &feed.Place{Latitude: 5, Longitude: 6, Precision: feed.PrecisionHidden}})
	for i := range 5 {
		by := []feed.ID{ann.ID, other, reader}[i%3]
		_, err := w.svc.CommentOn(ctx, w.svc.Reader(by), feed.NewComment{Post: full, Text: fmt.Sprint("comment ", i)})
		w.must(err)
	}
	hidden := w.person("hidden")
	_, err = w.svc.CommentOn(ctx, w.svc.Reader(hidden), feed.NewComment{Post: full, Text: "from one who blocks"})
	w.must(err)
	w.must2(w.svc.Block(ctx, w.svc.Reader(hidden), reader))
	muted, err := w.svc.UserByHandle(ctx, w.svc.Reader(reader), "person_1")
	w.must(err)
	w.must2(w.svc.Mute(ctx, w.svc.Reader(reader), muted.ID))
	return reader
}

func (w *world) must2(_ *feed.User, err error) {
	w.tb.Helper()
	w.must(err)
}

// TestTheWriterWritesWhatGqlgenWrites compares the writer with gqlgen's own
// executor, on random queries.
func TestTheWriterWritesWhatGqlgenWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *httpapi.Config) { c.Clock = stoppedClock{} })
	reader := w.variedTown()
	config := w.config
	config.ViaGqlgen = true
	slow := httpapi.New(config)
	answers := func(s *httpapi.Server, query string, vars map[string]any, as feed.ID) string {
		rec := httptest.NewRecorder()
		r := post(operation(query, vars))
		if as != 0 {
			r.Header.Set("X-Feedgate-User", as.String())
		}
		s.ServeHTTP(rec, r)
		return rec.Body.String()
	}
	began, err := w.svc.RecommendFeed(context.Background(), w.svc.Reader(reader), 1, nil, nil, feed.Want{})
	w.must(err)
	recommended := fmt.Sprintf("recommendFeed(first: 20, after: %q)", feed.EncodeSessionMark(feed.SessionMark{Session: began.EndMark.Session}))
	const nearby = "nearbyFeed(near: {latitude: 1.25, longitude: -100.0625}, first: 20)"
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		root := rapid.SampledFrom([]string{"followFeed(first: 20)", nearby, recommended, "posts", "followers", "followees(first: 1)"}).Draw(t, "root")
		var query string
		switch root {
		case "followFeed(first: 20)":
			query = root + " " + selection(t, "FollowFeedConnection", 5)
		case nearby:
			query = root + " " + selection(t, "NearbyFeedConnection", 5)
		case recommended:
			query = root + " " + selection(t, "RecommendFeedConnection", 5)
		case "posts":
			query = `user(handle: "person_0") { posts ` + selection(t, "PostConnection", 4) + " }"
		default:
			query = `user(handle: "person_0") { ` + root + " " + selection(t, "UserConnection", 4) + " }"
		}
		query = "query($n: Int, $yes: Boolean!) { __typename @skip(if: $yes) n: nodes(ids: []) @include(if: $yes) { id } t: viewer { id } " +
			"c: viewer { posts(first: $n) { __typename } } " + query + " }"
		n := rapid.SampledFrom([]int{1, 2, 3, 4, 1, 2, 3, 4, 1, 0}).Draw(t, "n")
		vars := map[string]any{"n": n, "yes": rapid.Bool().Draw(t, "yes")}
		as := rapid.SampledFrom([]feed.ID{reader, reader, reader, reader, 0}).Draw(t, "reader")
		if root == recommended {
			as = reader // whose session it is
		}
		got, want := answers(w.server, query, vars, as), answers(slow, query, vars, as)
		if sortErrors(got) != sortErrors(want) {
			t.Fatalf("%s\n%v\ngot  %s\nwant %s", query, vars, got, want)
		}
		if !strings.Contains(want, `"errors"`) {
			compared++
		}
	})
	t.Logf("%d answers without errors", compared)
	if compared == 0 {
		t.Error("all answers were errors")
	}
}

// sortErrors takes the errors away from an answer, but for their number: their
// order depends on goroutines.
func sortErrors(text string) string {
	var a struct {
		Data   json.RawMessage   `json:"data"`
		Errors []json.RawMessage `json:"errors"`
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return text
	}
	return fmt.Sprint(len(a.Errors), " errors: ", string(a.Data))
}
