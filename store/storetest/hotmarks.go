package storetest

import (
	"slices"

	"feedgate/fanout"
	"feedgate/feed"
)

func hotMarkTests() map[string]func(s *hotSuite) {
	return map[string]func(s *hotSuite){
		"marks begin unknown":                       marksUnknown,
		"an author in flight is told":               marksInFlight,
		"a mark goes with its own version only":     marksRetire,
		"no version is used twice":                  marksVersions,
		"another generation makes marks unknown":    marksGeneration,
		"lost marks are unknown until filled again": marksLost,
	}
}

// day0 is a moment after the versions of marks begin.
const day0 = int64(1_760_000_000_000)

func (s *hotSuite) readMarks(authors ...feed.ID) *feed.ReadMarks {
	s.t.Helper()
	op := &feed.ReadMarks{Authors: authors}
	s.do(op)
	return op
}

func (s *hotSuite) mark(author feed.ID, now int64) {
	s.t.Helper()
	s.do(&feed.MarkInFlight{Author: author, Now: now})
}

func (s *hotSuite) marks() []fanout.Mark {
	s.t.Helper()
	marks, err := s.hot.Marks(s.ctx())
	s.must(err)
	slices.SortFunc(marks, func(a, b fanout.Mark) int { return int(a.Author - b.Author) })
	return marks
}

func (s *hotSuite) wantInFlight(authors []feed.ID, want ...feed.ID) {
	s.t.Helper()
	got := s.readMarks(authors...)
	equal(s, "unknown", got.Unknown, false)
	equalSlice(s, "in flight", got.InFlight, want)
}

func marksUnknown(s *hotSuite) {
	equal(s, "unknown", s.readMarks(1).Unknown, true)
	s.mark(1, day0)
	equal(s, "unknown after a mark", s.readMarks(1).Unknown, true)
	none := s.readMarks()
	equal(s, "unknown when none is asked for", none.Unknown, false)
}

func marksInFlight(s *hotSuite) {
	var authors []feed.ID
	for range 200 {
		authors = append(authors, s.ids.Next())
	}
	s.mark(authors[7], day0)
	s.do(&feed.FillMarks{Authors: authors[100:103], Now: day0, Generation: firstGeneration})
	s.wantInFlight(authors, authors[7], authors[100], authors[101], authors[102])
	s.mark(authors[0], day0)
	s.wantInFlight(authors[:2], authors[0])
	equal(s, "marks", len(s.marks()), 5)
}

func marksRetire(s *hotSuite) {
	a, b := s.ids.Next(), s.ids.Next()
	s.do(&feed.FillMarks{Now: day0, Generation: firstGeneration})
	s.mark(a, day0)
	s.mark(b, day0)
	marks := s.marks()
	s.mark(a, day0) // published once more meanwhile
	s.must(s.hot.Retire(s.ctx(), marks))
	s.wantInFlight([]feed.ID{a, b}, a)
	s.must(s.hot.Retire(s.ctx(), s.marks()))
	s.must(s.hot.Retire(s.ctx(), append(marks, fanout.Mark{Author: s.ids.Next(), Version: 1})))
	s.must(s.hot.Retire(s.ctx(), nil))
	s.wantInFlight([]feed.ID{a, b})
	equal(s, "marks", len(s.marks()), 0)
}

func marksVersions(s *hotSuite) {
	a := s.ids.Next()
	seen := map[int64]bool{}
	for i := range 50 {
		switch i % 5 {
		case 3:
			s.must(s.hot.Retire(s.ctx(), s.marks()))
			s.mark(a, day0+int64(i)) // a mark that was removed begins at its time
		case 4:
			s.do(&feed.FillMarks{Authors: []feed.ID{a}, Now: day0 + int64(i), Generation: firstGeneration})
			s.mark(a, day0-1000) // a clock that is behind
		default:
			s.mark(a, day0)
		}
		v := s.marks()[0].Version
		if seen[v] || v >= 1<<53 {
			s.t.Fatalf("version %d: got it twice or too high", v)
		}
		seen[v] = true
	}
}

func marksGeneration(s *hotSuite) {
	a := s.ids.Next()
	s.do(&feed.FillMarks{Now: day0, Generation: firstGeneration})
	s.mark(a, day0)
	s.setGeneration(firstGeneration + 1)
	got := s.readMarks(a)
	equal(s, "unknown", got.Unknown, true)
	equal(s, "generation", got.Generation, firstGeneration+1)
	s.do(&feed.FillMarks{Now: day0, Generation: firstGeneration})
	equal(s, "unknown when filled under the old generation", s.readMarks(a).Unknown, true)
	s.do(&feed.FillMarks{Now: day0, Generation: got.Generation})
	s.wantInFlight([]feed.ID{a}, a)
	s.do(&feed.FillMarks{Now: day0, Generation: firstGeneration})
	s.wantInFlight([]feed.ID{a}, a)
}

func marksLost(s *hotSuite) {
	a := s.ids.Next()
	s.do(&feed.FillMarks{Now: day0, Generation: firstGeneration})
	s.back.Evict(s.t)
	s.wantInFlight([]feed.ID{a})
	s.back.Flush(s.t)
	equal(s, "unknown", s.readMarks(a).Unknown, true)
	s.do(&feed.FillMarks{Authors: []feed.ID{a}, Now: day0, Generation: firstGeneration})
	s.wantInFlight([]feed.ID{a}, a)
}

func hotActiveTests() map[string]func(s *hotSuite) {
	return map[string]func(s *hotSuite){
		"an epoch is made once":                     activeEpoch,
		"without an epoch everybody is active":      activeEverybody,
		"with an epoch the marked are active":       activeMarked,
		"who does not come back is pruned":          activePrune,
		"a day only moves forward":                  activeDay,
		"pruning is bounded and leaves no leftover": activePruneBounded,
	}
}

func (s *hotSuite) touch(reader feed.ID, day, epoch int64) int64 {
	s.t.Helper()
	op := &feed.TouchActive{Reader: reader, Day: day, Make: epoch}
	s.do(op)
	return op.Epoch
}

func (s *hotSuite) wantActive(readers []feed.ID, want ...feed.ID) {
	s.t.Helper()
	days, err := s.hot.LastSeen(s.ctx(), readers)
	s.must(err)
	equal(s, "days", len(days), len(readers))
	var got []feed.ID
	for i, on := range days {
		if on != 0 {
			got = append(got, readers[i])
		}
	}
	equalSlice(s, "active", got, want)
}

func (s *hotSuite) wantSeen(readers []feed.ID, want ...int64) {
	s.t.Helper()
	days, err := s.hot.LastSeen(s.ctx(), readers)
	s.must(err)
	equalSlice(s, "days", days, want)
}

func activeEpoch(s *hotSuite) {
	a := s.ids.Next()
	equal(s, "epoch when none is to be made", s.touch(a, 20_000, 0), 0)
	equal(s, "epoch when made", s.touch(a, 20_000, day0), day0)
	equal(s, "epoch later", s.touch(a, 20_001, day0+5), day0)
	equal(s, "epoch when none is to be made later", s.touch(a, 20_001, 0), day0)
	s.back.Evict(s.t)
	equal(s, "epoch after evictions", s.touch(a, 20_001, 0), day0)
	s.back.Flush(s.t)
	equal(s, "epoch after a loss", s.touch(a, 20_001, day0+9), day0+9)
}

// oneShard gives three ids of one shard and one of another, and leaves nothing
// in the store. How users are spread over shards is the store's own: those who
// are not active once another user's shard has its epoch share that shard.
func (s *hotSuite) oneShard() (same []feed.ID, other feed.ID) {
	s.t.Helper()
	same = []feed.ID{s.ids.Next()}
	s.touch(same[0], 20_000, day0)
	for range 1000 {
		id := s.ids.Next()
		days, err := s.hot.LastSeen(s.ctx(), []feed.ID{id})
		s.must(err)
		switch {
		case days[0] != 0:
			other = id
		case len(same) < 3:
			same = append(same, id)
		}
		if len(same) == 3 && other != 0 {
			s.back.Flush(s.t)
			return same, other
		}
	}
	s.t.Fatalf("of 1,000 ids %v share a shard, and %d is of another", same, other)
	return nil, 0
}

func activeEverybody(s *hotSuite) {
	ids, _ := s.oneShard()
	s.wantActive(ids, ids...)
	s.touch(ids[0], 20_000, 0)
	s.wantActive(ids, ids...)
	s.wantActive(nil)
}

func activeMarked(s *hotSuite) {
	ids, other := s.oneShard() // other's shard has no epoch
	s.touch(ids[1], 20_000, day0)
	s.wantActive([]feed.ID{ids[0], ids[1], ids[2], other}, ids[1], other)
	s.wantActive([]feed.ID{other, ids[1], ids[0], ids[1], other}, other, ids[1], ids[1], other)
	s.wantSeen([]feed.ID{ids[0], ids[1], other}, 0, 20_000, fanout.SeenUnknown)
	s.touch(ids[1], 20_003, day0)
	s.wantSeen([]feed.ID{ids[1]}, 20_003)
}

func (s *hotSuite) prune(before int64, limit int) int {
	s.t.Helper()
	n, err := s.hot.PruneActive(s.ctx(), before, limit)
	s.must(err)
	return n
}

func activePrune(s *hotSuite) {
	ids, _ := s.oneShard()
	for i, id := range ids {
		s.touch(id, int64(20_000+i), day0)
		s.makeList(feed.List{Kind: feed.Inbox, Owner: id}, 0, at(1, 1))
	}
	equal(s, "pruned", s.prune(20_001, 100), 1)
	s.wantActive(ids, ids[1], ids[2])
	s.wantInvalid("pruned", feed.List{Kind: feed.Inbox, Owner: ids[0]})
	s.wantValid(feed.List{Kind: feed.Inbox, Owner: ids[1]}, 0, at(1, 1))
	equal(s, "pruned again", s.prune(20_001, 100), 0)
	equal(s, "epoch", s.touch(ids[0], 20_005, 0), day0)
}

func activeDay(s *hotSuite) {
	a := s.ids.Next()
	s.touch(a, 20_005, day0)
	s.touch(a, 20_001, day0)
	equal(s, "pruned", s.prune(20_005, 100), 0)
	equal(s, "pruned later", s.prune(20_006, 100), 1)
}

func activePruneBounded(s *hotSuite) {
	var ids []feed.ID
	for range 150 {
		ids = append(ids, s.ids.Next())
		s.touch(ids[len(ids)-1], 20_000, day0)
	}
	total := 0
	for range 10 {
		n := s.prune(20_001, 40)
		if n > 40 {
			s.t.Errorf("pruned: got %d, want at most 40", n)
		}
		total += n
	}
	equal(s, "pruned in all", total, len(ids))
	s.wantActive(ids)
}
