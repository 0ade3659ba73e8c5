package storetest

import "feedgate/feed"

func hotInboxTests() map[string]func(s *hotSuite) {
	return map[string]func(s *hotSuite){
		"a push reaches every reader":                        pushAll,
		"inboxes stay bounded":                               pushBounded,
		"a push to nobody is nothing":                        pushNone,
		"an inbox in a shard without an epoch has an expiry": pushExpiry,
	}
}

func (s *hotSuite) push(e feed.Entry, keep, slack int, readers ...feed.ID) {
	s.t.Helper()
	s.must(s.hot.Push(s.ctx(), e, readers, keep, slack))
}

func (s *hotSuite) length(owner feed.ID) int {
	s.t.Helper()
	return s.openList(feed.List{Kind: feed.Inbox, Owner: owner}).Length
}

func pushAll(s *hotSuite) {
	var readers []feed.ID
	for range 500 {
		readers = append(readers, s.ids.Next())
	}
	before := s.trips.Load()
	s.push(at(100, 1), 1000, 10, readers...)
	// One round trip, and one more because nobody is marked here.
	equal(s, "round trips", s.trips.Load()-before, 2)
	for _, reader := range readers {
		equal(s, "length", s.length(reader), 1)
		s.touch(reader, 20_000, day0)
	}
	before = s.trips.Load()
	s.push(at(200, 2), 1000, 10, readers...)
	equal(s, "round trips to marked readers", s.trips.Load()-before, 1)
}

func pushBounded(s *hotSuite) {
	const keep, slack, pushes = 10, 5, 600
	l := s.inbox()
	s.touch(l.Owner, 20_000, day0)
	s.makeList(l, 0)
	longest := 0
	for i := range pushes {
		s.push(at(int64(i+1), feed.ID(i+1)), keep, slack, l.Owner)
		if i%16 == 0 {
			longest = max(longest, s.length(l.Owner))
		}
	}
	// One push of 32 measures; that 300 in a row do not is as good as impossible.
	if longest > keep+slack+300 {
		s.t.Errorf("longest: got %d entries", longest)
	}
	got := s.readList(l)
	equal(s, "valid", got.Valid(0), true)
	for i, e := range got.Entries {
		equal(s, "entry", e, at(int64(pushes-i), feed.ID(pushes-i)))
	}
	if lowest := got.Entries[len(got.Entries)-1].At; got.Floor.At > lowest {
		s.t.Errorf("floor: got %d, want at most %d", got.Floor.At, lowest)
	}
}

func pushNone(s *hotSuite) {
	before := s.trips.Load()
	s.push(at(1, 1), 10, 1)
	equal(s, "round trips", s.trips.Load()-before, 0)
}

func pushExpiry(s *hotSuite) {
	ids, _ := s.oneShard()
	s.push(at(1, 1), 10, 1, ids[0]) // the shard has no epoch
	s.touch(ids[1], 20_000, day0)
	s.back.Evict(s.t)
	equal(s, "length without an epoch", s.length(ids[0]), 0)
	// A list with a longer life keeps it.
	l := feed.List{Kind: feed.Inbox, Owner: ids[0]}
	if s.back.Advance == nil {
		return
	}
	open := s.openList(l)
	s.do(&feed.MergeList{
		List: l, Version: open.Version, Raw: open.Raw, Generation: open.Generation,
		Floor: feed.Floor{Version: open.Version}, TTL: 100 * listTTL,
	})
	s.push(at(2, 2), 10, 1, ids[0])
	s.back.Advance(s.t, 90*holdTTL*120)
	s.wantValid(l, 0, at(2, 2))
}
