package fanout

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"feedgate/feed"
)

// Record is what the workers need of the truth.
type Record interface {
	feed.DutyRecord
	feed.CounterRecord
	// Followers is that of [feed.RelationRecord].
	Followers(ctx context.Context, followee, after feed.ID, limit int) ([]feed.ID, error)
	// UnfinishedAmong is that of [feed.FlightRecord].
	UnfinishedAmong(ctx context.Context, authors []feed.ID) ([]feed.ID, error)
	// Generation is that of [feed.MetaRecord].
	Generation(ctx context.Context) (int64, error)
}

// Config is what the workers are made of. Everything but Hooks and Settings is
// needed.
type Config struct {
	Record  Record
	Bells   Bells
	Tasks   Tasks
	Inboxes Inboxes
	Marks   Marks
	Readers Readers
	Hot     feed.Hot
	Clock   feed.Clock // with a monotonic reading, as time.Now has
	Log     *slog.Logger
	Hooks   Hooks
	Settings
}

// Hooks are told what happens, for metrics. Nil ones are left out; the others
// are called from many goroutines and must not block.
type Hooks struct {
	TaskExecuted func(lane feed.Lane, followers int)
	TaskRetried  func(lane feed.Lane) // handed out once more, or failed and to be handed out again
	TaskBuried   func(lane feed.Lane)
	DutyDone     func(lane feed.Lane, sincePublish time.Duration)
	DutyFailed   func(lane feed.Lane) // some task is dead; the duty waits for its replay
	DutyRestart  func(lane feed.Lane) // no progress: started over from the mark
	DutyLag      func(lag time.Duration)
	MarksRetired func(n int)
	Recounted    func(n int)
	Pruned       func(n int)
}

// Workers fan published posts out, and sweep up after those that were killed.
type Workers struct {
	Config
	lanes  map[feed.Lane]*lane
	lately lately
	quiet  *quiet
}

// New makes workers; [Workers.Run] sets them to work.
func New(c Config) *Workers {
	c.Settings = c.withDefaults()
	c.Hooks = c.Hooks.orNothing()
	w := &Workers{Config: c, quiet: newQuiet(c.Log, c.Clock)}
	w.lanes = map[feed.Lane]*lane{
		feed.LaneSmall: newLane(feed.LaneSmall, c.Small),
		feed.LaneBulk:  newLane(feed.LaneBulk, c.Bulk),
	}
	return w
}

// Run works until ctx ends, and returns when everything has stopped: tasks in
// hand are finished, duties in hand are given back with what was achieved, so
// that others go on at once. It returns nil. Call it once.
func (w *Workers) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, l := range w.lanes {
		all.Go(func() { w.listen(ctx, l) })
		for range l.executors {
			all.Go(func() { w.execute(ctx, l) })
		}
	}
	all.Go(func() { w.sweep(ctx) })
	all.Wait()
	// Nobody starts duties any more: listeners and the sweeper have returned.
	for _, l := range w.lanes {
		l.running.Wait()
	}
	return nil
}

// laneOf returns the lane of a duty; an unknown one counts as small.
func (w *Workers) laneOf(name feed.Lane) *lane {
	if l, ok := w.lanes[name]; ok {
		return l
	}
	return w.lanes[feed.LaneSmall]
}

// now is the time in milliseconds since the epoch.
func (w *Workers) now() int64 { return w.Clock.Now().UnixMilli() }

// in is a time from now, in milliseconds since the epoch.
func (w *Workers) in(d time.Duration) int64 { return w.Clock.Now().Add(d).UnixMilli() }

// orNothing puts a no-op in each hook that is nil.
func (h Hooks) orNothing() Hooks {
	lane := func(feed.Lane) {}
	count := func(int) {}
	if h.TaskExecuted == nil {
		h.TaskExecuted = func(feed.Lane, int) {}
	}
	if h.DutyDone == nil {
		h.DutyDone = func(feed.Lane, time.Duration) {}
	}
	if h.DutyLag == nil {
		h.DutyLag = func(time.Duration) {}
	}
	for _, f := range []*func(feed.Lane){&h.TaskRetried, &h.TaskBuried, &h.DutyFailed, &h.DutyRestart} {
		if *f == nil {
			*f = lane
		}
	}
	for _, f := range []*func(int){&h.MarksRetired, &h.Recounted, &h.Pruned} {
		if *f == nil {
			*f = count
		}
	}
	return h
}
