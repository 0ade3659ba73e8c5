package httpapi_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"feedgate/feed"
)

func TestMutationsOfPeople(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var made struct {
		CreateUser struct {
			User struct{ ID, Handle, Name, Bio string }
		}
	}
	w.as(0, `mutation { createUser(input: {handle: "ann", name: "Ann", bio: "x"}) { user { id handle name bio } } }`, nil).into(t, &made)
	if u := made.CreateUser.User; u.Handle != "ann" || u.Name != "Ann" || u.Bio != "x" {
		t.Errorf("created %+v", u)
	}
	bob := w.person("bob")
	ann, err := feed.ParseNodeID(made.CreateUser.User.ID)
	w.must(err)
	fields := `{ user { id viewerFollows viewerBlocks viewerMutes followerCount } }`
	type state struct {
		ID                                       string
		ViewerFollows, ViewerBlocks, ViewerMutes bool
		FollowerCount                            int
	}
	id := "user:" + bob.String()
	for _, c := range []struct {
		mutation string
		want     state
	}{
		{"followUser", state{id, true, false, false, 1}},
		{"muteUser", state{id, true, false, true, 1}},
		{"unmuteUser", state{id, true, false, false, 1}},
		{"blockUser", state{id, false, true, false, 1}},
		{"unblockUser", state{id, true, false, false, 1}},
		{"unfollowUser", state{id, false, false, false, 0}},
	} {
		var got map[string]struct{ User state }
		w.as(ann.ID, fmt.Sprintf(`mutation { %s(input: {userId: %q}) %s }`, c.mutation, id, fields), nil).into(t, &got)
		if got[c.mutation].User != c.want {
			t.Errorf("%s: got %+v, want %+v", c.mutation, got[c.mutation].User, c.want)
		}
	}
	if a := w.as(ann.ID, `mutation { followUser(input: {userId: "`+ann.String()+`"}) { user { id } } }`, nil); a.code() != "BAD_USER_INPUT" {
		t.Errorf("following oneself: got %s, want BAD_USER_INPUT", a.text)
	}
	if a := w.as(ann.ID, `mutation { followUser(input: {userId: "user:7"}) { user { id } } }`, nil); a.code() != "NOT_FOUND" {
		t.Errorf("following nobody: got %s, want NOT_FOUND", a.text)
	}
	if a := w.as(0, `mutation { createUser(input: {handle: "ann"}) { user { id } } }`, nil); a.code() != "CONFLICT" || a.Errors[0].Extensions.Field != "handle" {
		t.Errorf("a taken handle: got %s, want CONFLICT with field handle", a.text)
	}
}

func TestUpdateProfileTellsLeftOutFromNull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	type profile struct {
		Name, Bio string
		AvatarURL *string
	}
	update := func(vars map[string]any) profile {
		var got struct{ UpdateProfile struct{ User profile } }
		w.as(ann, `mutation($in: UpdateProfileInput!) { updateProfile(input: $in) { user { name avatarUrl bio } } }`, map[string]any{"in": vars}).into(t, &got)
		return got.UpdateProfile.User
	}
	avatar := "https://example.com/ann.png"
	for i, c := range []struct {
		in   map[string]any
		want profile
	}{
		{map[string]any{"bio": "I am Ann"}, profile{"The ann", "I am Ann", &avatar}},
		{map[string]any{"name": nil}, profile{"", "I am Ann", &avatar}},
		{map[string]any{}, profile{"", "I am Ann", &avatar}},
		{map[string]any{"name": "Ann", "avatarUrl": nil, "bio": nil}, profile{"Ann", "", nil}},
	} {
		if got := update(c.in); !reflect.DeepEqual(got, c.want) {
			t.Errorf("step %d, %v: got %+v, want %+v", i, c.in, got, c.want)
		}
	}
}

func TestPublishedPostsComeBackAsTheyWentIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	w.follow(bob, ann)
	attributes := `{"z":1.50,"a":[true,null,"<&> \u2028 é 👩‍👩‍👧"],"big":123456789012345678901234567890,"deep":{"x":{"y":{}}}}`
	in := map[string]any{
		"text":       "Grüße 👩‍👩‍👧 \"quoted\" \\ \t\n \u202e مرحبا",
		"media":      []any{map[string]any{"url": "https://example.com/a.jpg", "alt": "a fox", "width": 640, "height": 480}},
		"topics":     []string{"foxes"},
		"attributes": json.RawMessage(attributes),
		"place":      map[string]any{"latitude": 1.5, "longitude": -2.25},
	}
	type shown struct {
		ID, Kind, Text string
		Media          []map[string]any
		Link           *struct{ URL, Title string }
		Topics         []string
		Attributes     json.RawMessage
		Place          map[string]any
		RepostOf       *struct{ ID string }
		Delivery       *struct{ State string }
	}
	fields := `{ id kind text media { url alt width height } link { url title } topics attributes place { latitude longitude precision } repostOf { id } delivery { state total delivered } }`
	var made struct{ PublishPost struct{ Post shown } }
	w.as(ann, `mutation($in: PublishPostInput!) { publishPost(input: $in) { post `+fields+` } }`, map[string]any{"in": in}).into(t, &made)
	p := made.PublishPost.Post
	if p.Text != in["text"] {
		t.Errorf("text is %q, want %q", p.Text, in["text"])
	}
	if same, err := sameJSON(p.Attributes, []byte(attributes)); err != nil || !same {
		t.Errorf("attributes are %s, want %s", p.Attributes, attributes)
	}
	if !strings.Contains(string(p.Attributes), "123456789012345678901234567890") || !strings.Contains(string(p.Attributes), "1.50") {
		t.Errorf("numbers in attributes lost digits: %s", p.Attributes)
	}
	if len(p.Media) != 1 || p.Media[0]["width"] != 640.0 || p.Place["precision"] != "EXACT" || p.Kind == "" {
		t.Errorf("got %+v", p)
	}
	if p.Delivery == nil {
		t.Error("the author sees no delivery")
	}

	var again struct{ PublishPost struct{ Post shown } }
	w.as(bob, `mutation($p: ID!) { publishPost(input: {repostOf: $p}) { post `+fields+` } }`, map[string]any{"p": p.ID}).into(t, &again)
	if r := again.PublishPost.Post; r.RepostOf == nil || r.RepostOf.ID != p.ID || r.Kind != "repost" {
		t.Errorf("repost is %+v", r)
	}

	var read struct{ FollowFeed struct{ Nodes []shown } }
	w.as(bob, `{ followFeed { nodes `+fields+` } }`, nil).into(t, &read)
	if len(read.FollowFeed.Nodes) != 2 || read.FollowFeed.Nodes[1].Text != p.Text || string(read.FollowFeed.Nodes[1].Attributes) != string(p.Attributes) {
		t.Errorf("feed is %+v", read.FollowFeed.Nodes)
	}
	if read.FollowFeed.Nodes[1].Delivery != nil {
		t.Error("somebody else sees the delivery")
	}
}

// sameJSON compares two JSON values, numbers by their digits.
func sameJSON(a, b []byte) (bool, error) {
	var x, y any
	for _, p := range []struct {
		text []byte
		v    *any
	}{{a, &x}, {b, &y}} {
		dec := json.NewDecoder(strings.NewReader(string(p.text)))
		dec.UseNumber()
		if err := dec.Decode(p.v); err != nil {
			return false, err
		}
	}
	return reflect.DeepEqual(x, y), nil
}

func TestMutationsOfPostsAndComments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	p := "post:" + w.publish(ann, feed.NewPost{Text: "x"}).String()
	var liked struct {
		A, B, C struct {
			Post struct {
				LikeCount      int
				ViewerHasLiked bool
			}
		}
	}
	// Each mutation of one request sees what the one before has changed.
	w.as(bob, fmt.Sprintf(`mutation {
		a: likePost(input: {postId: %[1]q}) { post { likeCount viewerHasLiked } }
		b: unlikePost(input: {postId: %[1]q}) { post { likeCount viewerHasLiked } }
		c: likePost(input: {postId: %[1]q}) { post { likeCount viewerHasLiked } } }`, p), nil).into(t, &liked)
	if a, b, c := liked.A.Post, liked.B.Post, liked.C.Post; a.LikeCount != 1 || !a.ViewerHasLiked || b.LikeCount != 0 || b.ViewerHasLiked || c.LikeCount != 1 || !c.ViewerHasLiked {
		t.Errorf("like, unlike, like: got %+v", liked)
	}

	var said struct {
		CommentOnPost struct {
			Comment struct {
				ID, Text string
				Author   struct{ Handle string }
				Post     struct {
					CommentCount int
					Comments     struct{ Nodes []struct{ Text string } }
				}
			}
		}
	}
	comment := fmt.Sprintf(`mutation { commentOnPost(input: {postId: %q, text: "hear, hear", clientMutationId: "1"}) { comment { id text author { handle } post { commentCount comments { nodes { text } } } } } }`, p)
	w.as(bob, comment, nil).into(t, &said)
	first := said.CommentOnPost.Comment
	if first.Author.Handle != "bob" || first.Post.CommentCount != 1 || len(first.Post.Comments.Nodes) != 1 {
		t.Errorf("comment is %+v", first)
	}
	w.as(bob, comment, nil).into(t, &said)
	if said.CommentOnPost.Comment.ID != first.ID {
		t.Errorf("the same clientMutationId made %s and %s", first.ID, said.CommentOnPost.Comment.ID)
	}

	if a := w.as(w.person("carol"), fmt.Sprintf(`mutation { deleteComment(input: {commentId: %q}) { deletedCommentId } }`, first.ID), nil); a.code() != "FORBIDDEN" {
		t.Errorf("deleting another's comment: got %s, want FORBIDDEN", a.text)
	}
	if a := w.as(bob, fmt.Sprintf(`mutation { deleteComment(input: {commentId: %q}) { deletedCommentId } }`, first.ID), nil); a.text != fmt.Sprintf(`{"data":{"deleteComment":{"deletedCommentId":%q}}}`, first.ID) {
		t.Errorf("deleteComment: %s", a.text)
	}
	if a := w.as(bob, fmt.Sprintf(`mutation { deletePost(input: {postId: %q}) { deletedPostId } }`, p), nil); a.code() != "FORBIDDEN" {
		t.Errorf("deleting another's post: got %s, want FORBIDDEN", a.text)
	}
	if a := w.as(ann, fmt.Sprintf(`mutation { deletePost(input: {postId: %q}) { deletedPostId } }`, p), nil); a.text != fmt.Sprintf(`{"data":{"deletePost":{"deletedPostId":%q}}}`, p) {
		t.Errorf("deletePost: %s", a.text)
	}
	if a := w.as(bob, fmt.Sprintf(`{ post(id: %q) { id } }`, p), nil); a.text != `{"data":{"post":null}}` {
		t.Errorf("a deleted post: %s", a.text)
	}
}

func TestMutationsNeedAReader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.person("ann")
	p := w.publish(ann, feed.NewPost{Text: "x"})
	for _, m := range []string{
		`updateProfile(input: {name: "x"}) { user { id } }`,
		`publishPost(input: {text: "x"}) { post { id } }`,
		`deletePost(input: {postId: "post:` + p.String() + `"}) { deletedPostId }`,
		`followUser(input: {userId: "user:` + ann.String() + `"}) { user { id } }`,
		`unfollowUser(input: {userId: "user:` + ann.String() + `"}) { user { id } }`,
		`blockUser(input: {userId: "user:` + ann.String() + `"}) { user { id } }`,
		`unblockUser(input: {userId: "user:` + ann.String() + `"}) { user { id } }`,
		`muteUser(input: {userId: "user:` + ann.String() + `"}) { user { id } }`,
		`unmuteUser(input: {userId: "user:` + ann.String() + `"}) { user { id } }`,
		`likePost(input: {postId: "post:` + p.String() + `"}) { post { id } }`,
		`unlikePost(input: {postId: "post:` + p.String() + `"}) { post { id } }`,
		`commentOnPost(input: {postId: "post:` + p.String() + `", text: "x"}) { comment { id } }`,
		`deleteComment(input: {commentId: "comment:1"}) { deletedCommentId }`,
	} {
		for _, reader := range []feed.ID{0, 999} {
			if a := w.as(reader, "mutation { "+m+" }", nil); a.code() != "UNAUTHENTICATED" {
				t.Errorf("reader %d, %s: got %s, want UNAUTHENTICATED", reader, m, a.text)
			}
		}
	}
}
