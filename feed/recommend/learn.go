package recommend

import (
	"context"
	"crypto/rand"
	"time"

	"feedgate/feed"
)

const (
	learnGroup   = 8      // users whose changes are summed up
	learnTTL     = 30_000 // ms: nobody else learns a user meanwhile
	changesAtOne = 2_000  // changes of boards in one round trip
	dropTimeout  = 2 * time.Second
)

// learn counts the changes of a group of users on the boards of epochs, and
// returns those whom another learner has in hand. A user who is in hand is told
// again by the note in the queue, or by whoever asked.
//
// What is counted is noted after it was counted: a learner that is killed, or
// fails, in between has its group (at most learnGroup users, and of the changes
// those already sent) counted once more by the next one. Boards are statistics,
// and the next epoch begins from nothing.
func (l *Learner) learn(ctx context.Context, group []feed.ID, epochs []int64) (busy []feed.ID, err error) {
	token := feed.Token(rand.Text())
	leases := make([]*feed.TakeLease, len(group))
	then := make([][]*feed.ReadLearned, len(group))
	ops := make([]feed.Op, 0, len(group)*(1+len(epochs)))
	for i, user := range group {
		leases[i] = &feed.TakeLease{Name: "learn", User: user, Token: token, TTL: learnTTL}
		ops = append(ops, leases[i])
		for _, epoch := range epochs {
			read := &feed.ReadLearned{User: user, Epoch: epoch}
			then[i] = append(then[i], read)
			ops = append(ops, read)
		}
	}
	if err := l.Hot.Do(ctx, ops...); err != nil {
		return nil, err // leases that were taken end by themselves
	}
	var mine []feed.ID
	counted := make(map[feed.ID][]*feed.ReadLearned, len(group))
	for i, user := range group {
		if leases[i].Taken {
			mine = append(mine, user)
			counted[user] = then[i]
		} else {
			busy = append(busy, user)
		}
	}
	if len(mine) == 0 {
		return busy, nil
	}
	defer func() {
		if err != nil {
			l.drop(ctx, mine, token)
		}
	}()
	rows, err := l.Record.TastesOf(ctx, mine, feed.MaxTastes)
	if err != nil {
		return nil, err
	}
	now := make(map[feed.ID][]feed.Engagement, len(rows))
	for i := range rows {
		now[rows[i].User] = rows[i].Engaged
	}
	if err := l.count(ctx, mine, now, counted, token); err != nil {
		return nil, err
	}
	l.Hooks.Learned(len(mine))
	return busy, nil
}

// count counts what has changed, notes that, and ends the leases.
func (l *Learner) count(ctx context.Context, users []feed.ID, now map[feed.ID][]feed.Engagement,
	counted map[feed.ID][]*feed.ReadLearned, token feed.Token,
) error {
	var ids []feed.ID
	for _, user := range users {
		for _, g := range now[user] {
			ids = append(ids, g.Post)
		}
		for _, then := range counted[user] {
			for _, g := range then.Engaged {
				ids = append(ids, g.Post)
			}
		}
	}
	posts, err := l.posts.of(ctx, ids)
	if err != nil {
		return err
	}
	for n := range counted[users[0]] {
		if err := l.countOn(ctx, n, users, now, counted, posts); err != nil {
			return err
		}
	}
	ends := make([]feed.Op, len(users))
	for i, user := range users {
		ends[i] = &feed.DropLease{Name: "learn", User: user, Token: token}
	}
	return l.Hot.Do(ctx, ends...)
}

// countOn does so for the boards of one epoch, the n-th.
func (l *Learner) countOn(ctx context.Context, n int, users []feed.ID, now map[feed.ID][]feed.Engagement,
	counted map[feed.ID][]*feed.ReadLearned, posts map[feed.ID]known,
) error {
	epoch := counted[users[0]][n].Epoch
	sum := newTally(&l.Settings, epoch)
	var notes []feed.Op
	send := func() error {
		for _, batch := range sum.flush(changesAtOne) {
			if err := l.Hot.Do(ctx, batch...); err != nil {
				return err
			}
		}
		if len(notes) == 0 {
			return nil
		}
		defer func() { notes = nil }()
		return l.Hot.Do(ctx, notes...)
	}
	for _, user := range users {
		then := counted[user][n].Engaged
		sum.replace(votes(user, then, posts), votes(user, now[user], posts))
		notes = append(notes, &feed.SaveLearned{User: user, Epoch: epoch, Engaged: now[user]})
		if sum.size >= changesAtOne {
			if err := send(); err != nil {
				return err
			}
		}
	}
	return send()
}

// drop ends leases early, if that can be told.
func (l *Learner) drop(ctx context.Context, users []feed.ID, token feed.Token) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	ends := make([]feed.Op, len(users))
	for i, user := range users {
		ends[i] = &feed.DropLease{Name: "learn", User: user, Token: token}
	}
	_ = l.Hot.Do(ctx, ends...) // else they end by themselves
}
