package feed

import "context"

// scan reads a list of posts downward, as one reader sees it: it takes what
// comes next in a listing, brings the posts and decides which of them are shown.
type scan struct {
	s     *Service
	t     *trip
	v     view
	stats bool
	cold  bool    // expect details to be missing from the hot data as well
	from  listing // nil where the posts are known already
}

// listing is what a list is read from, newest first. It belongs to one
// response and is read downward.
type listing interface {
	// list gives the next entries strictly below a position, at most limit.
	list(ctx context.Context, below Position, limit int) (found, error)
	// ghosts is told which of the entries have no posts, so that they go.
	ghosts(ids []ID)
}

// found is what a listing gives.
type found struct {
	entries []Entry
	done    bool // there is none below the last of them
	// reached is how far the listing has looked below the last entry; the zero
	// value stands for the last entry itself.
	reached Position
	loaded  *pairLoad[Post, Stats] // posts that came along, nil for none
}

// candidate is a post that may come onto the page.
type candidate struct {
	Entry
	post  *Post
	stats *Stats
}

// next brings the posts of what comes next.
func (sc *scan) next(ctx context.Context, below Position, limit int) ([]candidate, found, error) {
	f, err := sc.from.list(ctx, below, limit)
	if err != nil {
		return nil, f, err
	}
	batch, err := sc.hydrate(ctx, f.entries, f.loaded)
	return batch, f, err
}

// hydrate brings the posts of the entries. What was loaded already is used.
func (sc *scan) hydrate(ctx context.Context, entries []Entry, loaded *pairLoad[Post, Stats]) ([]candidate, error) {
	batch := make([]candidate, len(entries))
	var rest []int
	for i, e := range entries {
		batch[i].Entry = e
		if j := loaded.index(i, e.ID); j >= 0 {
			batch[i].take(loaded, j)
		} else {
			rest = append(rest, i)
		}
	}
	if len(rest) == 0 {
		return batch, nil
	}
	load := newPostLoad(pick(entryIDs(entries), rest), sc.stats, sc.cold)
	if err := load.load(ctx, sc.t); err != nil {
		return nil, err
	}
	for n, i := range rest {
		batch[i].take(load, n)
	}
	return batch, nil
}

func (c *candidate) take(l *pairLoad[Post, Stats], i int) {
	c.post = l.first.values[i]
	if l.second != nil {
		c.stats = l.second.values[i]
	}
}

func entryIDs(entries []Entry) []ID {
	ids := make([]ID, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return ids
}

// authorPosts lists the posts of one author. The record alone has them all.
type authorPosts struct {
	record PostRecord
	author ID
}

func (a *authorPosts) list(ctx context.Context, below Position, limit int) (found, error) {
	entries, err := a.record.Entries(ctx, []ID{a.author}, below, limit)
	return found{entries: entries, done: len(entries) < limit}, err
}

func (*authorPosts) ghosts([]ID) {}
