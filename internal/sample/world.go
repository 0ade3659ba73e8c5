package sample

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"feedgate/feed"
)

// Ids of a sample world start here: small enough to be typed, and out of the
// way of the bundles that somebody may import beside it.
const (
	FirstUser    feed.ID = 900_000_001
	LastUser     feed.ID = 900_000_050
	firstPost    feed.ID = 910_000_001
	firstComment feed.ID = 920_000_001
)

const (
	span      = 21 * 24 * time.Hour // how far back the posts go
	ownPosts  = 6                   // the fewest posts a person has, reposts left out
	morePosts = 7                   // and how many more at most
	reposts   = 60
)

// Record is what writing a world needs of a record.
type Record interface {
	feed.ImportRecord
	// InsertComment returns false, and changes nothing, when the id is there already.
	InsertComment(ctx context.Context, c feed.Comment) (bool, error)
}

// World is everything in a sample world.
type World struct {
	Users    []feed.User
	Follows  []feed.Follow
	Posts    []feed.Post // oldest first
	Likes    []feed.Like
	Comments []feed.Comment
}

// Make makes the world of a seed as it looks at a time.
func Make(seed uint64, now time.Time) *World {
	m := &maker{
		rand:  rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // a sample must be repeatable, not secret
		now:   now.UnixMilli(),
		world: &World{},
	}
	m.users()
	m.follows()
	m.posts()
	m.repost()
	m.finish()
	m.answer()
	return m.world
}

// Write puts the world into a record. To repeat it changes nothing.
func (w *World) Write(ctx context.Context, record Record) error {
	if err := put(ctx, w.Users, record.ImportUsers); err != nil {
		return fmt.Errorf("writing the people of the sample world: %w", err)
	}
	if err := put(ctx, w.Follows, record.ImportFollows); err != nil {
		return fmt.Errorf("writing the follows of the sample world: %w", err)
	}
	if err := put(ctx, w.Posts, record.ImportPosts); err != nil {
		return fmt.Errorf("writing the posts of the sample world: %w", err)
	}
	if err := put(ctx, w.Likes, record.ImportLikes); err != nil {
		return fmt.Errorf("writing the likes of the sample world: %w", err)
	}
	for _, c := range w.Comments {
		if _, err := record.InsertComment(ctx, c); err != nil {
			return fmt.Errorf("writing the comments of the sample world: %w", err)
		}
	}
	if err := record.RecountAll(ctx, func(int64, int64) {}); err != nil {
		return fmt.Errorf("counting the sample world: %w", err)
	}
	return nil
}

// chunk is how many rows go to the record at once.
const chunk = 1000

func put[T any](ctx context.Context, rows []T, to func(context.Context, []T) ([]feed.Outcome, error)) error {
	for part := range slices.Chunk(rows, chunk) {
		outcomes, err := to(ctx, part)
		if err != nil {
			return err
		}
		for i, outcome := range outcomes {
			if outcome.State == feed.Refused {
				return fmt.Errorf("row %d was refused: %s", i, outcome.Reason)
			}
		}
	}
	return nil
}

type maker struct {
	rand  *rand.Rand
	now   int64
	world *World
}

func pick[T any](m *maker, from []T) T { return from[m.rand.IntN(len(from))] }

// ago gives a time in the past, recent ones more often.
func (m *maker) ago() int64 {
	share := math.Pow(m.rand.Float64(), 1.6)
	return m.now - int64(share*float64(span.Milliseconds())) - int64(m.rand.IntN(60_000)) - 60_000
}

func (m *maker) users() {
	bios := bios()
	for i, handle := range handles() {
		m.world.Users = append(m.world.Users, feed.User{
			ID:        FirstUser + feed.ID(i),
			Handle:    handle,
			Name:      strings.ToUpper(handle[:1]) + handle[1:],
			Bio:       bios[i%len(bios)],
			CreatedAt: m.now - span.Milliseconds() - int64(i+1)*3_600_000,
		})
	}
}

// follows lets everybody follow 8 to 24 others, the first ones more often.
func (m *maker) follows() {
	n := len(m.world.Users)
	for i := range m.world.Users {
		seen := map[int]bool{i: true}
		for want := 8 + m.rand.IntN(17); want > 0; {
			other := int(math.Pow(m.rand.Float64(), 1.5) * float64(n))
			if seen[other] {
				continue
			}
			seen[other] = true
			want--
			m.world.Follows = append(m.world.Follows, feed.Follow{
				Follower: m.world.Users[i].ID, Followee: m.world.Users[other].ID, At: m.ago(),
			})
		}
	}
}

func (m *maker) posts() {
	for i := range m.world.Users {
		for range ownPosts + m.rand.IntN(morePosts) {
			m.world.Posts = append(m.world.Posts, m.post(m.world.Users[i].ID))
		}
	}
}

func (m *maker) post(author feed.ID) feed.Post {
	subject := pick(m, subjects())
	post := feed.Post{
		Author: author,
		At:     m.ago(),
		Kind:   "original",
		Text:   pick(m, openings()) + pick(m, subject.lines) + pick(m, endings()),
	}
	for _, topic := range subject.topics {
		if m.rand.IntN(3) > 0 {
			post.Topics = append(post.Topics, topic)
		}
	}
	if m.rand.IntN(10) < 4 {
		spot := pick(m, spots())
		post.Place = &feed.Place{
			Latitude:  spot.lat + (m.rand.Float64()-0.5)/20,
			Longitude: spot.lon + (m.rand.Float64()-0.5)/20,
			Precision: pick(m, []feed.Precision{
				feed.PrecisionExact, feed.PrecisionExact, feed.PrecisionNeighbourhood, feed.PrecisionCity, feed.PrecisionHidden,
			}),
		}
		post.Text += " (" + spot.name + ")"
	}
	slug := subject.topics[0]
	switch m.rand.IntN(10) {
	case 0, 1:
		post.Kind = "photo"
		for n := range 1 + m.rand.IntN(3) {
			post.Media = append(post.Media, feed.Media{
				URL: fmt.Sprintf("https://media.example.org/%s/%d-%d.jpg", slug, m.rand.IntN(900)+100, n+1),
				Alt: "a picture about " + slug, Width: 1600, Height: 1200,
			})
		}
	case 2:
		post.Kind = "video"
		post.Media = []feed.Media{{
			URL: fmt.Sprintf("https://media.example.org/%s/%d.mp4", slug, m.rand.IntN(900)+100),
			Alt: "a short film about " + slug, Width: 1920, Height: 1080,
		}}
	case 3:
		post.Kind = "link"
		post.Link = &feed.Link{URL: fmt.Sprintf("https://example.org/%s/%d", slug, m.rand.IntN(900)+100), Title: "More about " + slug}
	case 4:
		post.Attributes = json.RawMessage(fmt.Sprintf(`{"mood":%q,"steps":%d}`,
			pick(m, []string{"calm", "curious", "tired", "glad"}), m.rand.IntN(20_000)))
	}
	return post
}

// repost lets people pass on what was written before.
func (m *maker) repost() {
	m.number()
	originals := slices.Clone(m.world.Posts)
	done := map[[2]feed.ID]bool{}
	for range reposts {
		original := pick(m, originals)
		by := pick(m, m.world.Users).ID
		at := original.At + 60_000 + m.rand.Int64N(36*3_600_000)
		if by == original.Author || at >= m.now || done[[2]feed.ID{by, original.ID}] {
			continue
		}
		done[[2]feed.ID{by, original.ID}] = true
		m.world.Posts = append(m.world.Posts, feed.Post{
			Author: by, At: at, Kind: "repost", RepostOf: original.ID, OriginalAuthor: original.Author,
		})
	}
}

// number sorts the posts by time and gives them rising ids.
func (m *maker) number() {
	slices.SortStableFunc(m.world.Posts, func(a, b feed.Post) int { return cmp.Compare(a.At, b.At) })
	for i := range m.world.Posts {
		m.world.Posts[i].ID = firstPost + feed.ID(i)
	}
}

// finish numbers everything anew, now that reposts stand between the originals.
func (m *maker) finish() {
	before := slices.Clone(m.world.Posts)
	order := make([]int, len(before))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(before[a].At, before[b].At) })
	renamed := map[feed.ID]feed.ID{}
	for i, from := range order {
		m.world.Posts[i] = before[from]
		m.world.Posts[i].ID = firstPost + feed.ID(i)
		if before[from].RepostOf == 0 {
			renamed[before[from].ID] = m.world.Posts[i].ID
		}
	}
	for i := range m.world.Posts {
		if original := m.world.Posts[i].RepostOf; original != 0 {
			m.world.Posts[i].RepostOf = renamed[original]
		}
	}
}

// answer adds likes and comments to the posts.
func (m *maker) answer() {
	for i := range m.world.Posts {
		post := &m.world.Posts[i]
		if post.RepostOf != 0 {
			continue
		}
		room := m.now - post.At
		for _, who := range m.rand.Perm(len(m.world.Users))[:m.rand.IntN(12)] {
			m.world.Likes = append(m.world.Likes, feed.Like{
				User: m.world.Users[who].ID, Post: post.ID, At: post.At + m.rand.Int64N(room), Weight: 1,
			})
		}
		if m.rand.IntN(3) > 0 {
			continue
		}
		for range 1 + m.rand.IntN(5) {
			m.world.Comments = append(m.world.Comments, feed.Comment{
				Post: post.ID, Author: pick(m, m.world.Users).ID, Text: pick(m, answers()),
				At: post.At + m.rand.Int64N(min(room, 48*3_600_000)),
			})
		}
	}
	slices.SortStableFunc(m.world.Comments, func(a, b feed.Comment) int { return cmp.Compare(a.At, b.At) })
	for i := range m.world.Comments {
		m.world.Comments[i].ID = firstComment + feed.ID(i)
	}
}
