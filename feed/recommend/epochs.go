package recommend

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"

	"feedgate/feed"
)

const (
	buildTTL   = 30_000 // ms: the lease of who builds
	renewAfter = 5_000  // ms: it is renewed by then
	buildPage  = 64     // users between two notes of progress
	logEvery   = 10_000 // ms
	freshPosts = 1_000  // put back on the board after a loss
	freshSlack = 200
)

// watch looks after the epochs until ctx ends.
func (l *Learner) watch(ctx context.Context) {
	for {
		err := l.watchOnce(ctx)
		l.quiet.note(ctx, l.Log, "building", err)
		if err != nil {
			l.Hooks.Failed()
		}
		if pause(ctx, l.WatchPoll) != nil {
			return
		}
	}
}

// watchOnce builds new boards if they are due and nobody else does.
func (l *Learner) watchOnce(ctx context.Context) error {
	state := &feed.ReadLearning{}
	if err := l.Hot.Do(ctx, state); err != nil {
		return err
	}
	l.Hooks.Serving(state.Learning.Serving)
	due, err := l.dueOrLost(ctx, &state.Learning)
	if err != nil || !due {
		return err
	}
	b, err := l.takeBuilding(ctx)
	if err != nil || b == nil {
		return err
	}
	if !l.due(&b.state) {
		if b.lost, err = l.boardsLost(ctx, &b.state); err != nil || !b.lost { // another one was faster
			return errors.Join(err, b.end(ctx))
		}
		l.Hooks.Lost()
		l.Log.WarnContext(ctx, "the boards of recommendFeed were lost, and are built anew", slog.Int64("epoch_ms", b.state.Serving))
	}
	return b.run(ctx, false)
}

func (l *Learner) dueOrLost(ctx context.Context, s *feed.Learning) (bool, error) {
	if l.due(s) {
		return true, nil
	}
	return l.boardsLost(ctx, s)
}

// boardsLost reports whether the trending board in use is gone: by eviction,
// or by hand. To look at it keeps it from being evicted as what nobody reads.
func (l *Learner) boardsLost(ctx context.Context, s *feed.Learning) (bool, error) {
	board := &feed.ReadBoard{Board: trendingIn(s.Serving), Limit: 1}
	if err := l.Hot.Do(ctx, board); err != nil {
		return false, err
	}
	return len(board.Ranked) == 0, nil
}

// due reports whether boards are to be built, or to be built on.
func (l *Learner) due(s *feed.Learning) bool {
	return s.Building != 0 || s.Serving == 0 || s.ServingUnder != l.Generation() ||
		l.now()-s.Serving > l.Settings.EpochAge.Milliseconds()
}

// building is the right to build, held by a lease.
type building struct {
	l       *Learner
	token   feed.Token
	renewed int64 // ms
	state   feed.Learning
	lost    bool // the boards in use were lost, or there were none
}

// takeBuilding takes the lease and reads the state. It returns nil when another
// learner holds it.
func (l *Learner) takeBuilding(ctx context.Context) (*building, error) {
	b := &building{l: l, token: feed.Token(rand.Text()), renewed: l.now()}
	lease, state := b.lease(), &feed.ReadLearning{}
	if err := l.Hot.Do(ctx, lease, state); err != nil {
		return nil, err
	}
	if !lease.Taken {
		return nil, nil //nolint:nilnil // nil is the answer
	}
	b.state = state.Learning
	b.lost = b.state.Serving == 0 || b.state.ServingUnder != l.Generation()
	return b, nil
}

func (b *building) lease() *feed.TakeLease {
	return &feed.TakeLease{Name: "learning", Token: b.token, TTL: buildTTL}
}

func (b *building) end(ctx context.Context) error {
	return b.l.Hot.Do(ctx, &feed.DropLease{Name: "learning", Token: b.token})
}

// save notes the progress, and keeps the lease. Of two learners, one of which
// was away for longer than the lease, both may write: the mark then goes back a
// little, and users are looked at twice, which counts nothing twice.
func (b *building) save(ctx context.Context) error {
	ops := []feed.Op{&feed.SaveLearning{Learning: b.state}}
	var lease *feed.TakeLease
	if now := b.l.now(); now-b.renewed > renewAfter {
		b.renewed, lease = now, b.lease()
		ops = append(ops, &feed.DropLease{Name: "learning", Token: b.token}, lease)
	}
	if err := b.l.Hot.Do(ctx, ops...); err != nil {
		return err
	}
	if lease != nil && !lease.Taken {
		return feed.Unavailable("another learner goes on with it", nil)
	}
	return nil
}

// run builds boards until everybody is counted, and puts them to use. What an
// earlier learner began is gone on with, unless anew.
func (b *building) run(ctx context.Context, anew bool) (err error) {
	l := b.l
	l.Hooks.Building(true)
	defer func() {
		l.Hooks.Building(false)
		if err != nil { // others may go on at once
			detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
			defer cancel()
			_ = b.end(detached)
		}
	}()
	gen := l.Generation()
	if anew || b.state.Building == 0 || b.state.BuildingUnder != gen {
		b.state.Building = max(l.now(), b.state.Serving+1, b.state.Building+1)
		b.state.BuildingUnder, b.state.Mark = gen, 0
		if b.lost {
			if err := l.refillFresh(ctx); err != nil {
				return err
			}
		}
		if err := l.Hot.Do(ctx, l.Settings.withSentinel(b.state.Building)); err != nil {
			return err
		}
		if err := b.save(ctx); err != nil {
			return err
		}
	}
	began, logged, users := l.now(), l.now(), 0
	l.Log.InfoContext(ctx, "learning what everybody likes", slog.Int64("epoch_ms", b.state.Building), slog.Int64("after_user", int64(b.state.Mark)))
	for {
		page, err := l.Record.Engaged(ctx, b.state.Mark, buildPage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		if err := l.learnAll(ctx, page, []int64{b.state.Building}); err != nil {
			return err
		}
		users += len(page)
		b.state.Mark = page[len(page)-1]
		if err := b.save(ctx); err != nil {
			return err
		}
		if now := l.now(); now-logged > logEvery {
			logged = now
			l.Log.InfoContext(ctx, "still learning what everybody likes", slog.Int("users", users), slog.Int64("ms", now-began))
		}
	}
	b.state = feed.Learning{Serving: b.state.Building, ServingUnder: b.state.BuildingUnder}
	if err := b.save(ctx); err != nil {
		return err
	}
	l.Hooks.Serving(b.state.Serving)
	l.Log.InfoContext(ctx, "learned what everybody likes", slog.Int("users", users), slog.Int64("ms", l.now()-began))
	return b.end(ctx)
}

// refillFresh puts young posts on the fresh board after a loss. Some of them
// may have been viewed: who did is not known by post.
func (l *Learner) refillFresh(ctx context.Context) error {
	entries, err := l.Record.RecentPosts(ctx, feed.Newest(), freshPosts)
	if err != nil {
		return err
	}
	ids := make([]feed.ID, 0, len(entries))
	since := l.now() - l.Settings.FreshAge.Milliseconds()
	for _, e := range entries {
		if e.At >= since {
			ids = append(ids, e.ID)
		}
	}
	posts, err := l.posts.of(ctx, ids)
	if err != nil {
		return err
	}
	var young []feed.Ranked
	for _, e := range entries[:len(ids)] {
		if posts[e.ID].target == 0 {
			young = append(young, feed.Ranked{Post: e.ID, Score: float64(e.At)})
		}
	}
	if len(young) == 0 {
		return nil
	}
	return l.Hot.Do(ctx, &feed.PutOnBoard{Board: feed.Fresh(), Ranked: young, Keep: freshPosts, Slack: freshSlack})
}
