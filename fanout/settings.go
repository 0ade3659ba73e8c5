package fanout

import (
	"cmp"
	"time"
)

// LaneSettings bound one lane in one process.
type LaneSettings struct {
	Dispatches int // duties dispatched at a time, at least 2
	Executors  int // tasks executed at a time
}

// Settings tune the workers; a zero field takes the default that is named with it.
type Settings struct {
	InboxLength  int           // entries that a trimmed inbox keeps; 1,000
	InboxSlack   int           // entries above that before it is trimmed; 200
	ActiveWindow time.Duration // readers last seen earlier lose their inboxes; 14 days

	NearbyCellLength int           // posts that a trimmed cell of the nearby index keeps; 1,000
	NearbyCellAge    time.Duration // older ones go from cells; 0 for none

	Small LaneSettings // 8 dispatches, 2 executors
	Bulk  LaneSettings // 4 dispatches, 4 executors

	TaskSize    int           // followers in a task, at most and by default [TaskSize]
	Outstanding int           // tasks of one duty that are cut and not acknowledged; 64
	CutBatch    int           // tasks cut from one read of the record; 8
	ClaimLimit  int           // tasks that an executor claims at once; 4
	MaxTries    int64         // a task that was handed out more often is dead; 5
	Poll        time.Duration // longest wait in one blocking call; 1 s
	Visibility  time.Duration // a claimed task is handed out again after this; 10 s
	Deliver     time.Duration // limit of one delivery, and of giving back at the end; 5 s

	Lease       time.Duration // nobody else takes the duty within it; 15 s
	SaveEvery   time.Duration // progress goes to the record; 2 s
	StallAfter  time.Duration // no ack for so long: start over from the mark; 15 s, above Visibility
	ReplayAfter time.Duration // a failed duty is tried again; 10 min

	SweepEvery   time.Duration // due duties and marks; 1 s
	RecountEvery time.Duration // 2 s
	RecountAge   time.Duration // counters dirty for so long are recounted; 30 s
	PruneEvery   time.Duration // 24 h
	PruneSpread  time.Duration // the first pass comes within it; 10 min

	// RetireAfter is how long an author has to be seen with nothing unfinished
	// before the in-flight mark goes: longer than a reader may take between the
	// inbox and the marks; 5 s.
	RetireAfter time.Duration
}

// withDefaults fills in what is zero.
func (s Settings) withDefaults() Settings {
	return Settings{
		InboxLength:      cmp.Or(s.InboxLength, 1000),
		InboxSlack:       cmp.Or(s.InboxSlack, 200),
		ActiveWindow:     cmp.Or(s.ActiveWindow, 14*day),
		NearbyCellLength: cmp.Or(s.NearbyCellLength, 1000),
		NearbyCellAge:    s.NearbyCellAge,
		Small: LaneSettings{
			Dispatches: max(2, cmp.Or(s.Small.Dispatches, 8)),
			Executors:  cmp.Or(s.Small.Executors, 2),
		},
		Bulk: LaneSettings{
			Dispatches: max(2, cmp.Or(s.Bulk.Dispatches, 4)),
			Executors:  cmp.Or(s.Bulk.Executors, 4),
		},
		TaskSize:     min(cmp.Or(s.TaskSize, TaskSize), TaskSize),
		Outstanding:  cmp.Or(s.Outstanding, 64),
		CutBatch:     cmp.Or(s.CutBatch, 8),
		ClaimLimit:   cmp.Or(s.ClaimLimit, 4),
		MaxTries:     cmp.Or(s.MaxTries, 5),
		Poll:         cmp.Or(s.Poll, time.Second),
		Visibility:   cmp.Or(s.Visibility, 10*time.Second),
		Deliver:      cmp.Or(s.Deliver, 5*time.Second),
		Lease:        cmp.Or(s.Lease, 15*time.Second),
		SaveEvery:    cmp.Or(s.SaveEvery, 2*time.Second),
		StallAfter:   cmp.Or(s.StallAfter, 15*time.Second),
		ReplayAfter:  cmp.Or(s.ReplayAfter, 10*time.Minute),
		SweepEvery:   cmp.Or(s.SweepEvery, time.Second),
		RecountEvery: cmp.Or(s.RecountEvery, 2*time.Second),
		RecountAge:   cmp.Or(s.RecountAge, 30*time.Second),
		PruneEvery:   cmp.Or(s.PruneEvery, day),
		PruneSpread:  cmp.Or(s.PruneSpread, 10*time.Minute),
		RetireAfter:  cmp.Or(s.RetireAfter, 5*time.Second),
	}
}
