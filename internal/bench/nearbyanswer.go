package bench

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"feedgate/feed"
	"feedgate/feed/geo"
)

const userName protowire.Number = 3

type rivalAnswer struct {
	Data struct {
		NearbyFeed struct {
			Edges    []rivalEdge `json:"edges"`
			PageInfo struct {
				HasNextPage bool   `json:"hasNextPage"`
				EndCursor   string `json:"endCursor"`
			} `json:"pageInfo"`
		} `json:"nearbyFeed"`
	} `json:"data"`
}

type rivalEdge struct {
	Cursor         string    `json:"cursor"`
	DistanceMeters int64     `json:"distanceMeters"`
	Node           rivalPost `json:"node"`
}

type rivalPost struct {
	ID          string `json:"id"`
	Text        string `json:"text"`
	PublishedAt string `json:"publishedAt"`
	LikeCount   int64  `json:"likeCount"`
	Author      struct {
		ID     string `json:"id"`
		Handle string `json:"handle"`
		Name   string `json:"name"`
	} `json:"author"`
}

// answer reads the details of a page and writes it. There is a next page when
// more than first were found.
func (p *rivals) answer(ctx context.Context, at geo.Point, page []sight, first int) ([]byte, error) {
	out := &rivalAnswer{}
	feedPage := &out.Data.NearbyFeed
	feedPage.PageInfo.HasNextPage = len(page) > first
	page = page[:min(first, len(page))]
	feedPage.Edges = make([]rivalEdge, len(page))
	if len(page) == 0 {
		return json.Marshal(out)
	}
	details := found{posts: map[feed.ID]string{}, users: map[feed.ID]string{}, stats: map[feed.ID]string{}}
	posts, stats := []any{"mget"}, []any{"mget"}
	for i := range page {
		id := page[i].ID.String()
		posts, stats = append(posts, "post:{"+id+"}"), append(stats, "stats:{"+id+"}")
	}
	if err := p.fetch(ctx, &details, posts, stats); err != nil {
		return nil, err
	}
	now := p.clock.Now().UnixMilli()
	authors := make([]feed.ID, len(page))
	for i := range page {
		s, edge := &page[i], &feedPage.Edges[i]
		edge.Cursor = feed.EncodeCursor(feed.CursorNearby, s.Position, now)
		edge.DistanceMeters = int64(math.Ceil(geo.Distance(at, s.Point)/feed.DistanceStep)) * feed.DistanceStep
		edge.Node.ID = "post:" + s.ID.String()
		edge.Node.PublishedAt = time.UnixMilli(s.At).UTC().Format("2006-01-02T15:04:05.000Z")
		eachField(details.posts[s.ID], func(n protowire.Number, number uint64, text string) {
			switch n {
			case postAuthor:
				authors[i] = feed.ID(number) //nolint:gosec // written from an id
			case postText:
				edge.Node.Text = text
			default:
			}
		})
		eachField(details.stats[s.ID], func(n protowire.Number, number uint64, _ string) {
			if n == statsLikes {
				edge.Node.LikeCount = int64(number) //nolint:gosec // written from an int64
			}
		})
	}
	users, seen := []any{"mget"}, make(map[feed.ID]bool, len(authors))
	for _, id := range authors {
		if !seen[id] {
			seen[id] = true
			users = append(users, "user:{"+id.String()+"}")
		}
	}
	if err := p.fetch(ctx, &details, users); err != nil {
		return nil, err
	}
	for i, id := range authors {
		author := &feedPage.Edges[i].Node.Author
		author.ID = "user:" + id.String()
		eachField(details.users[id], func(n protowire.Number, _ uint64, text string) {
			switch n {
			case userHandle:
				author.Handle = text
			case userName:
				author.Name = text
			default:
			}
		})
	}
	feedPage.PageInfo.EndCursor = feedPage.Edges[len(page)-1].Cursor
	return json.Marshal(out)
}

// fetch reads details in one round trip.
func (p *rivals) fetch(ctx context.Context, into *found, commands ...[]any) error {
	cmds, err := replies(ctx, p.client, commands)
	if err != nil {
		return err
	}
	for _, cmd := range cmds {
		into.take(cmd.Args(), cmd)
	}
	return nil
}
