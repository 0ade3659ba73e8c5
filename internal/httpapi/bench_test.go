package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"feedgate/feed"
	"feedgate/internal/httpapi"
)

// plain is the handler that one would write by hand without GraphQL: it reads
// the same page and writes the same JSON.
type plain struct{ svc *feed.Service }

type (
	plainAuthor struct {
		ID     string `json:"id"`
		Handle string `json:"handle"`
		Name   string `json:"name"`
	}
	plainCommentAuthor struct {
		Handle string `json:"handle"`
	}
	plainComment struct {
		ID     string             `json:"id"`
		Text   string             `json:"text"`
		Author plainCommentAuthor `json:"author"`
	}
	plainComments struct {
		Nodes []plainComment `json:"nodes"`
	}
	plainPost struct {
		ID           string        `json:"id"`
		Text         string        `json:"text"`
		PublishedAt  string        `json:"publishedAt"`
		LikeCount    int64         `json:"likeCount"`
		CommentCount int64         `json:"commentCount"`
		RepostCount  int64         `json:"repostCount"`
		Liked        bool          `json:"viewerHasLiked"`
		Reposted     bool          `json:"viewerHasReposted"`
		Author       plainAuthor   `json:"author"`
		Comments     plainComments `json:"comments"`
	}
	plainEdge struct {
		Cursor string    `json:"cursor"`
		Node   plainPost `json:"node"`
	}
	plainFeed struct {
		Edges    []plainEdge `json:"edges"`
		PageInfo struct {
			HasNextPage bool   `json:"hasNextPage"`
			EndCursor   string `json:"endCursor"`
		} `json:"pageInfo"`
	}
	plainData struct {
		Data struct {
			FollowFeed plainFeed `json:"followFeed"`
		} `json:"data"`
	}
)

func (p plain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Variables struct {
			First int `json:"first"`
		} `json:"variables"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id, _ := strconv.ParseInt(r.Header.Get("X-Feedgate-User"), 10, 64)
	reader := p.svc.Reader(feed.ID(id))
	want := feed.Want{Stats: true, Users: true, Comments: true, Liked: true, Reposted: true}
	page, err := p.svc.FollowFeed(r.Context(), reader, in.Variables.First, feed.Newest(), want)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	now := time.Now().UnixMilli()
	var out plainData
	f := &out.Data.FollowFeed
	f.Edges = make([]plainEdge, len(page.Items))
	for i, it := range page.Items {
		e := &f.Edges[i]
		e.Cursor = feed.EncodeCursor(feed.CursorFollowFeed, it.Post.Position(), now)
		u := page.Users[it.Post.Author]
		e.Node = plainPost{
			ID: "post:" + it.Post.ID.String(), Text: it.Post.Text,
			PublishedAt: time.UnixMilli(it.Post.At).UTC().Format("2006-01-02T15:04:05.000Z"),
			LikeCount:   it.Stats.Likes, CommentCount: it.Stats.Comments, RepostCount: it.Stats.Reposts,
			Liked: page.Liked.Has(it.Post.ID), Reposted: page.Reposted.Has(it.Post.ID),
			Author: plainAuthor{ID: "user:" + u.ID.String(), Handle: u.Handle, Name: u.Name},
		}
		for _, c := range it.Stats.First[:min(2, len(it.Stats.First))] {
			e.Node.Comments.Nodes = append(e.Node.Comments.Nodes, plainComment{
				ID: "comment:" + c.ID.String(), Text: c.Text, Author: plainCommentAuthor{Handle: page.Users[c.Author].Handle},
			})
		}
	}
	f.PageInfo.HasNextPage = page.HasNext
	f.PageInfo.EndCursor = feed.EncodeCursor(feed.CursorFollowFeed, page.End, now)
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(&out); err != nil {
		panic(err)
	}
}

// sink is a response writer that costs nothing.
type sink struct {
	header http.Header
	status int
	size   int
}

func (s *sink) Header() http.Header { return s.header }

func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(p []byte) (int, error) { s.size += len(p); return len(p), nil }

// BenchmarkFollowFeedHTTP compares the handler with a plain one that reads
// the same page and writes the same JSON, and with gqlgen's own executor.
func BenchmarkFollowFeedHTTP(b *testing.B) {
	w := newWorld(b)
	reader := w.town(100)
	config := w.config
	config.ViaGqlgen = true
	handlers := []struct {
		name    string
		handler http.Handler
	}{
		{"feedgate", w.server},
		{"plain", plain{w.svc}},
		{"gqlgen", httpapi.New(config)},
	}
	for _, first := range []int{20, 100} {
		body, err := json.Marshal(map[string]any{"query": feedQuery, "variables": map[string]any{"first": first}})
		w.must(err)
		for _, h := range handlers {
			b.Run(fmt.Sprintf("%s/%d", h.name, first), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r := post(bytes.NewReader(body), "X-Feedgate-User", reader.String())
					out := &sink{header: http.Header{}}
					h.handler.ServeHTTP(out, r)
					if out.size < 400*first {
						b.Fatalf("response has %d bytes", out.size)
					}
				}
			})
		}
	}
}
