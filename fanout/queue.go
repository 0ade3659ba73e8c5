package fanout

import (
	"context"
	"time"

	"feedgate/feed"
)

// Task is one piece of a fan-out: one post for at most [TaskSize] followers.
type Task struct {
	Lane    feed.Lane
	Post    feed.ID
	At      int64 // publishedAt of the post
	Author  feed.ID
	Op      int64     // of the duty when the task was cut
	Number  int64     // 0, 1, 2, ... within one Op
	Readers []feed.ID // ascending
}

// TaskSize is the highest number of followers in one task.
const TaskSize = 1000

// Claimed is a task that this process is to execute, with what it takes to end it.
type Claimed struct {
	Task
	Handle string // of the queue's own
	Tries  int64  // how often the task was handed out, this time included
}

// Ack is the outcome of one task.
type Ack struct {
	Number int64
	Last   feed.ID // the highest follower of the task
	Count  int64   // followers in the task
	Dead   bool    // the task failed too often and lies in the dead-letter stream
}

// Bells are the doorbells that publishing rings: hints that a post has a duty.
type Bells interface {
	// Bells waits up to wait for bells of a lane and takes up to limit of them. A bell
	// is gone once returned: the record, not the bell, holds the duty.
	Bells(ctx context.Context, lane feed.Lane, limit int, wait time.Duration) ([]feed.ID, error)
}

// Tasks is the queue of tasks. A task is handed out again when whoever took it
// did not end it within the visibility time.
type Tasks interface {
	// AddTasks appends tasks of one lane, in one round trip.
	AddTasks(ctx context.Context, lane feed.Lane, tasks []Task) error
	// ClaimTasks waits up to wait for up to limit tasks. Tasks that were taken
	// longer than visibility ago and not ended come first.
	ClaimTasks(ctx context.Context, lane feed.Lane, limit int, wait, visibility time.Duration) ([]Claimed, error)
	// EndTasks records the acks of executed tasks and removes them, in one round trip.
	EndTasks(ctx context.Context, lane feed.Lane, tasks []Claimed) error
	// BuryTask puts a task into the dead-letter stream, records a Dead ack and removes it.
	BuryTask(ctx context.Context, lane feed.Lane, task Claimed, cause string) error
	// Acks returns the acks of one post's Op from a number on, ascending.
	Acks(ctx context.Context, post feed.ID, op, from int64, limit int) ([]Ack, error)
	// WaitAcks waits until an ack of the post's Op arrives or wait is over.
	WaitAcks(ctx context.Context, post feed.ID, op int64, wait time.Duration) error
	// DropAcks forgets the acks of a post's Op. They also go by themselves after a day.
	DropAcks(ctx context.Context, post feed.ID, op int64) error
}

// Inboxes is where posts are delivered.
type Inboxes interface {
	// LastSeen gives for each reader the day since 1970 on which the follow feed was
	// read last: 0 when the reader is not marked active, so that the inbox is not
	// kept up, and [SeenUnknown] in a shard that has no epoch. One round trip.
	LastSeen(ctx context.Context, readers []feed.ID) ([]int64, error)
	// Push adds the entry to the inbox of each reader: one ZADD a reader, one round
	// trip. A sample of the inboxes is measured on the way; those above keep+slack
	// are trimmed to keep.
	Push(ctx context.Context, e feed.Entry, readers []feed.ID, keep, slack int) error
}

// Mark says that an author was in flight under a version.
type Mark struct {
	Author  feed.ID
	Version int64
}

// Marks are the in-flight marks, for the sweeper.
type Marks interface {
	// Marks returns all in-flight marks.
	Marks(ctx context.Context) ([]Mark, error)
	// Retire removes each mark that still carries the given version.
	Retire(ctx context.Context, marks []Mark) error
}

// Readers are the active readers, for the daily pass.
type Readers interface {
	// PruneActive deletes the inboxes of readers last seen before a day, and then
	// their marks, at most limit of them, and returns how many.
	PruneActive(ctx context.Context, before int64, limit int) (int, error)
}
