package recommend

import (
	"context"
	"sync"

	"feedgate/feed"
)

// known is what the learner keeps of a post. Posts never change, and a deleted
// one counts as it did, so that it may be kept as long as there is room.
type known struct {
	author, target, targetAuthor feed.ID // target is the original of a repost without words
	topics                       []string
}

const (
	knownPosts = 50_000 // kept in memory
	knownBatch = 500    // read from the record at once
)

// postCache keeps what is known of posts.
type postCache struct {
	record interface {
		PostsByID(ctx context.Context, ids []feed.ID) ([]feed.PostRow, error)
	}
	mu   sync.Mutex
	kept map[feed.ID]known
}

// of returns what is known of posts and of the originals of reposts.
func (c *postCache) of(ctx context.Context, ids []feed.ID) (map[feed.ID]known, error) {
	found := make(map[feed.ID]known, len(ids))
	if err := c.read(ctx, ids, found); err != nil {
		return nil, err
	}
	var originals []feed.ID
	for _, k := range found {
		if _, ok := found[k.target]; k.target != 0 && !ok {
			originals = append(originals, k.target)
		}
	}
	return found, c.read(ctx, originals, found)
}

func (c *postCache) read(ctx context.Context, ids []feed.ID, found map[feed.ID]known) error {
	missing := c.look(ids, found)
	for from := 0; from < len(missing); from += knownBatch {
		rows, err := c.record.PostsByID(ctx, missing[from:min(from+knownBatch, len(missing))])
		if err != nil {
			return err
		}
		c.keep(rows, found)
	}
	return nil
}

// look takes what is kept, and returns the others.
func (c *postCache) look(ids []feed.ID, found map[feed.ID]known) []feed.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing []feed.ID
	for _, id := range ids {
		if k, ok := c.kept[id]; ok {
			found[id] = k
		} else {
			missing = append(missing, id)
		}
	}
	return feed.NewIDSet(missing)
}

func (c *postCache) keep(rows []feed.PostRow, found map[feed.ID]known) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept)+len(rows) > knownPosts {
		c.kept = make(map[feed.ID]known, len(rows))
	}
	for i := range rows {
		p := &rows[i].Post
		k := known{author: p.Author, topics: p.Topics}
		if p.RepostOf != 0 && !p.Quotes() {
			k.target, k.targetAuthor = p.RepostOf, p.OriginalAuthor
		}
		found[p.ID], c.kept[p.ID] = k, k
	}
}
