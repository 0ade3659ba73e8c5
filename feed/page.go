package feed

import (
	"context"
	"fmt"
	"sync"
)

// Want says what a query asks for along with the posts, so that it is loaded
// together.
type Want struct {
	Stats      bool // counters
	Users      bool // authors of posts and originals
	Comments   bool // first comments and, with Users, their authors; needs Stats
	Liked      bool // which of them the reader likes
	Reposted   bool // which of them the reader has reposted
	UserCounts bool // counters of the users
}

// Item is one post of a page with what belongs to it.
type Item struct {
	Post          *Post // nil: the reader may not see it, or it is not there
	Stats         *Stats
	Original      *Post // of a repost
	OriginalStats *Stats
}

// Page is one page of a list of posts.
type Page struct {
	Items  []Item
	End    Position // the last position examined
	HasEnd bool     // something was examined
	// HasNext is false only when no older visible post exists.
	HasNext bool
	// CompleteSince (ms) is the time down to which the feed is held ready; older
	// posts come from the record. 0: all of it is held ready, or none.
	CompleteSince int64

	Users      map[ID]*User       // if wanted; hidden and missing ones are left out
	UserCounts map[ID]*UserCounts // if wanted
	Liked      IDSet              // if wanted
	Reposted   IDSet              // if wanted
}

// read fills a page: it takes candidates, examines them in order and keeps those
// that the reader sees and that belong into the list, until the page is full,
// the source is exhausted or the refills are used up.
func (sc *scan) read(ctx context.Context, p *Page, first int, below Position, belongs func(*Post) bool) error {
	pos := below
	limit := first + 1 // one more tells whether there is a next page
	for refill := 0; ; refill++ {
		batch, f, err := sc.next(ctx, pos, limit)
		if err != nil {
			return err
		}
		items, err := sc.judge(ctx, batch, belongs)
		if err != nil {
			return err
		}
		for i := range batch {
			if len(p.Items) == first {
				p.HasNext = true
				return nil
			}
			pos = batch[i].Position()
			p.End, p.HasEnd = pos, true
			if items[i].Post != nil {
				p.Items = append(p.Items, items[i])
			}
		}
		if f.reached != (Position{}) {
			pos = f.reached
			p.End, p.HasEnd = pos, true
		}
		switch {
		case f.done:
			return nil
		case len(p.Items) == first || refill == maxRefills:
			p.HasNext = true
			return nil
		}
		sc.s.count(EventRefill)
		// Each refill looks further, so that few are enough even when almost
		// everything is hidden.
		limit = max(first+1, 100<<refill)
	}
}

// judge decides which candidates are shown, and brings the originals of reposts.
// The items stand at the indexes of the candidates; Post is nil for those not shown.
func (sc *scan) judge(ctx context.Context, batch []candidate, belongs func(*Post) bool) ([]Item, error) {
	items := make([]Item, len(batch))
	var originals []ID
	var ghosts []ID
	for i := range batch {
		p := batch[i].post
		switch {
		case p == nil:
			ghosts = append(ghosts, batch[i].ID)
		case p.RepostOf != 0 && p.DeletedAt == 0 && belongs(p) && sc.v.seesContentOf(p.Author) && sc.v.seesContentOf(p.OriginalAuthor):
			originals = append(originals, p.RepostOf)
		}
	}
	if len(ghosts) > 0 && sc.from != nil {
		sc.from.ghosts(ghosts)
	}
	var load *pairLoad[Post, Stats]
	if len(originals) > 0 {
		load = newPostLoad(NewIDSet(originals), sc.stats, sc.cold)
		if err := load.load(ctx, sc.t); err != nil {
			return nil, err
		}
	}
	for i := range batch {
		p := batch[i].post
		if p == nil || !belongs(p) {
			continue
		}
		item := Item{Post: p, Stats: batch[i].stats}
		if p.RepostOf != 0 {
			if j := load.find(p.RepostOf); j >= 0 && sc.v.seesOriginal(load.first.values[j]) {
				item.Original = load.first.values[j]
				if load.second != nil {
					item.OriginalStats = load.second.values[j]
				}
			}
		}
		if sc.v.seesPost(p, item.Original) {
			items[i] = item
		}
	}
	return items, nil
}

// prime loads, in as few round trips as can be, what else a page wants. own is
// the loading of the reader's profile, finished along with the others; nil for none.
func (s *Service) prime(ctx context.Context, t *trip, v view, p *Page, want Want, cold bool, own *pairLoad[User, UserCounts]) error {
	var wg sync.WaitGroup
	var errLiked, errReposted error
	posts := p.postIDs()
	if want.Liked && v.reader != 0 && len(posts) > 0 {
		wg.Go(func() {
			errLiked = guarded(func() (err error) {
				p.Liked, err = s.likedAmong(ctx, v.reader, posts)
				return err
			})
		})
	}
	if want.Reposted && v.reader != 0 && len(posts) > 0 {
		wg.Go(func() {
			errReposted = guarded(func() (err error) {
				p.Reposted, err = s.repostedAmong(ctx, v.reader, posts)
				return err
			})
		})
	}
	err := s.primeUsers(ctx, t, v, p, want, cold, own)
	wg.Wait()
	for _, e := range []error{err, errLiked, errReposted} {
		if e != nil {
			return e
		}
	}
	return nil
}

// guarded runs f in a goroutine of its own: a panic in it becomes an error
// instead of the process' end.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Error{Code: CodeInternal, Text: "something went wrong here", Cause: fmt.Errorf("panic: %v", r)}
		}
	}()
	return f()
}

func (s *Service) likedAmong(ctx context.Context, reader ID, posts []ID) (IDSet, error) {
	ids, err := s.record.LikedAmong(ctx, reader, posts)
	return NewIDSet(ids), err
}

func (s *Service) repostedAmong(ctx context.Context, reader ID, posts []ID) (IDSet, error) {
	ids, err := s.record.RepostedAmong(ctx, reader, posts)
	return NewIDSet(ids), err
}

// postIDs are the posts and originals of a page, each once.
func (p *Page) postIDs() []ID {
	ids := make([]ID, 0, len(p.Items))
	for i := range p.Items {
		ids = append(ids, p.Items[i].Post.ID)
		if o := p.Items[i].Original; o != nil {
			ids = append(ids, o.ID)
		}
	}
	return NewIDSet(ids)
}

func (s *Service) primeUsers(ctx context.Context, t *trip, v view, p *Page, want Want, cold bool, own *pairLoad[User, UserCounts]) error {
	var ids []ID
	if want.Users || want.UserCounts {
		ids = p.userIDs(want)
	}
	ownMissing := own != nil && own.first.values[0] == nil
	if ownMissing {
		ids = append(ids, v.reader)
	}
	ids = NewIDSet(ids)
	load := newUserLoad(ids, want.UserCounts, cold)
	if err := load.load(ctx, t); err != nil {
		return err
	}
	if ownMissing {
		own.first.values[0] = load.first.values[load.find(v.reader)]
	}
	if want.Users {
		p.Users = make(map[ID]*User, len(ids))
	}
	if want.UserCounts {
		p.UserCounts = make(map[ID]*UserCounts, len(ids))
	}
	for i, id := range ids {
		if want.Users && load.first.values[i] != nil && v.seesUser(id) {
			p.Users[id] = load.first.values[i]
		}
		if want.UserCounts && load.second.values[i] != nil {
			p.UserCounts[id] = load.second.values[i]
		}
	}
	return nil
}

// userIDs are all people that the page names, with repeats.
func (p *Page) userIDs(want Want) []ID {
	ids := make([]ID, 0, len(p.Items))
	comments := func(st *Stats) {
		if want.Comments && st != nil {
			for i := range st.First {
				ids = append(ids, st.First[i].Author)
			}
		}
	}
	for i := range p.Items {
		it := &p.Items[i]
		ids = append(ids, it.Post.Author)
		comments(it.Stats)
		if it.Original != nil {
			ids = append(ids, it.Original.Author)
			comments(it.OriginalStats)
		}
	}
	return ids
}

// UserPosts returns a page of one author's posts, newest first.
func (s *Service) UserPosts(ctx context.Context, r *Reader, author ID, first int, below Position, want Want) (*Page, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	p := &Page{}
	if !v.seesContentOf(author) {
		return p, nil
	}
	t := s.trip()
	sc := &scan{s: s, t: t, v: v, stats: want.Stats, from: &authorPosts{record: s.record, author: author}}
	everything := func(*Post) bool { return true }
	if err := sc.read(ctx, p, first, below, everything); err != nil {
		return nil, err
	}
	if err := s.prime(ctx, t, v, p, want, false, nil); err != nil {
		return nil, err
	}
	t.flush(ctx)
	return p, nil
}
