package recommend

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"feedgate/feed"
)

// LearnerRecord is what the learner needs of the truth.
type LearnerRecord interface {
	feed.TasteRecord
	// PostsByID is that of [feed.PostRecord].
	PostsByID(ctx context.Context, ids []feed.ID) ([]feed.PostRow, error)
}

// LearnerHooks are told what happens, for metrics. Nil ones are left out; the
// others are called from many goroutines and must not block.
type LearnerHooks struct {
	Learned  func(users int)           // so many users were counted
	Failed   func()                    // a batch of users, or a step of building, has to be tried again
	Lost     func()                    // the boards in use were found lost, and are built anew
	Building func(under bool)          // new boards are being built by this process, or not any more
	Serving  func(sinceEpoch int64)    // the epoch (ms since 1970) that readers use, 0 for none; every few seconds
	Waited   func(users int, ms int64) // so many noted users were taken and learned within so many ms
}

// LearnerConfig is what a Learner is made of. Hooks are optional.
type LearnerConfig struct {
	Hot    feed.Hot
	Record LearnerRecord
	// Generation tells the generation of the hot data in force.
	Generation func() int64
	Clock      feed.Clock
	Log        *slog.Logger
	Settings   Settings
	Hooks      LearnerHooks

	Poll      time.Duration // shortest pause between looks at the queue; 200 ms
	IdlePoll  time.Duration // longest one, when nothing comes; 1 s
	WatchPoll time.Duration // between looks at the epoch; 2 s
	Parallel  int           // batches of users learned at a time; 2
}

// Learner keeps the boards up: it counts what users engage with, and builds
// new boards when there are none, when they were lost, and when they are old.
// Any number of learners share the work.
type Learner struct {
	LearnerConfig
	posts postCache
	quiet quiet
}

// NewLearner makes a Learner.
func NewLearner(c LearnerConfig) *Learner {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		field *time.Duration
		usual time.Duration
	}{{&c.Poll, 200 * time.Millisecond}, {&c.IdlePoll, time.Second}, {&c.WatchPoll, 2 * time.Second}} {
		if *d.field <= 0 {
			*d.field = d.usual
		}
	}
	if c.Parallel <= 0 {
		c.Parallel = 2
	}
	c.Hooks = c.Hooks.orNothing()
	l := &Learner{LearnerConfig: c}
	l.posts.record = c.Record
	return l
}

func (h LearnerHooks) orNothing() LearnerHooks {
	if h.Learned == nil {
		h.Learned = func(int) {}
	}
	if h.Failed == nil {
		h.Failed = func() {}
	}
	if h.Lost == nil {
		h.Lost = func() {}
	}
	if h.Building == nil {
		h.Building = func(bool) {}
	}
	if h.Serving == nil {
		h.Serving = func(int64) {}
	}
	if h.Waited == nil {
		h.Waited = func(int, int64) {}
	}
	return h
}

// Run works until ctx ends, and returns nil when everything has stopped. What
// fails is tried again later.
func (l *Learner) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for range l.Parallel {
		all.Go(func() { l.workOff(ctx) })
	}
	all.Go(func() { l.watch(ctx) })
	all.Wait()
	return nil
}

// LearnAll begins new boards, counts everybody on them and puts them to use. It
// waits while another learner builds, for as long as ctx allows. UNAVAILABLE
// when a store could not be asked.
func (l *Learner) LearnAll(ctx context.Context) error {
	for {
		b, err := l.takeBuilding(ctx)
		if err != nil {
			return err
		}
		if b != nil {
			return b.run(ctx, true)
		}
		if err := pause(ctx, l.Poll); err != nil {
			return feed.Unavailable("others are learning just now: try again later", err)
		}
	}
}

// Learn counts the changes of users' tastes on the boards in use and on those
// that are being built. It waits for other learners who have one of the users
// in hand. NOT_FOUND when there are no boards; UNAVAILABLE when a store could
// not be asked.
func (l *Learner) Learn(ctx context.Context, users ...feed.ID) error {
	epochs, err := l.epochs(ctx)
	if err != nil {
		return err
	}
	if len(epochs) == 0 {
		return feed.NotFound("epoch of learning")
	}
	return l.learnAll(ctx, users, epochs)
}

// learnAll learns users in groups, and comes back to those whom others have in hand.
func (l *Learner) learnAll(ctx context.Context, users []feed.ID, epochs []int64) error {
	users = feed.NewIDSet(append([]feed.ID(nil), users...))
	for len(users) > 0 {
		var busy []feed.ID
		for from := 0; from < len(users); from += learnGroup {
			group := users[from:min(from+learnGroup, len(users))]
			held, err := l.learn(ctx, group, epochs)
			if err != nil {
				return err
			}
			busy = append(busy, held...)
		}
		users = busy
		if len(busy) > 0 {
			if err := pause(ctx, l.Poll/4); err != nil {
				return feed.Unavailable("others are learning these users just now: try again later", err)
			}
		}
	}
	return nil
}

// epochs are those whose boards are kept up.
func (l *Learner) epochs(ctx context.Context) ([]int64, error) {
	state := &feed.ReadLearning{}
	if err := l.Hot.Do(ctx, state); err != nil {
		return nil, err
	}
	return epochsOf(&state.Learning), nil
}

func epochsOf(s *feed.Learning) []int64 {
	var epochs []int64
	for _, e := range []int64{s.Serving, s.Building} {
		if e != 0 {
			epochs = append(epochs, e)
		}
	}
	return epochs
}

func (l *Learner) now() int64 { return l.Clock.Now().UnixMilli() }

// pause waits; its error is that of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
