package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"feedgate/feed"
)

const feedQuery = `query Feed($first: Int, $after: String) { followFeed(first: $first, after: $after) {
  edges { cursor node {
    id text publishedAt likeCount commentCount repostCount viewerHasLiked viewerHasReposted
    author { id handle name }
    comments(first: 2) { nodes { id text author { handle } } }
  } }
  pageInfo { hasNextPage endCursor }
} }`

// feedAnswer is what feedQuery gives.
type feedAnswer struct {
	FollowFeed struct {
		Edges []struct {
			Cursor string
			Node   *struct {
				ID, Text, PublishedAt                string
				LikeCount, CommentCount, RepostCount int
				ViewerHasLiked, ViewerHasReposted    bool
				Author                               *struct{ ID, Handle, Name string }
				Comments                             struct {
					Nodes []struct {
						ID, Text string
						Author   *struct{ Handle string }
					}
				}
			}
		}
		PageInfo struct {
			HasNextPage bool
			EndCursor   *string
		}
	}
}

func TestFolloweesComeInTheOrderOfTheFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader, ann, bob, eve := w.person("reader"), w.person("ann"), w.person("bob"), w.person("eve")
	for i, id := range []feed.ID{bob, eve, ann} {
		_, err := w.record.Follow(context.Background(), feed.Follow{Follower: reader, Followee: id, At: int64(1000 + i)})
		w.must(err)
	}
	if a := w.as(reader, `{ viewer { followees { nodes { handle } } } }`, nil); a.text != `{"data":{"viewer":{"followees":{"nodes":[{"handle":"ann"},{"handle":"eve"},{"handle":"bob"}]}}}}` {
		t.Errorf("got %s", a.text)
	}
}

func TestFollowFeedPagesExactly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reader := w.town(23)
	var got []string
	vars := map[string]any{"first": 7}
	for range 10 {
		var page feedAnswer
		w.as(reader, feedQuery, vars).into(t, &page)
		for _, e := range page.FollowFeed.Edges {
			got = append(got, strings.TrimSuffix(strings.Fields(e.Node.Text)[1], ":"))
			if len(e.Node.Comments.Nodes) != 2 || e.Node.CommentCount != 2 {
				t.Errorf("%s has comments %v, count %d, want 2", e.Node.ID, e.Node.Comments.Nodes, e.Node.CommentCount)
			}
			if e.Node.Author == nil || !strings.HasPrefix(e.Node.Author.Handle, "person_") {
				t.Errorf("%s has author %v", e.Node.ID, e.Node.Author)
			}
		}
		if !page.FollowFeed.PageInfo.HasNextPage {
			break
		}
		vars["after"] = *page.FollowFeed.PageInfo.EndCursor
	}
	var want []string
	for i := 22; i >= 0; i-- {
		want = append(want, strconv.Itoa(i))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got posts %v, want %v", got, want)
	}
}

func TestFollowFeedNeedsAReader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if a := w.as(0, feedQuery, nil); a.code() != "UNAUTHENTICATED" {
		t.Errorf("nobody: got %s, want UNAUTHENTICATED", a.text)
	}
	if a := w.as(999, feedQuery, nil); a.code() != "UNAUTHENTICATED" {
		t.Errorf("a reader without a profile: got %s, want UNAUTHENTICATED", a.text)
	}
	var got struct{ Viewer *struct{ ID string } }
	w.as(0, `{ viewer { id } }`, nil).into(t, &got)
	if got.Viewer != nil {
		t.Errorf("viewer of nobody is %v, want null", got.Viewer)
	}
	w.as(999, `{ viewer { id } }`, nil).into(t, &got)
	if got.Viewer != nil {
		t.Errorf("viewer without a profile is %v, want null", got.Viewer)
	}
}

func TestNodesKeepTheOrderOfIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	p := w.publish(ann, feed.NewPost{Text: "first"})
	q := w.publish(bob, feed.NewPost{Text: "second"})
	var made struct {
		CommentOnPost struct{ Comment struct{ ID string } }
	}
	w.as(bob, `mutation($p: ID!) { commentOnPost(input: {postId: $p, text: "hello"}) { comment { id } } }`,
		map[string]any{"p": "post:" + p.String()}).into(t, &made)
	comment := made.CommentOnPost.Comment.ID
	ids := []string{
		"post:" + q.String(), "user:" + ann.String(), comment, "post:1", "post:" + p.String(), "user:" + bob.String(), "user:7", "comment:9", "post:" + q.String(),
	}
	var got struct {
		Nodes []*struct {
			Typename string `json:"__typename"`
			ID       string
			Text     string
			Handle   string
			Author   *struct{ Handle string }
			Post     *struct {
				ID     string
				Author struct{ Handle string }
			}
		}
	}
	w.as(0, `query($ids: [ID!]!) { nodes(ids: $ids) { __typename id
		... on Post { text author { handle } } ... on User { handle }
		... on Comment { text author { handle } post { id author { handle } } } } }`, map[string]any{"ids": ids}).into(t, &got)
	if len(got.Nodes) != len(ids) {
		t.Fatalf("got %d nodes, want %d", len(got.Nodes), len(ids))
	}
	for i, n := range got.Nodes {
		missing := ids[i] == "post:1" || ids[i] == "user:7" || ids[i] == "comment:9"
		switch {
		case missing != (n == nil):
			t.Errorf("node %s is %+v", ids[i], n)
		case n != nil && n.ID != ids[i]:
			t.Errorf("node %d is %s, want %s", i, n.ID, ids[i])
		}
	}
	if c := got.Nodes[2]; c.Author == nil || c.Author.Handle != "bob" || c.Post == nil || c.Post.Author.Handle != "ann" {
		t.Errorf("comment is %+v", c)
	}
}

func TestIDsAreCheckedForTheirKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	for _, c := range []struct {
		query, field string
	}{
		{`{ post(id: "comment:9") { id } }`, "id"},
		{`{ post(id: "9") { id } }`, "id"},
		{`{ node(id: "planet:9") { id } }`, "id"},
		{`{ node(id: "post:") { id } }`, "id"},
		{`{ node(id: "post:-1") { id } }`, "id"},
		{`{ node(id: "post:99999999999999999999") { id } }`, "id"},
		{`{ nodes(ids: ["post:1", "nonsense"]) { id } }`, "ids"},
		{`{ user(id: "post:1") { id } }`, "id"},
		{`{ user { id } }`, "id"},
		{`{ user(id: "user:1", handle: "ann") { id } }`, "id"},
		{`mutation { likePost(input: {postId: "comment:9"}) { post { id } } }`, "postId"},
		{`mutation { followUser(input: {userId: "post:9"}) { user { id } } }`, "userId"},
		{`mutation { deleteComment(input: {commentId: "post:9"}) { deletedCommentId } }`, "commentId"},
		{`mutation { publishPost(input: {repostOf: "user:9"}) { post { id } } }`, "repostOf"},
		{`{ followFeed(after: "nonsense") { nodes { id } } }`, "after"},
		{`{ user(handle: "ann") { posts(after: "nonsense") { nodes { id } } } }`, "after"},
	} {
		a := w.as(ann, c.query, nil)
		if a.code() != "BAD_USER_INPUT" || a.Errors[0].Extensions.Field != c.field {
			t.Errorf("%s: got %s, want BAD_USER_INPUT with field %q", c.query, a.text, c.field)
		}
	}
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf("post:%d", i+1)
	}
	if a := w.as(ann, `query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, map[string]any{"ids": many}); a.code() != "BAD_USER_INPUT" {
		t.Errorf("101 ids: got %s, want BAD_USER_INPUT", a.text)
	}
}

func TestFirstIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	p := w.publish(ann, feed.NewPost{Text: "x"})
	for _, first := range []string{"-1", "0", "101", "3000000000", "99999999999999999999", "-3000000000"} {
		for _, q := range []string{
			`{ followFeed(first: %s) { nodes { id } } }`,
			`{ user(handle: "ann") { posts(first: %s) { nodes { id } } } }`,
			`{ user(handle: "ann") { followers(first: %s) { nodes { id } } } }`,
			`{ post(id: "post:` + p.String() + `") { comments(first: %s) { nodes { id } } } }`,
		} {
			a := w.as(ann, fmt.Sprintf(q, first), nil)
			if a.code() != "BAD_USER_INPUT" {
				t.Errorf("literal: %s: got %s, want BAD_USER_INPUT", fmt.Sprintf(q, first), a.text)
			}
		}
		a := w.as(ann, `query($n: Int) { followFeed(first: $n) { nodes { id } } }`, map[string]any{"n": json.Number(first)})
		if a.code() != "BAD_USER_INPUT" {
			t.Errorf("variable: first %s: got %s, want BAD_USER_INPUT", first, a.text)
		}
	}
}

func TestAnEmptyPageHasNoCursors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	a := w.as(ann, `{ followFeed { edges { cursor } nodes { id } completeSince pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`, nil)
	want := `{"data":{"followFeed":{"edges":[],"nodes":[],"completeSince":null,"pageInfo":{"hasNextPage":false,"hasPreviousPage":false,"startCursor":null,"endCursor":null}}}}`
	if a.text != want {
		t.Errorf("got  %s\nwant %s", a.text, want)
	}
}

func TestPlacesAreShownAsTheirAuthorsAllow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	for _, c := range []struct {
		precision feed.Precision
		others    string
	}{
		{feed.PrecisionExact, `{"latitude":40.7128,"longitude":-74.006,"precision":"EXACT"}`},
		{feed.PrecisionHidden, `null`},
	} {
		id := w.publish(ann, feed.NewPost{Text: "here", Place: &feed.Place{Latitude: 40.7128, Longitude: -74.006, Precision: c.precision}})
		q := `{ post(id: "post:` + id.String() + `") { place { latitude longitude precision } } }`
		if a := w.as(bob, q, nil); a.text != `{"data":{"post":{"place":`+c.others+`}}}` {
			t.Errorf("%s: others see %s, want %s", c.precision, a.text, c.others)
		}
		own := `{"latitude":40.7128,"longitude":-74.006,"precision":"` + string(c.precision) + `"}`
		if a := w.as(ann, q, nil); a.text != `{"data":{"post":{"place":`+own+`}}}` {
			t.Errorf("%s: the author sees %s, want %s", c.precision, a.text, own)
		}
	}
}
