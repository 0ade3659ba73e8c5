package recommend

import (
	"context"
	"log/slog"
	"sync"

	"feedgate/feed"
)

const takeTTL = 30_000 // ms: users whose learner was killed are taken again

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

// workOnce learns one group of noted users, and returns how many it learned.
// Which epochs there are is read after users were taken: an epoch that is begun
// later finds on the record what they were noted for.
func (l *Learner) workOnce(ctx context.Context) (int, error) {
	began := l.now()
	take, state := &feed.TakeUnlearned{Now: began, Until: began + takeTTL, Limit: learnGroup}, &feed.ReadLearning{}
	if err := l.Hot.Do(ctx, take, state); err != nil || len(take.Users) == 0 {
		return 0, err
	}
	busy := take.Users // while there are no boards
	var err error
	if epochs := epochsOf(&state.Learning); len(epochs) > 0 {
		if busy, err = l.learn(ctx, take.Users, epochs); err != nil {
			busy = take.Users
		}
	}
	if errBack := l.giveBack(ctx, take, busy); err == nil {
		err = errBack
	}
	n := len(take.Users) - len(busy)
	if n > 0 {
		l.Hooks.Waited(n, l.now()-began)
	}
	return n, err
}

// giveBack ends the taking of users. Those who were not learned are noted
// again first: whoever has them in hand may have read their tastes before.
func (l *Learner) giveBack(ctx context.Context, take *feed.TakeUnlearned, busy []feed.ID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	return l.Hot.Do(ctx, &feed.MarkUnlearned{Users: busy, Now: l.now()}, &feed.DropUnlearned{Users: take.Users, Until: take.Until})
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
		log.WarnContext(ctx, "recommendations are not kept up: trying again", slog.String("part", what), slog.Any("error", err))
	case err == nil && was:
		log.InfoContext(ctx, "recommendations are kept up again", slog.String("part", what))
	}
}
