package evaluate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"feedgate/feed"
	"feedgate/feed/recommend"
	"feedgate/internal/config"
)

// Config is what an evaluation works with.
type Config struct {
	Settings *config.Evaluate
	// Open makes a world. The time in it is that of the clock.
	Open  func(ctx context.Context, redisURL string, clock feed.Clock) (*World, error)
	Clock feed.Clock // for how long things take
	Out   io.Writer  // for the outcome
	Notes io.Writer  // for progress
}

// closing is how long the end of a world may take after the evaluation was told to stop.
const closing = 20 * time.Second

// run is one evaluation.
type run struct {
	Config
	rows  []way
	times Times
}

// Run evaluates each seed in a world of its own, and prints the outcome.
func Run(ctx context.Context, c Config) error {
	r := &run{Config: c, rows: ways(c.Settings)}
	file, err := open(c.Settings.Likes)
	if err != nil {
		return err
	}
	b, err := ReadBundle(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("reading %s: %w", c.Settings.Likes, err)
	}
	if len(b.Likes) == 0 {
		return fmt.Errorf("%s has no likes of posts that it holds: there is nothing to be found", c.Settings.Likes)
	}
	out := &Outcome{File: c.Settings.Likes, Bundle: b, Part: c.Settings.Part, K: c.Settings.K, Posts: b.Posts, Learners: len(b.Likes)}
	for _, w := range r.rows {
		out.Ways = append(out.Ways, w.name)
	}
	for i := range c.Settings.Seeds {
		if err := r.seed(ctx, b, uint64(c.Settings.Seed+i), out); err != nil { //nolint:gosec // not negative
			return err
		}
	}
	out.Times = r.times
	if c.Settings.JSON {
		return out.printJSON(c.Out)
	}
	return out.print(c.Out)
}

// seed evaluates one split.
func (r *run) seed(ctx context.Context, b *Bundle, seed uint64, out *Outcome) (err error) {
	split := NewSplit(b, seed)
	part := Test
	if r.Settings.Part == config.PartValid {
		part = Valid
	}
	asked := sampled(split.questions(part), r.Settings.Users, seed)
	if len(asked) == 0 {
		return errors.New("nobody has enough likes for one to be hidden: it takes two")
	}
	r.note("seed %d: %s likes to learn from, for valid and for test; %d people are asked for\n", seed, split, len(asked))
	clock := fixedClock(b.Newest + r.Settings.After.Milliseconds())
	if b.Newest == 0 {
		clock = fixedClock(r.Clock.Now().UnixMilli())
	}
	w, err := r.Open(ctx, r.Settings.RedisURL, clock)
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		err = errors.Join(err, w.Close(end))
	}()
	if err := r.learn(ctx, w, split, clock); err != nil {
		return err
	}
	began := r.Clock.Now()
	scores, err := r.ask(ctx, w, asked)
	if err != nil {
		return err
	}
	r.times.Ranking += r.Clock.Now().Sub(began)
	r.times.Rankings += len(asked) * len(r.rows)
	r.note("ranked in %s\n", r.since(began))
	out.Seeds = append(out.Seeds, SeedOutcome{Seed: seed, Sizes: split.Sizes, People: len(asked), Scores: scores})
	if r.Settings.Memory {
		usage, err := w.Usage(ctx)
		if err != nil {
			return fmt.Errorf("asking Redis for sizes (does it know MEMORY USAGE?): %w", err)
		}
		out.Usage = kept(usage)
	}
	return nil
}

// atOnce is how many people are asked for at a time on each processor: most of
// a ranking is waiting for Redis.
const atOnce = 3

// ask has every row rank for everybody, and gives the means of each row.
func (r *run) ask(ctx context.Context, w *World, asked []question) ([]Scores, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	all := make([][]Scores, len(r.rows)) // by row and question
	for i := range all {
		all[i] = make([]Scores, len(asked))
	}
	var next, done atomic.Int64
	var workers sync.WaitGroup
	for range atOnce * runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			a := r.newAsker(w)
			for i := int(next.Add(1)) - 1; i < len(asked) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := a.ask(ctx, &asked[i], func(row int, s Scores) { all[row][i] = s }); err != nil {
					cancel(fmt.Errorf("ranking for %d: %w", asked[i].user, err))
					return
				}
				if n := int(done.Add(1)); n*10/len(asked) != (n-1)*10/len(asked) {
					r.note("ranked for %d of %d people\n", n, len(asked))
				}
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	means := make([]Scores, len(all))
	for i := range all {
		means[i] = mean(all[i])
	}
	return means, nil
}

// patience is how often a ranking is repeated that missed a source: it would
// count for less than the engine can do.
const patience = 5

// asker asks for one person after another.
type asker struct {
	world   *World
	engines []feed.Recommender
	k       int
	lost    atomic.Int64 // sources that could not be asked
}

func (r *run) newAsker(w *World) *asker {
	a := &asker{world: w, k: r.Settings.K}
	for i := range r.rows {
		a.engines = append(a.engines, w.Engine(r.rows[i].set, func(string) { a.lost.Add(1) }))
	}
	return a
}

func (a *asker) ask(ctx context.Context, q *question, found func(row int, s Scores)) error {
	relations, err := a.world.Record.RelationsOf(ctx, q.user)
	if err != nil {
		return err
	}
	tastes, err := a.world.Load.LoadTastes(ctx, []feed.ID{q.user})
	if err != nil {
		return err
	}
	for row, engine := range a.engines {
		got, err := a.rank(ctx, engine, feed.RecommendQuery{
			Reader: q.user, Relations: &relations, Tastes: tastes[0], Skip: q.skip.Has, Limit: a.k, Load: a.world.Load,
		})
		if err != nil {
			return err
		}
		ranked := make([]feed.ID, len(got))
		for i := range got {
			ranked[i] = got[i].Post
		}
		found(row, Score(ranked, q.hidden, a.k))
	}
	return nil
}

// rank asks an engine until no source was missing.
func (a *asker) rank(ctx context.Context, engine feed.Recommender, q feed.RecommendQuery) ([]feed.Recommendation, error) {
	for range patience {
		before := a.lost.Load()
		got, err := engine.Recommend(ctx, q)
		if err != nil {
			return nil, err
		}
		if a.lost.Load() == before {
			return got, nil
		}
	}
	return nil, errors.New("the stores do not answer in time: figures would be too low")
}

// note tells of progress. Whoever doesn't listen misses nothing of the outcome.
func (r *run) note(format string, args ...any) { _, _ = fmt.Fprintf(r.Notes, format, args...) }

func (r *run) since(began time.Time) time.Duration {
	return r.Clock.Now().Sub(began).Round(10 * time.Millisecond)
}

// way is a row of the table: a way to rank.
type way struct {
	name string
	set  recommend.Settings
}
