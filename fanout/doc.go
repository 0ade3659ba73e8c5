// Package fanout delivers published posts into their followers' inboxes, at
// least once and so that each shows once, whoever is killed on the way.
//
// The record holds the duty: a post and the note that it is still to be fanned
// out are one write. Everything in Redis (bells, tasks, acks, in-flight marks)
// is a hint that may be lost, repeated or come back old; the duty is found and
// finished without it.
//
// # The life of a duty
//
//	publishPost                        sweeper, each second
//	    │ post + duty: PENDING            │ duties whose Until passed:
//	    │                                 │ lost bell, killed dispatcher,
//	    └──────── bell ───────┐  ┌────────┘ failure that had its pause
//	                          ▼  ▼
//	        ┌───────────▶ BeginDuty ──── CONFLICT, NOT_FOUND ──▶ leave it
//	        │       RUNNING, Op+1, held 15 s
//	        │                  │
//	        │                  ▼  followers in id order, from Mark
//	        │            ┌── cut ──┐  at most 1,000 in one task
//	        │    one task│         │many, at most 64 outstanding
//	        │            ▼         ▼
//	        │      on the spot   tasks (stream) ──▶ executors: active readers,
//	        │            │         │                 one ZADD each, ack
//	        │            │         ▼                  │ more than 5 tries
//	   no ack for long:  │   fold acks ◀──────────────┴──▶ dead-letter stream
//	   the queue lost    │   Mark over contiguous          and a dead ack
//	   the tasks ◀───────│── ones; saved each 2 s
//	                     ▼         ▼
//	               all executed   one is dead
//	                     │         │
//	                     ▼         ▼
//	                   DONE      FAILED ── 10 min, or Replay ──▶ due again
//	                     │         (the author stays in flight)
//	                     ▼
//	      the author's in-flight mark goes, a while later
//
// A duty has one holder at a time, by Until; a holder that lost it learns so
// from the CONFLICT of its next save, since whoever takes over raises Op. Acks
// belong to an Op, so those of an earlier one do not count. Tasks may be
// executed again at will: an inbox holds a post once.
//
// The dispatcher fills the queue before it looks for the first acks. An executor
// asks once for the active readers of all the tasks that it has claimed; a task
// that is tried again asks for itself, in smaller pieces.
//
// Small and bulk duties have dispatchers and executors of their own.
package fanout
