package feed_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"feedgate/feed"
)

// model is a feed in the simplest form that can be right.
type model struct {
	people  []feed.ID
	posts   []feed.Post
	follows map[[2]feed.ID]bool
	blocks  map[[2]feed.ID]bool
	mutes   map[[2]feed.ID]bool
}

func newModel() *model {
	return &model{
		follows: make(map[[2]feed.ID]bool),
		blocks:  make(map[[2]feed.ID]bool),
		mutes:   make(map[[2]feed.ID]bool),
	}
}

func (m *model) find(id feed.ID) *feed.Post {
	for i := range m.posts {
		if m.posts[i].ID == id {
			return &m.posts[i]
		}
	}
	return nil
}

func (m *model) apart(a, b feed.ID) bool {
	return m.blocks[[2]feed.ID{a, b}] || m.blocks[[2]feed.ID{b, a}]
}

func (m *model) sees(reader feed.ID, p *feed.Post) bool {
	if p == nil || p.DeletedAt != 0 || m.apart(reader, p.Author) {
		return false
	}
	return p.RepostOf == 0 || p.Text != "" || m.sees(reader, m.find(p.RepostOf))
}

func (m *model) feed(reader feed.ID) []feed.ID {
	var shown []feed.Post
	for i := range m.posts {
		p := &m.posts[i]
		if !m.sees(reader, p) {
			continue
		}
		if p.Author != reader {
			if !m.follows[[2]feed.ID{reader, p.Author}] || m.mutes[[2]feed.ID{reader, p.Author}] {
				continue
			}
			if p.RepostOf != 0 && m.mutes[[2]feed.ID{reader, p.OriginalAuthor}] {
				continue
			}
		}
		shown = append(shown, *p)
	}
	slices.SortFunc(shown, func(a, b feed.Post) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.ID, a.ID))
	})
	ids := make([]feed.ID, len(shown))
	for i := range shown {
		ids[i] = shown[i].ID
	}
	return ids
}

// machine carries out the same random operations on a world and on the model.
type machine struct {
	w *world
	m *model
}

func (c *machine) someone(t *rapid.T, label string) feed.ID {
	return rapid.SampledFrom(c.m.people).Draw(t, label)
}

func (c *machine) two(t *rapid.T) (a, b feed.ID) {
	a = c.someone(t, "who")
	b = rapid.SampledFrom(slices.DeleteFunc(slices.Clone(c.m.people), func(id feed.ID) bool { return id == a })).Draw(t, "whom")
	return a, b
}

func (c *machine) createUser(t *rapid.T) {
	if len(c.m.people) >= 7 {
		t.Skip("enough people")
	}
	c.m.people = append(c.m.people, c.w.person(fmt.Sprintf("p%d", len(c.m.people))))
}

func (c *machine) publish(t *rapid.T) {
	author := c.someone(t, "author")
	for range rapid.IntRange(1, 4).Draw(t, "posts") {
		p := c.w.post(author, "hello")
		c.m.posts = append(c.m.posts, *p)
	}
}

func (c *machine) repost(t *rapid.T) {
	if len(c.m.posts) == 0 {
		t.Skip("nothing to repost")
	}
	author := c.someone(t, "author")
	of := rapid.SampledFrom(c.m.posts).Draw(t, "of").ID
	p := c.m.find(of)
	visible := c.m.sees(author, p) && (p.RepostOf == 0 || c.m.sees(author, c.m.find(p.RepostOf)))
	made, err := c.w.svc.PublishPost(context.Background(), c.w.reader(author), feed.NewPost{
		RepostOf: of, Text: rapid.SampledFrom([]string{"", "words of my own"}).Draw(t, "words"),
	})
	if visible != (err == nil) || (err != nil && feed.CodeOf(err) != feed.CodeNotFound) {
		t.Fatalf("repost of a post that is visible=%v: got %v", visible, err)
	}
	if err == nil {
		c.m.posts = append(c.m.posts, *made)
	}
}

func (c *machine) remove(t *rapid.T) {
	standing := slices.DeleteFunc(slices.Clone(c.m.posts), func(p feed.Post) bool { return p.DeletedAt != 0 })
	if len(standing) == 0 {
		t.Skip("nothing to delete")
	}
	p := rapid.SampledFrom(standing).Draw(t, "post")
	if err := c.w.svc.DeletePost(context.Background(), c.w.reader(p.Author), p.ID); err != nil {
		t.Fatalf("DeletePost: %v", err)
	}
	c.m.find(p.ID).DeletedAt = 1
}

func (c *machine) follow(t *rapid.T) {
	a, b := c.two(t)
	_, err := c.w.svc.Follow(context.Background(), c.w.reader(a), b)
	if c.m.apart(a, b) {
		if feed.CodeOf(err) != feed.CodeForbidden {
			t.Fatalf("follow across a block: got %v, want FORBIDDEN", err)
		}
		return
	}
	if err != nil {
		t.Fatalf("Follow: %v", err)
	}
	c.m.follows[[2]feed.ID{a, b}] = true
}

// relate carries out an operation that is allowed to anybody. Those who block the
// actor stay hidden in its answer.
func (c *machine) relate(t *rapid.T, name string, op func(*feed.Service, context.Context, *feed.Reader, feed.ID) (*feed.User, error),
	set map[[2]feed.ID]bool, to bool,
) {
	a, b := c.two(t)
	hidden := c.m.blocks[[2]feed.ID{b, a}]
	user, err := op(c.w.svc, context.Background(), c.w.reader(a), b)
	if err != nil || (user == nil) != hidden {
		t.Fatalf("%s of somebody who blocks=%v: got %v, %v", name, hidden, user, err)
	}
	set[[2]feed.ID{a, b}] = to
}

// read compares one reader's whole feed, at a random page size, with the model's.
func (c *machine) read(t *rapid.T) {
	reader := c.someone(t, "reader")
	size := rapid.IntRange(1, 12).Draw(t, "size")
	got, want := pageAll(t, c.w, reader, size), c.m.feed(reader)
	if !slices.Equal(got, want) {
		t.Fatalf("feed of %d by pages of %d:\n got  %v\n want %v", reader, size, got, want)
	}
}

// objects compares single posts as one reader sees them with the model's.
func (c *machine) objects(t *rapid.T) {
	if len(c.m.posts) == 0 {
		t.Skip("no posts")
	}
	reader := c.someone(t, "reader")
	ids := make([]feed.ID, len(c.m.posts))
	for i := range c.m.posts {
		ids[i] = c.m.posts[i].ID
	}
	items, err := c.w.svc.Posts(context.Background(), c.w.reader(reader), ids)
	if err != nil {
		t.Fatalf("Posts: %v", err)
	}
	for i, it := range items {
		if want := c.m.sees(reader, &c.m.posts[i]); want != (it.Post != nil) {
			t.Fatalf("post %d for %d: got visible %v, want %v", ids[i], reader, it.Post != nil, want)
		}
	}
}

// check draws operations and carries them out.
func (c *machine) check(t *rapid.T, flush func()) {
	for i := range 3 {
		c.m.people = append(c.m.people, c.w.person(fmt.Sprintf("p%d", i)))
	}
	working := true
	c.w.startWorkers()
	t.Repeat(map[string]func(*rapid.T){
		"createUser": c.createUser,
		"publish":    c.publish,
		"publish2":   c.publish,
		"repost":     c.repost,
		"delete":     c.remove,
		"follow":     c.follow,
		"follow2":    c.follow,
		"unfollow":   func(t *rapid.T) { c.relate(t, "unfollow", (*feed.Service).Unfollow, c.m.follows, false) },
		"block":      func(t *rapid.T) { c.relate(t, "block", (*feed.Service).Block, c.m.blocks, true) },
		"unblock":    func(t *rapid.T) { c.relate(t, "unblock", (*feed.Service).Unblock, c.m.blocks, false) },
		"mute":       func(t *rapid.T) { c.relate(t, "mute", (*feed.Service).Mute, c.m.mutes, true) },
		"unmute":     func(t *rapid.T) { c.relate(t, "unmute", (*feed.Service).Unmute, c.m.mutes, false) },
		"read":       c.read,
		"read2":      c.read,
		"objects":    c.objects,
		"flush":      func(*rapid.T) { flush() },
		"workers": func(*rapid.T) {
			if working = !working; working {
				c.w.startWorkers()
			} else {
				c.w.stopWorkers()
			}
		},
		"quiet": func(t *rapid.T) {
			if !working {
				t.Skip("workers are stopped")
			}
			c.w.quiet()
		},
	})
	for _, reader := range c.m.people {
		if got, want := pageAll(t, c.w, reader, 3), c.m.feed(reader); !slices.Equal(got, want) {
			t.Fatalf("feed of %d in the end:\n got  %v\n want %v", reader, got, want)
		}
	}
}

func TestEveryPageEqualsTheModelsWhateverHappens(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]backend{"embedded": onEmbedded, "redis": onRedis} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := start(t)
			n := 0
			rapid.Check(t, func(rt *rapid.T) {
				n++
				flushAll(t, url)
				w := openWorld(t, smallLists(), url, fmt.Sprintf("%s/%d.db", t.TempDir(), n))
				defer w.close()
				c := &machine{w: w, m: newModel()}
				c.check(rt, func() { flushAll(t, url) })
			})
		})
	}
}
