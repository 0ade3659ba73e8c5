package importer

import (
	"context"
	"fmt"

	"feedgate/feed"
)

// batch holds rows until they are written, with the lines they came from.
type batch[T any] struct {
	rows  []T
	lines []int64
}

// add reports whether the batch is full now.
func (b *batch[T]) add(row T, line int64) bool {
	b.rows = append(b.rows, row)
	b.lines = append(b.lines, line)
	return len(b.rows) >= batchRows
}

// stage names a batch; the stages before it are written first.
type stage int

const (
	stageUsers stage = iota
	stageFollows
	stagePosts
	stageLikes
)

// flush writes the batch of a stage and those that its rows may refer to.
// Follows refer to users alone, so a batch of posts leaves them waiting.
func (im *Importer) flush(ctx context.Context, last stage) error {
	if err := write(ctx, im, &im.users, "users", im.importUsers); err != nil {
		return err
	}
	if last == stageFollows || last == stageLikes {
		leaveOut(im, &im.follows, func(f *feed.Follow) []feed.ID { return []feed.ID{f.Follower, f.Followee} })
		if err := write(ctx, im, &im.follows, "follows", im.cfg.Record.ImportFollows); err != nil {
			return err
		}
	}
	if last >= stagePosts {
		leaveOut(im, &im.posts, func(p *feed.Post) []feed.ID { return []feed.ID{p.Author} })
		if err := write(ctx, im, &im.posts, "posts", im.importPosts); err != nil {
			return err
		}
	}
	if last == stageLikes {
		leaveOut(im, &im.likes, func(l *feed.Like) []feed.ID { return []feed.ID{l.User} })
		return write(ctx, im, &im.likes, "likes", im.cfg.Record.ImportLikes)
	}
	return nil
}

// leaveOut refuses the rows that name a user whose own line was refused: on the
// record that id belongs to somebody else.
func leaveOut[T any](im *Importer, b *batch[T], names func(*T) []feed.ID) {
	if len(im.strangers) == 0 {
		return
	}
	kept := 0
	for i := range b.rows {
		refused := false
		for _, id := range names(&b.rows[i]) {
			if _, stranger := im.strangers[id]; stranger && !refused {
				refused = true
				im.reject(b.lines[i], fmt.Sprintf("It names the user %d, whose line was refused.", id))
			}
		}
		if !refused {
			b.rows[kept], b.lines[kept] = b.rows[i], b.lines[i]
			kept++
		}
	}
	b.rows, b.lines = b.rows[:kept], b.lines[:kept]
}

// importUsers remembers whose lines were refused.
func (im *Importer) importUsers(ctx context.Context, rows []feed.User) ([]feed.Outcome, error) {
	outcomes, err := im.cfg.Record.ImportUsers(ctx, rows)
	if err != nil {
		return nil, err
	}
	for i, outcome := range outcomes {
		if outcome.State == feed.Refused && i < len(rows) {
			im.strangers[rows[i].ID] = struct{}{}
		}
	}
	return outcomes, nil
}

func write[T any](ctx context.Context, im *Importer, b *batch[T], what string,
	to func(context.Context, []T) ([]feed.Outcome, error),
) error {
	if len(b.rows) == 0 {
		return nil
	}
	outcomes, err := to(ctx, b.rows)
	if err != nil {
		return fmt.Errorf("writing %d %s: %w", len(b.rows), what, err)
	}
	if len(outcomes) != len(b.rows) {
		return fmt.Errorf("writing %d %s: the record answered for %d", len(b.rows), what, len(outcomes))
	}
	count := im.report.count(what)
	for i, outcome := range outcomes {
		switch outcome.State {
		case feed.Added:
			count.Added++
		case feed.Same:
			count.Same++
		case feed.Refused:
			im.reject(b.lines[i], outcome.Reason)
		}
	}
	b.rows, b.lines = b.rows[:0], b.lines[:0]
	return nil
}

// importPosts gives posts that claim to come from the future the time of this
// import. On a repeat, such a post is on the record with the time of the import
// that brought it first, so the record refuses it; it is the same nevertheless.
func (im *Importer) importPosts(ctx context.Context, rows []feed.Post) ([]feed.Outcome, error) {
	claimed := im.date(rows)
	outcomes, err := im.cfg.Record.ImportPosts(ctx, rows)
	if err != nil {
		return nil, err
	}
	var refused []feed.ID
	for i, outcome := range outcomes {
		if outcome.State == feed.Refused {
			refused = append(refused, rows[i].ID)
		}
	}
	if len(refused) == 0 {
		return outcomes, nil
	}
	found, err := im.cfg.Record.PostsByID(ctx, refused)
	if err != nil {
		return nil, fmt.Errorf("looking up posts that were refused: %w", err)
	}
	known := make(map[feed.ID]*feed.PostRow, len(found))
	for i := range found {
		known[found[i].ID] = &found[i]
	}
	for i := range outcomes {
		row, there := &rows[i], known[rows[i].ID]
		if outcomes[i].State != feed.Refused || there == nil || there.Author != row.Author || there.Text != row.Text {
			continue
		}
		at := row.At
		if claim, future := claimed[i]; future {
			at = claim
		}
		if there.At < at {
			outcomes[i] = feed.Outcome{State: feed.Same}
		}
	}
	return outcomes, nil
}

// date brings posts from the future to now, and returns what they claimed, by index.
func (im *Importer) date(rows []feed.Post) map[int]int64 {
	if !im.future {
		return nil
	}
	im.future = false
	claimed := make(map[int]int64)
	now := im.cfg.Clock.Now().UnixMilli()
	for i := range rows {
		if rows[i].At > now {
			claimed[i] = rows[i].At
			rows[i].At = now
		}
	}
	im.report.Redated += int64(len(claimed))
	return claimed
}
