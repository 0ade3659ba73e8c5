package fanout_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"feedgate/fanout"
	"feedgate/feed"
	"feedgate/store/storetest/redisserver"
)

// gated makes pushes wait at a gate; arrived tells of each that got there.
func gated(c *fanout.Config, only func(feed.Entry) bool) (arrived <-chan feed.Entry, open func()) {
	gate, seen := make(chan struct{}), make(chan feed.Entry, 1000)
	c.Deliver = time.Minute
	c.Inboxes.(*wire).push = func(ctx context.Context, e feed.Entry, _ []feed.ID) error {
		if !only(e) {
			return nil
		}
		seen <- e
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return seen, func() { close(gate) }
}

func anyPost(feed.Entry) bool { return true }

func TestTasksThatTheQueueLostAreCutAgain(t *testing.T) {
	t.Parallel()
	for name, raise := range map[string]bool{"found out by waiting": false, "told by the generation": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, 500, func(w *world) {
				t := w.t
				author := w.author(500)
				w.activate(every(2, 500)...)
				var restarts atomic.Int64
				var arrived <-chan feed.Entry
				var open func()
				p := w.start(func(c *fanout.Config) {
					c.ClaimLimit, c.Bulk.Executors = 1, 1
					c.Visibility, c.StallAfter = time.Hour, time.Second
					if raise {
						c.StallAfter = time.Hour
					}
					c.Hooks.DutyRestart = func(feed.Lane) { restarts.Add(1) }
					arrived, open = gated(c, anyPost)
				})
				post := w.publish(author, feed.LaneBulk)
				w.ring(feed.LaneBulk, post.ID)
				<-arrived // one task is claimed, four are in the stream
				w.until("all tasks are cut", func() bool { return p.wire.added.Load() == 5 })
				w.flush()
				if raise {
					gen, err := w.record.Generation(t.Context())
					w.check(err)
					_, err = w.record.RaiseGeneration(t.Context(), gen)
					w.check(err)
				}
				open()
				w.wantDone(post.ID, 500)
				p.end()
				if restarts.Load() == 0 {
					t.Error("the duty was not started over")
				}
			})
		})
	}
}

func TestAnOutageOfRedisDelaysAFanOutOnly(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	w := newWorld(t, server.URL(), 300)
	large, small := w.author(300), w.author(10)
	w.activate(every(2, 300)...)
	var arrived <-chan feed.Entry
	var open func()
	w.start(func(c *fanout.Config) { arrived, open = gated(c, anyPost) })
	posts := []feed.Post{w.publish(large, feed.LaneBulk), w.publish(small, feed.LaneSmall)}
	for range posts {
		<-arrived
	}
	server.Kill(t)
	open()
	w.until("a duty is given back", func() bool {
		due, err := w.record.DueDuties(t.Context(), time.Now().Add(time.Hour).UnixMilli(), 10)
		w.check(err)
		return slices.ContainsFunc(due, func(d feed.Duty) bool { return d.Op > 1 })
	})
	server.Restart(t)
	w.wantDone(posts[0].ID, 300)
	w.wantDone(posts[1].ID, 10)
	w.untilNobodyIsInFlight()
}

func TestTheLossOfAClusterNodeDelaysAFanOutOnly(t *testing.T) {
	t.Parallel()
	cluster := redisserver.StartCluster(t)
	w := newWorld(t, cluster.URL(), 500)
	large, small := w.author(500), w.author(10)
	w.activate(every(2, 500)...)
	var arrived <-chan feed.Entry
	var open func()
	w.start(func(c *fanout.Config) { arrived, open = gated(c, anyPost) })
	posts := []feed.Post{w.publish(large, feed.LaneBulk), w.publish(small, feed.LaneSmall)}
	for range posts {
		<-arrived
	}
	const key = "tasks:{bulk}"
	lost := cluster.MasterOf(t, key)
	cluster.Nodes[lost].Kill(t)
	open()
	cluster.AwaitFailover(t, key, lost)
	w.wantDone(posts[0].ID, 500)
	w.wantDone(posts[1].ID, 10)
	w.untilNobodyIsInFlight()
}

// Case 21: gotosocial#1376. The due duties of a lane without room must not
// hide those of the other one either.
func TestSaturatedWorkersLoseNothing(t *testing.T) {
	t.Parallel()
	each(t, 20, func(w *world) {
		t := w.t
		large, small := w.author(20), w.author(5)
		w.activate(every(1, 20)...)
		var arrived <-chan feed.Entry
		var open func()
		last150 := w.nextID + 150
		first := w.start(func(c *fanout.Config) {
			c.Lease = time.Hour
			arrived, open = gated(c, func(e feed.Entry) bool { return e.ID <= last150 })
		})
		for range 150 {
			w.publish(large, feed.LaneBulk)
		}
		<-arrived
		last := w.publish(small, feed.LaneSmall) // without a bell
		w.wantDone(last.ID, 5)
		first.stop()
		open()
		<-first.ended
		w.start(nil)
		for _, p := range w.posts[:150] {
			w.wantDone(p.ID, 20)
		}
		for r, inbox := range w.inboxes(every(1, 20)) {
			want := w.posts
			if r > 5 {
				want = w.posts[:150]
			}
			if want := entriesOf(want); !slices.Equal(inbox.Entries, want) {
				t.Fatalf("inbox of %d holds %d entries, want %d", r, len(inbox.Entries), len(want))
			}
		}
		w.untilNobodyIsInFlight()
	})
}

func TestATaskThatFailsForAWhileIsTriedAgain(t *testing.T) {
	t.Parallel()
	each(t, 200, func(w *world) {
		t := w.t
		author := w.author(200)
		w.activate(every(2, 200)...)
		var failures, retried atomic.Int64
		failures.Store(2)
		p := w.start(func(c *fanout.Config) {
			c.Hooks.TaskRetried = func(feed.Lane) { retried.Add(1) }
			c.Inboxes.(*wire).push = func(context.Context, feed.Entry, []feed.ID) error {
				if failures.Add(-1) >= 0 {
					return errors.New("not now")
				}
				return nil
			}
		})
		post := w.publish(author, feed.LaneBulk)
		w.wantDone(post.ID, 200)
		p.end()
		if retried.Load() < 2 {
			t.Errorf("%d retries were counted, want at least 2", retried.Load())
		}
		for r, inbox := range w.inboxes(every(2, 200)) {
			if len(inbox.Entries) != 1 {
				t.Fatalf("reader %d has %v", r, inbox.Entries)
			}
		}
	})
}

func TestAStoreTooSlowForAWholeTaskGetsItInPieces(t *testing.T) {
	t.Parallel()
	each(t, 150, func(w *world) {
		author := w.author(150) // everybody counts as active
		w.start(func(c *fanout.Config) {
			c.Inboxes.(*wire).push = func(_ context.Context, _ feed.Entry, to []feed.ID) error {
				if len(to) > 70 {
					return context.DeadlineExceeded
				}
				return nil
			}
		})
		w.wantDone(w.publish(author, feed.LaneBulk).ID, 150)
	})
}
