package recommend

import (
	"context"
	"log/slog"
	"sync"

	"feedgate/feed"
)

const takeTTL = 60_000 // ms: users that were taken and not dropped are taken again

// workOff learns the users that were noted, until ctx ends.
func (l *Learner) workOff(ctx context.Context) {
	wait := l.Poll
	for pause(ctx, wait) == nil {
		n, err := l.workOnce(ctx)
		l.quiet.note(ctx, l.Log, "learning", err)
		if err != nil {
			l.Hooks.Failed()
		}
		switch {
		case n == learnGroup:
			wait = 0
		case n > 0:
			wait = l.Poll
		default:
			wait = min(wait*2+l.Poll/2, l.IdlePoll)
		}
	}
}

// workOnce learns one group of noted users, and returns how many it took. While
// there are no boards the notes stay.
func (l *Learner) workOnce(ctx context.Context) (int, error) {
	epochs, err := l.epochs(ctx)
	if err != nil || len(epochs) == 0 {
		return 0, err
	}
	began := l.now()
	take := &feed.TakeUnlearned{Now: began, Until: began + takeTTL, Limit: learnGroup}
	if err := l.Hot.Do(ctx, take); err != nil || len(take.Users) == 0 {
		return 0, err
	}
	busy, err := l.learn(ctx, take.Users, epochs)
	if err != nil {
		return 0, err
	}
	held := feed.NewIDSet(busy)
	done := make([]feed.ID, 0, len(take.Users))
	for _, user := range take.Users {
		if !held.Has(user) {
			done = append(done, user)
		}
	}
	err = l.Hot.Do(ctx, &feed.DropUnlearned{Users: done, Until: take.Until})
	l.Hooks.Waited(len(done), l.now()-began)
	if err == nil && len(held) > 0 { // whoever has them in hand may have read their tastes before
		err = l.Hot.Do(ctx, &feed.MarkUnlearned{Users: held, Now: l.now()})
	}
	return len(take.Users), err
}

// quiet logs the first of a row of failures, and their end.
type quiet struct {
	mu      sync.Mutex
	failing map[string]bool
}

func (q *quiet) note(ctx context.Context, log *slog.Logger, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	q.mu.Lock()
	was := q.failing[what]
	if q.failing == nil {
		q.failing = make(map[string]bool)
	}
	q.failing[what] = err != nil
	q.mu.Unlock()
	switch {
	case err != nil && !was:
		log.WarnContext(ctx, "recommendations are not kept up for now", slog.String("part", what), slog.Any("error", err))
	case err == nil && was:
		log.InfoContext(ctx, "recommendations are kept up again", slog.String("part", what))
	}
}
