package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"feedgate/feed"
	"feedgate/feed/geo"
)

// cellRace is a record of posts, one each millisecond from 1 on, and a cell of them.
type cellRace struct {
	cell  geo.Cell
	mu    sync.Mutex
	posts []feed.CellEntry
	added atomic.Int64 // the newest post that was added to the cell
	found atomic.Int64 // times the cell was found
}

// cellRaces has two fill a cell over and over while posts are published, the
// cell is cut and all is lost. Whenever it is found, it lacks nothing.
func cellRaces(s *hotSuite) {
	const posts = 300
	r := &cellRace{cell: s.cell()}
	ctx, stop := context.WithCancel(s.ctx())
	ends := make(chan error, 2)
	for i, h := range []Hot{s.hot, s.other} {
		go func() { ends <- r.fill(ctx, h, fmt.Sprint("filler ", i)) }()
	}
	for i := 1; i <= posts; i++ {
		e := placed(int64(i), feed.ID(i))
		r.mu.Lock()
		r.posts = append(r.posts, e)
		r.mu.Unlock()
		s.addCut(e, 20, 5, 0, r.cell)
		r.added.Store(int64(i))
		if i%100 == 50 {
			s.back.Flush(s.t)
		}
	}
	had := r.found.Load()
	s.until("the cell was found at rest", func() bool { return r.found.Load() > had+3 || len(ends) > 0 })
	stop()
	s.must(<-ends)
	s.must(<-ends)
}

// fill fills and reads the cell until ctx ends or something is wrong.
func (r *cellRace) fill(ctx context.Context, h Hot, name string) error {
	for n := 0; ctx.Err() == nil; n++ {
		open := &feed.OpenCell{Cell: r.cell, Token: feed.Token(fmt.Sprintf("%s %d", name, n))}
		if err := h.Do(ctx, open); err != nil {
			return r.unless(ctx, err)
		}
		r.mu.Lock()
		newest := slices.Clone(r.posts[max(0, len(r.posts)-10-n%15):])
		r.mu.Unlock()
		merge := &feed.MergeCell{Cell: r.cell, Token: open.Token, Generation: open.Generation, Entries: newest}
		if len(newest) > 0 {
			merge.Floor = newest[0].At
		}
		before := r.added.Load()
		read := &feed.ReadCell{Cell: r.cell, Below: feed.Newest(), Limit: 1000}
		if n%2 == 1 {
			read.Below = feed.Position{At: 1 << 40, ID: 1}
		}
		if err := h.Do(ctx, merge, read); err != nil {
			return r.unless(ctx, err)
		}
		if err := r.check(read, before); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// unless gives err, but not when it is the end of ctx.
func (r *cellRace) unless(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// check tells what a page lacks of the posts from its floor to the last that had
// been added before it was read.
func (r *cellRace) check(read *feed.ReadCell, before int64) error {
	if !read.Found {
		return nil
	}
	r.found.Add(1)
	has := make(map[int64]bool, len(read.Entries))
	for _, e := range read.Entries {
		has[e.At] = true
	}
	for at := max(read.Floor, 1); at <= before; at++ {
		if !has[at] {
			return fmt.Errorf("a cell with the floor %d lacks post %d of %d: %v", read.Floor, at, before, read.Entries)
		}
	}
	return nil
}
