package storetest

import (
	"context"
	"reflect"
	"time"

	"feedgate/fanout"
	"feedgate/feed"
)

func hotQueueTests() map[string]func(s *hotSuite) {
	return map[string]func(s *hotSuite){
		"a bell is heard once":                   bellsOnce,
		"a bell wakes who waits":                 bellsWake,
		"lanes don't hear one another":           bellsLanes,
		"bells ring after a loss":                bellsAfterLoss,
		"a task is handed out whole":             tasksWhole,
		"a task is handed out once":              tasksOnce,
		"a lost task is handed out again":        tasksAgain,
		"an ended task is not handed out again":  tasksEnd,
		"a task that fails too often is buried":  tasksBury,
		"a new task wakes who waits":             tasksWake,
		"the queue works on after a loss":        tasksAfterLoss,
		"waiting ends when nobody waits for it":  tasksCancelled,
		"a task of another time is still a task": tasksGeneration,
	}
}

func (s *hotSuite) bells(h Hot, lane feed.Lane, limit int, wait time.Duration) []feed.ID {
	s.t.Helper()
	got, err := h.Bells(s.ctx(), lane, limit, wait)
	s.must(err)
	return got
}

// soon bounds the waiting for what is there or comes at once.
const soon = 10 * time.Second

func bellsOnce(s *hotSuite) {
	s.do(&feed.Ring{Lane: feed.LaneSmall, Post: 1}, &feed.Ring{Lane: feed.LaneSmall, Post: 1 << 62}, &feed.Ring{Lane: feed.LaneSmall, Post: 3})
	equalSlice(s, "first two", s.bells(s.hot, feed.LaneSmall, 2, soon), []feed.ID{1, 1 << 62})
	equalSlice(s, "the rest", s.bells(s.other, feed.LaneSmall, 2, soon), []feed.ID{3})
	equalSlice(s, "nothing left", s.bells(s.hot, feed.LaneSmall, 2, 0), nil)
	equalSlice(s, "nothing left after waiting", s.bells(s.hot, feed.LaneSmall, 2, 10*time.Millisecond), nil)
}

func bellsWake(s *hotSuite) {
	heard := make(chan []feed.ID, 1)
	go func() {
		got, err := s.other.Bells(s.ctx(), feed.LaneBulk, 10, soon)
		if err != nil {
			s.t.Errorf("bells: %v", err)
		}
		heard <- got
	}()
	s.do(&feed.Ring{Lane: feed.LaneBulk, Post: 5})
	equalSlice(s, "heard", <-heard, []feed.ID{5})
}

func bellsLanes(s *hotSuite) {
	s.do(&feed.Ring{Lane: feed.LaneBulk, Post: 5})
	equalSlice(s, "heard in the other lane", s.bells(s.hot, feed.LaneSmall, 10, 0), nil)
	equalSlice(s, "heard", s.bells(s.hot, feed.LaneBulk, 10, 0), []feed.ID{5})
}

func bellsAfterLoss(s *hotSuite) {
	equalSlice(s, "before any", s.bells(s.hot, feed.LaneSmall, 10, 0), nil)
	s.back.Flush(s.t)
	s.do(&feed.Ring{Lane: feed.LaneSmall, Post: 6})
	equalSlice(s, "after a loss", s.bells(s.hot, feed.LaneSmall, 10, 0), []feed.ID{6})
	s.back.Evict(s.t)
	s.do(&feed.Ring{Lane: feed.LaneSmall, Post: 7})
	equalSlice(s, "after evictions", s.bells(s.hot, feed.LaneSmall, 10, 0), []feed.ID{7})
}

func sampleTask(post feed.ID, number int64) fanout.Task {
	return fanout.Task{
		Lane: feed.LaneSmall, Post: post, At: day0, Author: 1<<62 + 1, Op: 3, Number: number,
		Readers: []feed.ID{1, 2, 1<<53 + 1, 1<<63 - 1},
	}
}

func (s *hotSuite) addTasks(tasks ...fanout.Task) {
	s.t.Helper()
	s.must(s.hot.AddTasks(s.ctx(), feed.LaneSmall, tasks))
}

func (s *hotSuite) claim(h Hot, limit int, wait, visibility time.Duration) []fanout.Claimed {
	s.t.Helper()
	got, err := h.ClaimTasks(s.ctx(), feed.LaneSmall, limit, wait, visibility)
	s.must(err)
	return got
}

func tasksWhole(s *hotSuite) {
	big := sampleTask(8, 1)
	big.Readers = nil
	for i := range fanout.TaskSize {
		big.Readers = append(big.Readers, feed.ID(1<<53+i*i))
	}
	want := []fanout.Task{sampleTask(7, 0), big}
	s.addTasks(want...)
	got := s.claim(s.hot, 10, soon, time.Minute)
	if len(got) != len(want) {
		s.t.Fatalf("claimed: got %d tasks, want %d", len(got), len(want))
	}
	for i := range got {
		equal(s, "tries", got[i].Tries, 1)
		if !reflect.DeepEqual(got[i].Task, want[i]) {
			s.t.Errorf("task %d: got %+v, want %+v", i, got[i].Task, want[i])
		}
	}
	s.must(s.hot.AddTasks(s.ctx(), feed.LaneSmall, nil))
}

func tasksOnce(s *hotSuite) {
	s.addTasks(sampleTask(7, 0), sampleTask(7, 1), sampleTask(7, 2))
	first := s.claim(s.hot, 2, soon, time.Minute)
	second := s.claim(s.other, 2, soon, time.Minute)
	equal(s, "first", len(first), 2)
	equal(s, "second", len(second), 1)
	equal(s, "third", len(s.claim(s.hot, 2, 0, time.Minute)), 0)
}

// brief is a visibility that is over as soon as one looks.
const brief = time.Millisecond

// claimAgain claims until a lost task comes.
func (s *hotSuite) claimAgain() fanout.Claimed {
	s.t.Helper()
	var got []fanout.Claimed
	s.until("a lost task is handed out again", func() bool {
		if s.back.Advance != nil {
			s.back.Advance(s.t, 2*brief)
		}
		got = s.claim(s.other, 1, 0, brief)
		return len(got) > 0
	})
	return got[0]
}

func tasksAgain(s *hotSuite) {
	s.addTasks(sampleTask(7, 0))
	first := s.claim(s.hot, 1, soon, time.Minute)[0]
	again := s.claimAgain()
	equal(s, "handle", again.Handle, first.Handle)
	equal(s, "tries", again.Tries, 2)
	if !reflect.DeepEqual(again.Task, first.Task) {
		s.t.Errorf("task: got %+v, want %+v", again.Task, first.Task)
	}
	equal(s, "tries", s.claimAgain().Tries, 3)
}

func tasksEnd(s *hotSuite) {
	s.addTasks(sampleTask(7, 0), sampleTask(7, 1))
	got := s.claim(s.hot, 2, soon, time.Minute)
	s.must(s.hot.EndTasks(s.ctx(), feed.LaneSmall, got[:1]))
	equal(s, "handed out again", s.claimAgain().Number, 1)
	s.must(s.hot.EndTasks(s.ctx(), feed.LaneSmall, got))
	s.must(s.hot.EndTasks(s.ctx(), feed.LaneSmall, nil))
	if s.back.Advance != nil {
		s.back.Advance(s.t, time.Minute)
	}
	equal(s, "left", len(s.claim(s.other, 2, 10*time.Millisecond, brief)), 0)
	equal(s, "acks", len(s.acks(7, 3, 0, 10)), 2)
}

func tasksBury(s *hotSuite) {
	s.addTasks(sampleTask(7, 0))
	task := s.claim(s.hot, 1, soon, time.Minute)[0]
	s.must(s.hot.BuryTask(s.ctx(), feed.LaneSmall, task, "it does not work"))
	if s.back.Advance != nil {
		s.back.Advance(s.t, time.Minute)
	}
	equal(s, "left", len(s.claim(s.other, 2, 10*time.Millisecond, brief)), 0)
	equalSlice(s, "acks", s.acks(7, 3, 0, 10), []fanout.Ack{{Number: 0, Last: 1<<63 - 1, Count: 4, Dead: true}})
	s.must(s.hot.EndTasks(s.ctx(), feed.LaneSmall, []fanout.Claimed{task})) // it was executed after all
	equalSlice(s, "acks", s.acks(7, 3, 0, 10), []fanout.Ack{{Number: 0, Last: 1<<63 - 1, Count: 4}})
}

func tasksWake(s *hotSuite) {
	claimed := make(chan int, 1)
	go func() {
		got, err := s.other.ClaimTasks(s.ctx(), feed.LaneSmall, 10, soon, time.Minute)
		if err != nil {
			s.t.Errorf("claim: %v", err)
		}
		claimed <- len(got)
	}()
	s.addTasks(sampleTask(7, 0))
	equal(s, "claimed", <-claimed, 1)
}

func tasksAfterLoss(s *hotSuite) {
	s.addTasks(sampleTask(7, 0), sampleTask(7, 1))
	held := s.claim(s.hot, 1, soon, time.Minute)
	waiting := make(chan error, 1)
	s.back.Flush(s.t)
	go func() {
		_, err := s.other.ClaimTasks(s.ctx(), feed.LaneSmall, 1, 300*time.Millisecond, time.Minute)
		waiting <- err
	}()
	s.back.Flush(s.t)
	s.must(<-waiting)
	s.must(s.hot.EndTasks(s.ctx(), feed.LaneSmall, held))
	s.addTasks(sampleTask(7, 2))
	got := s.claim(s.hot, 1, soon, time.Minute)
	equal(s, "claimed after the loss", len(got), 1)
	equal(s, "its number", got[0].Number, 2)
	s.must(s.hot.BuryTask(s.ctx(), feed.LaneSmall, got[0], "x"))
}

func tasksCancelled(s *hotSuite) {
	ctx, cancel := context.WithCancel(s.ctx())
	done := make(chan error, 2)
	go func() {
		_, err := s.hot.ClaimTasks(ctx, feed.LaneSmall, 1, time.Hour, time.Minute)
		done <- err
	}()
	go func() { done <- s.hot.WaitAcks(ctx, 7, 1, time.Hour) }()
	cancel()
	for range 2 {
		if err := <-done; feed.CodeOf(err) != feed.CodeUnavailable {
			s.t.Errorf("cancelled: got %v, want UNAVAILABLE", err)
		}
	}
}

func tasksGeneration(s *hotSuite) {
	s.addTasks(sampleTask(7, 0))
	s.setGeneration(firstGeneration + 1)
	equal(s, "claimed", len(s.claim(s.hot, 1, soon, time.Minute)), 1)
}
