package evaluate

import (
	"context"
	"fmt"
	"io"
	"time"

	"feedgate/feed"
	"feedgate/feed/recommend"
	"feedgate/internal/importer"
)

// Record is what an evaluation needs of a record.
type Record interface {
	importer.Record
	// RelationsOf is that of [feed.RelationRecord].
	RelationsOf(ctx context.Context, user feed.ID) (feed.Relations, error)
}

// World is a feedgate with empty stores of its own.
type World struct {
	Record Record
	Load   feed.Loader
	// Learn learns from all that is on the record; users is told of how many more
	// have been counted.
	Learn func(ctx context.Context, set recommend.Settings, users func(int)) error
	// Engine makes a recommender, which tells of the sources that it could not ask.
	Engine func(set recommend.Settings, lost func(source string)) feed.Recommender
	// Usage tells what the kinds of keys in Redis take.
	Usage func(ctx context.Context) ([]Usage, error)
	// Close removes everything.
	Close func(ctx context.Context) error
}

// Usage is what the keys of one kind take in Redis.
type Usage struct {
	Kind  string `json:"kind"`
	Keys  int64  `json:"keys"`
	Bytes int64  `json:"bytes"`
}

// fixedClock stands still: figures must not depend on when they are taken.
type fixedClock int64

// Now implements [feed.Clock].
func (c fixedClock) Now() time.Time { return time.UnixMilli(int64(c)).UTC() }

// learn brings what is not hidden onto the record, and has it learned.
func (r *run) learn(ctx context.Context, w *World, s *Split, clock feed.Clock) error {
	began := r.Clock.Now()
	if err := r.bring(ctx, w, s, clock); err != nil {
		return err
	}
	r.note("imported in %s\n", r.since(began))
	began = r.Clock.Now()
	learned := 0
	total := len(s.likes)
	err := w.Learn(ctx, r.Settings.Recommend, func(n int) {
		if before := learned; before*10/max(1, total) != (before+n)*10/max(1, total) {
			r.note("learned %d of %d people\n", before+n, total)
		}
		learned += n
	})
	if err != nil {
		return fmt.Errorf("learning: %w", err)
	}
	r.times.Learning += r.Clock.Now().Sub(began)
	r.note("learned in %s\n", r.since(began))
	return nil
}

// bring imports the bundle without what is hidden.
func (r *run) bring(ctx context.Context, w *World, s *Split, clock feed.Clock) error {
	file, err := open(r.Settings.Likes)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	im := importer.New(importer.Config{Record: w.Record, Clock: clock})
	var text io.Reader = &withoutHidden{text: scan(file), hidden: s.Hidden}
	if err := im.File(ctx, r.Settings.Likes, text); err != nil {
		return err
	}
	if n := im.Report().Refused; n > 0 {
		r.note("%d lines were refused; \"feedgate import\" says why\n", n)
	}
	if err := w.Record.RecountAll(ctx, func(int64, int64) {}); err != nil {
		return fmt.Errorf("recounting: %w", err)
	}
	return nil
}
