package fanout_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"feedgate/fanout"
	"feedgate/feed"
)

func TestActiveFollowersAndTheAuthorGetThePostOnce(t *testing.T) {
	t.Parallel()
	each(t, 250, func(w *world) {
		t := w.t
		sizes := []feed.ID{0, 1, 10, 100, 101, 200, 250}
		active := every(2, w.people)
		posts := make(map[feed.ID]feed.Post)
		w.start(nil)
		for _, size := range sizes {
			author := w.author(size)
			active = append(active, author)
			w.activate(author)
			posts[size] = feed.Post{Author: author}
		}
		w.activate(active...)
		for _, size := range sizes {
			p := w.publish(posts[size].Author, feed.LaneSmall)
			w.ring(feed.LaneSmall, p.ID)
			posts[size] = p
		}
		for _, size := range sizes {
			w.wantDone(posts[size].ID, int64(size))
		}
		for r, inbox := range w.inboxes(append(every(1, w.people), active...)) {
			if !slices.Contains(active, r) {
				if inbox.Floor != nil || len(inbox.Entries) > 0 {
					t.Fatalf("inactive reader %d has an inbox", r)
				}
				continue
			}
			var got []feed.Post
			for size, p := range posts {
				if r <= size || r == p.Author {
					got = append(got, p)
				}
			}
			if want := entriesOf(got); !slices.Equal(inbox.Entries, want) {
				t.Fatalf("inbox of %d holds %v, want %v", r, inbox.Entries, want)
			}
		}
		w.untilNobodyIsInFlight()
	})
}

// Case 20: mastodon#17856.
func TestASmallPostIsNotHeldUpByALargeOne(t *testing.T) {
	t.Parallel()
	const followers = 20_000 / slow
	each(t, followers, func(w *world) {
		t := w.t
		big, small := w.author(followers), w.author(10)
		w.activate(every(50, followers)...)
		gate := make(chan struct{})
		large := w.publish(big, feed.LaneBulk)
		var tasks atomic.Int64
		arrived := make(chan struct{}, 100)
		p := w.start(func(c *fanout.Config) {
			c.TaskSize = fanout.TaskSize / slow
			c.SweepEvery = time.Hour // the bells alone must do
			c.Visibility, c.StallAfter, c.Deliver = time.Minute, 2*time.Minute, time.Minute
			c.Hooks.TaskExecuted = func(lane feed.Lane, _ int) {
				if lane == feed.LaneBulk {
					tasks.Add(1)
				}
			}
			c.Inboxes.(*wire).push = func(ctx context.Context, e feed.Entry, _ []feed.ID) error {
				if e.ID != large.ID {
					return nil
				}
				arrived <- struct{}{}
				select {
				case <-gate:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		})
		w.ring(feed.LaneBulk, large.ID)
		<-arrived // the large one is under way, and hangs
		little := w.publish(small, feed.LaneSmall)
		w.ring(feed.LaneSmall, little.ID)
		w.wantDone(little.ID, 10)
		if d := w.delivery(large.ID); d.State != feed.DeliveryRunning {
			t.Errorf("the large delivery is %+v, want it under way", d)
		}
		close(gate)
		w.wantDone(large.ID, followers)
		p.end()
		if n := tasks.Load(); n != 20 {
			t.Errorf("%d followers took %d tasks, want 20", followers, n)
		}
	})
}

// Case 19: sidekiq#1831, with the process cut off instead of killed.
func TestAKilledFanOutGoesOnFromItsMark(t *testing.T) {
	t.Parallel()
	const followers = 10_000 / slow
	each(t, followers, func(w *world) {
		t := w.t
		author := w.author(followers)
		w.activate(every(10, followers)...)
		var pushes atomic.Int64
		first := w.start(func(c *fanout.Config) {
			c.Bulk.Executors = 1
			c.ClaimLimit = 1
			c.TaskSize = fanout.TaskSize / slow
			wire := c.Inboxes.(*wire)
			wire.push = func(context.Context, feed.Entry, []feed.ID) error {
				if pushes.Add(1) == 5 {
					wire.after = true
					wire.fuse.Store(0) // in the middle of this pipeline
					wire.kill()
				}
				return nil
			}
		})
		p := w.publish(author, feed.LaneBulk)
		w.ring(feed.LaneBulk, p.ID)
		<-first.ended
		if d := w.delivery(p.ID); d.State != feed.DeliveryRunning || d.Delivered > followers*4/10 {
			t.Errorf("after the kill the delivery is %+v", d)
		}
		second := w.start(func(c *fanout.Config) { c.TaskSize = fanout.TaskSize / slow })
		w.wantDone(p.ID, followers)
		want := entriesOf([]feed.Post{p})
		for r, inbox := range w.inboxes(every(10, followers)) {
			if !slices.Equal(inbox.Entries, want) {
				t.Fatalf("inbox of %d holds %v, want %v", r, inbox.Entries, want)
			}
		}
		w.untilNobodyIsInFlight()
		second.end()
	})
}

func TestAStoppedProcessGivesItsDutiesBackAtOnce(t *testing.T) {
	t.Parallel()
	each(t, 300, func(w *world) {
		author := w.author(300)
		w.activate(every(2, 300)...)
		hold := make(chan struct{})
		arrived := make(chan struct{}, 10)
		first := w.start(func(c *fanout.Config) {
			c.Lease = time.Hour // nobody but its holder can end it
			c.Inboxes.(*wire).push = func(context.Context, feed.Entry, []feed.ID) error {
				arrived <- struct{}{}
				<-hold
				return nil
			}
		})
		p := w.publish(author, feed.LaneSmall)
		w.ring(feed.LaneSmall, p.ID)
		<-arrived
		first.stop()
		close(hold)
		<-first.ended
		w.start(nil)
		w.wantDone(p.ID, 300)
	})
}

func TestADeadTaskFailsTheDutyUntilItIsReplayed(t *testing.T) {
	t.Parallel()
	each(t, 400, func(w *world) {
		t := w.t
		author := w.author(400)
		w.activate(every(2, 400)...)
		var mended atomic.Bool
		var mu sync.Mutex
		tries := 0
		buried := make(chan feed.Lane, 10)
		p := w.start(func(c *fanout.Config) {
			c.MaxTries, c.StallAfter = 2, time.Hour
			c.Hooks.TaskBuried = func(lane feed.Lane) { buried <- lane }
			c.Inboxes.(*wire).push = func(_ context.Context, _ feed.Entry, to []feed.ID) error {
				if mended.Load() || to[0] < 100 || to[0] > 200 {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				tries++
				return errors.New("this task is poison")
			}
		})
		post := w.publish(author, feed.LaneBulk)
		w.ring(feed.LaneBulk, post.ID)
		<-buried
		w.until("the delivery is FAILED for good", func() bool {
			due, err := w.record.DueDuties(t.Context(), time.Now().Add(time.Hour).UnixMilli(), 10)
			w.check(err)
			return len(due) == 1 && due[0].State == feed.DeliveryFailed && due[0].Until > time.Now().Add(9*time.Minute).UnixMilli()
		})
		want := feed.Delivery{State: feed.DeliveryFailed, Total: 400, Delivered: 100}
		if d := w.delivery(post.ID); d != want {
			t.Errorf("delivery is %+v, want %+v", d, want)
		}
		mu.Lock()
		if tries != 2 {
			t.Errorf("the task was tried %d times, want 2", tries)
		}
		mu.Unlock()
		// The others got it, and the author stays in flight.
		for r, inbox := range w.inboxes(every(2, 400)) {
			if got, want := len(inbox.Entries) == 1, r <= 100 || r > 200; got != want {
				t.Fatalf("reader %d has the post: %v, want %v", r, got, want)
			}
		}
		unfinished, err := w.record.UnfinishedAmong(t.Context(), []feed.ID{author})
		w.check(err)
		if !slices.Equal(unfinished, []feed.ID{author}) {
			t.Errorf("unfinished are %v, want the author", unfinished)
		}
		mended.Store(true)
		if n, err := p.Replay(t.Context()); err != nil || n != 1 {
			t.Fatalf("Replay gave %d, %v, want 1", n, err)
		}
		w.wantDone(post.ID, 400)
		for r, inbox := range w.inboxes(every(2, 400)) {
			if len(inbox.Entries) != 1 {
				t.Fatalf("reader %d has %v", r, inbox.Entries)
			}
		}
		w.untilNobodyIsInFlight()
	})
}

func TestADeletedPostEndsItsFanOut(t *testing.T) {
	t.Parallel()
	each(t, 200, func(w *world) {
		t := w.t
		author := w.author(200)
		w.activate(every(2, 200)...)
		arrived := make(chan struct{}, 10)
		gate := make(chan struct{})
		p := w.start(func(c *fanout.Config) {
			c.Inboxes.(*wire).push = func(context.Context, feed.Entry, []feed.ID) error {
				arrived <- struct{}{}
				<-gate
				return nil
			}
		})
		post := w.publish(author, feed.LaneBulk)
		w.ring(feed.LaneBulk, post.ID)
		<-arrived
		_, err := w.record.DeletePost(t.Context(), post.ID, time.Now().UnixMilli())
		w.check(err)
		close(gate)
		w.untilNobodyIsInFlight()
		p.end()
		due, err := w.record.DueDuties(t.Context(), time.Now().Add(time.Hour).UnixMilli(), 10)
		w.check(err)
		if len(due) != 0 {
			t.Errorf("duties are left: %+v", due)
		}
	})
}

func TestRecountedCountersLeaveTheHotData(t *testing.T) {
	t.Parallel()
	each(t, 10, func(w *world) {
		t := w.t
		author := w.author(0)
		fill := func() {
			lease := &feed.LeaseDetails[feed.UserCounts]{IDs: []feed.ID{author}, Token: "t"}
			w.do(lease)
			w.do(&feed.FillDetails[feed.UserCounts]{
				IDs: lease.IDs, Token: "t", Generation: 1, Values: []feed.UserCounts{{Followers: 77}},
			})
		}
		fill()
		get := &feed.GetDetails[feed.UserCounts]{IDs: []feed.ID{author}}
		w.do(get)
		if get.State[0] != feed.Found || get.Values[0].Followers != 77 {
			t.Fatalf("the wrong counter was not stored: %+v", get)
		}
		_, err := w.record.ImportFollows(t.Context(), []feed.Follow{{Follower: 1, Followee: author, At: 1}})
		w.check(err)
		var n atomic.Int64
		w.start(func(c *fanout.Config) {
			c.RecountEvery, c.RecountAge = 20*time.Millisecond, time.Millisecond
			c.Hooks.Recounted = func(k int) { n.Add(int64(k)) }
		})
		w.until("the counters are recounted and dropped", func() bool {
			w.do(get)
			return n.Load() > 0 && get.State[0] == feed.Missing
		})
		rows, err := w.record.UsersByID(t.Context(), []feed.ID{author})
		w.check(err)
		if rows[0].Followers != 1 {
			t.Errorf("the record counts %d followers, want 1", rows[0].Followers)
		}
	})
}

func TestReadersNotSeenForLongLoseTheirInboxes(t *testing.T) {
	t.Parallel()
	each(t, 10, func(w *world) {
		t := w.t
		w.activate(1, 2)
		w.do(&feed.TouchActive{Reader: 3, Day: time.Now().UnixMilli()/86_400_000 - 20, Make: 1})
		pruned := make(chan int, 10)
		w.start(func(c *fanout.Config) {
			c.PruneSpread = time.Millisecond
			c.Hooks.Pruned = func(n int) { pruned <- n }
		})
		if n := <-pruned; n != 1 {
			t.Errorf("%d readers were pruned, want 1", n)
		}
		if got := w.inboxes([]feed.ID{1, 2}); got[1].Floor == nil || got[2].Floor == nil {
			t.Error("an active reader lost the inbox")
		}
	})
}

// Whom a worker knows to be active it does not ask for again; of all others it
// hears as soon as they are.
func TestReadersKnownToBeActiveAreNotAskedForAgain(t *testing.T) {
	t.Parallel()
	each(t, 40, func(w *world) {
		t := w.t
		author := w.author(40)
		today := time.Now().UnixMilli() / 86_400_000
		w.activate(append(every(2, 40), author)...)
		for id := range feed.ID(200) { // all shards have an epoch
			w.do(&feed.TouchActive{Reader: 1000 + id, Day: today, Make: 1})
		}
		// In half a day, the daily pass may have taken the mark of this one.
		w.do(&feed.TouchActive{Reader: 2, Day: today - 14, Make: 1})
		p := w.start(func(c *fanout.Config) {
			c.TaskSize = 10
			c.Visibility, c.StallAfter, c.Deliver = time.Minute, 2*time.Minute, time.Minute // no second tries
		})
		send := func() (post feed.Post, asked []feed.ID) {
			p.wire.asked.Store(&[]feed.ID{})
			post = w.publish(author, feed.LaneBulk)
			w.ring(feed.LaneBulk, post.ID)
			w.wantDone(post.ID, 40)
			return post, *p.wire.asked.Load()
		}
		first, asked := send()
		if len(asked) < 41 {
			t.Fatalf("at first, %d readers are asked for, want 41", len(asked))
		}
		second, asked := send()
		slices.Sort(asked)
		if active := every(2, 40); len(asked) != 20 || slices.ContainsFunc(asked, func(id feed.ID) bool { return slices.Contains(active, id) }) {
			t.Errorf("asked for again: %v, want those of 40 who are not active, and the one whose mark is old", asked)
		}
		w.activate(4)
		third, asked := send()
		if len(asked) != 20 {
			t.Errorf("asked for the third time: %v, want 20 readers", asked)
		}
		if _, asked = send(); len(asked) != 19 {
			t.Errorf("asked for the fourth time: %v, want 19 readers", asked)
		}
		gen, err := w.record.Generation(t.Context())
		w.check(err)
		_, err = w.record.RaiseGeneration(t.Context(), gen)
		w.check(err)
		if _, asked = send(); len(asked) != 41 {
			t.Errorf("asked under another generation: %d readers, want 41", len(asked))
		}
		got := w.inboxes([]feed.ID{1, 4, 6})
		for reader, want := range map[feed.ID][]feed.Post{1: {first, second, third}, 4: {third}, 6: nil} {
			for _, post := range []feed.Post{first, second, third} {
				has := slices.Contains(got[reader].Entries, feed.Entry{At: post.At, ID: post.ID})
				if has != slices.ContainsFunc(want, func(p feed.Post) bool { return p.ID == post.ID }) {
					t.Errorf("reader %d has post %d: %v", reader, post.ID, has)
				}
			}
		}
	})
}
