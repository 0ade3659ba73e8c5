package storetest

import (
	"time"

	"feedgate/fanout"
	"feedgate/feed"
)

func hotAckTests() map[string]func(s *hotSuite) {
	return map[string]func(s *hotSuite){
		"acks are read in order":                 acksOrder,
		"an ack that comes twice is one":         acksTwice,
		"acks of one op are not another's":       acksOps,
		"an ack wakes who waits":                 acksWake,
		"an ack that has come is not waited for": acksCame,
		"dropped acks are gone":                  acksDrop,
		"waiting for acks ends":                  acksWait,
	}
}

func (s *hotSuite) acks(post feed.ID, op, from int64, limit int) []fanout.Ack {
	s.t.Helper()
	got, err := s.hot.Acks(s.ctx(), post, op, from, limit)
	s.must(err)
	return got
}

// end acknowledges tasks with the given numbers.
func (s *hotSuite) end(op int64, numbers ...int64) {
	s.t.Helper()
	var tasks []fanout.Claimed
	for _, n := range numbers {
		task := sampleTask(7, n)
		task.Op = op
		tasks = append(tasks, fanout.Claimed{Task: task, Handle: "1-1"})
	}
	s.must(s.hot.EndTasks(s.ctx(), feed.LaneSmall, tasks))
}

func numbers(acks []fanout.Ack) []int64 {
	var n []int64
	for _, a := range acks {
		n = append(n, a.Number)
	}
	return n
}

func acksOrder(s *hotSuite) {
	s.end(1, 10, 2, 1)
	s.end(1, 300, 0)
	equalSlice(s, "all", numbers(s.acks(7, 1, 0, 100)), []int64{0, 1, 2, 10, 300})
	equalSlice(s, "some", numbers(s.acks(7, 1, 2, 2)), []int64{2, 10})
	equalSlice(s, "none", numbers(s.acks(7, 1, 301, 2)), nil)
}

func acksTwice(s *hotSuite) {
	s.end(1, 0, 1)
	s.end(1, 1, 0)
	equalSlice(s, "acks", numbers(s.acks(7, 1, 0, 100)), []int64{0, 1})
}

func acksOps(s *hotSuite) {
	s.end(1, 0)
	s.end(2, 5)
	equalSlice(s, "of the first", numbers(s.acks(7, 1, 0, 100)), []int64{0})
	equalSlice(s, "of the second", numbers(s.acks(7, 2, 0, 100)), []int64{5})
	equalSlice(s, "of another post", numbers(s.acks(8, 1, 0, 100)), nil)
}

func acksWake(s *hotSuite) {
	woken := make(chan error, 1)
	go func() { woken <- s.other.WaitAcks(s.ctx(), 7, 1, time.Hour) }()
	s.end(1, 0)
	s.must(<-woken)
}

func acksCame(s *hotSuite) {
	s.end(1, 0, 1, 2)
	s.must(s.hot.WaitAcks(s.ctx(), 7, 1, time.Hour))
}

func acksDrop(s *hotSuite) {
	s.end(1, 0)
	s.end(2, 0)
	s.must(s.hot.DropAcks(s.ctx(), 7, 1))
	equalSlice(s, "dropped", numbers(s.acks(7, 1, 0, 100)), nil)
	equalSlice(s, "kept", numbers(s.acks(7, 2, 0, 100)), []int64{0})
	s.back.Evict(s.t)
	equalSlice(s, "kept after evictions", numbers(s.acks(7, 2, 0, 100)), nil)
}

func acksWait(s *hotSuite) {
	s.must(s.hot.WaitAcks(s.ctx(), 7, 1, 0))
	s.must(s.hot.WaitAcks(s.ctx(), 7, 1, 10*time.Millisecond))
}
