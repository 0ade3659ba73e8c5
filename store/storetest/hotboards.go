package storetest

import (
	"fmt"
	"strings"
	"time"

	"feedgate/feed"
)

func hotBoardTests() map[string]func(s *hotSuite) {
	return map[string]func(s *hotSuite){
		"the highest come first, ties by the higher id":     boardOrder,
		"changes add up, and what falls to nothing goes":    boardChanges,
		"what is put does not change what is there":         boardPut,
		"a board is cut to its highest once it has slack":   boardCut,
		"what changes twice at once is cut twice":           boardCutTwice,
		"what is taken off is gone":                         boardTakeOff,
		"boards are apart":                                  boardsApart,
		"boards outlive a generation, not a loss":           boardLost,
		"a board lives on when changed":                     boardTTL,
		"hundreds of changes of many boards in one go":      boardMany,
		"scores of all sizes and signs come back as summed": boardScores,
	}
}

// boardLife is how long boards live.
const boardLife = feed.BoardTTL * time.Millisecond

func (s *hotSuite) similar() feed.Board {
	return feed.Board{Kind: feed.BoardSimilar, Epoch: 4, Post: s.ids.Next()}
}

func change(b feed.Board, keep, slack int, changes ...feed.Ranked) *feed.ChangeBoard {
	return &feed.ChangeBoard{Board: b, Changes: changes, Keep: keep, Slack: slack}
}

func (s *hotSuite) board(b feed.Board) []feed.Ranked {
	s.t.Helper()
	op := &feed.ReadBoard{Board: b, Limit: 1000}
	s.do(op)
	return op.Ranked
}

func (s *hotSuite) wantBoard(what string, b feed.Board, want ...feed.Ranked) {
	s.t.Helper()
	equalSlice(s, what, s.board(b), want)
}

func boardOrder(s *hotSuite) {
	b := s.similar()
	s.wantBoard("new", b)
	s.do(change(b, 100, 10, feed.Ranked{Post: 9, Score: 1}, feed.Ranked{Post: 10, Score: 1}, feed.Ranked{Post: 1<<63 - 1, Score: 0.5}, feed.Ranked{Post: 1, Score: 2}))
	want := []feed.Ranked{{Post: 1, Score: 2}, {Post: 10, Score: 1}, {Post: 9, Score: 1}, {Post: 1<<63 - 1, Score: 0.5}}
	s.wantBoard("in order", b, want...)
	for limit := range 6 {
		op := &feed.ReadBoard{Board: b, Limit: limit, Ranked: want}
		s.do(op)
		equalSlice(s, fmt.Sprintf("the highest %d", limit), op.Ranked, want[:min(limit, len(want))])
	}
}

func boardChanges(s *hotSuite) {
	b := s.similar()
	s.do(change(b, 100, 10, feed.Ranked{Post: 1, Score: 1}, feed.Ranked{Post: 2, Score: 1}, feed.Ranked{Post: 3, Score: 1}))
	s.do(change(b, 100, 10, feed.Ranked{Post: 1, Score: -0.25}, feed.Ranked{Post: 1, Score: 0.5}, feed.Ranked{Post: 2, Score: -1}, feed.Ranked{Post: 4, Score: -3}))
	s.wantBoard("after falls", b, feed.Ranked{Post: 1, Score: 1.25}, feed.Ranked{Post: 3, Score: 1})
	s.do(change(b, 100, 10, feed.Ranked{Post: 3, Score: -1 + 2e-9}, feed.Ranked{Post: 1, Score: -1.25 + 5e-10}), change(b, 100, 10))
	got := s.board(b)
	if len(got) != 1 || got[0].Post != 3 {
		s.t.Errorf("near nothing: got %v, want post 3 alone", got)
	}
	s.do(change(b, 100, 10, feed.Ranked{Post: 3, Score: -1}))
	s.wantBoard("all fell", b)
}

func boardPut(s *hotSuite) {
	b := feed.Board{Kind: feed.BoardFresh}
	put := func(keep, slack int, ranked ...feed.Ranked) {
		s.t.Helper()
		s.do(&feed.PutOnBoard{Board: b, Ranked: ranked, Keep: keep, Slack: slack})
	}
	put(10, 1)
	s.wantBoard("nothing put", b)
	put(10, 1, feed.Ranked{Post: 1, Score: 5}, feed.Ranked{Post: 2, Score: 6}, feed.Ranked{Post: 3, Score: 0})
	put(10, 1, feed.Ranked{Post: 1, Score: 50}, feed.Ranked{Post: 4, Score: 1_760_000_000_123})
	all := []feed.Ranked{{Post: 4, Score: 1_760_000_000_123}, {Post: 2, Score: 6}, {Post: 1, Score: 5}, {Post: 3, Score: 0}}
	s.wantBoard("put", b, all...)
	put(2, 2, feed.Ranked{Post: 1, Score: 7})
	s.wantBoard("within the slack", b, all...)
	put(2, 2, feed.Ranked{Post: 9, Score: 5.5})
	s.wantBoard("beyond the slack", b, all[:2]...)
}

func boardCut(s *hotSuite) {
	b := feed.Board{Kind: feed.BoardTrending, Epoch: 7}
	var changes []feed.Ranked
	for i := range 12 {
		changes = append(changes, feed.Ranked{Post: feed.ID(100 - i), Score: float64(20 - i/3)})
	}
	s.do(change(b, 8, 4, changes...))
	s.wantBoard("at its most", b, changes...)
	s.do(change(b, 8, 4, feed.Ranked{Post: 1, Score: 0.5}))
	s.wantBoard("cut", b, changes[:8]...)
	s.do(change(b, 8, 0, feed.Ranked{Post: 1, Score: 40}))
	s.wantBoard("cut with a new one on top", b, append([]feed.Ranked{{Post: 1, Score: 40}}, changes[:7]...)...)
	s.do(change(b, 0, 0, feed.Ranked{Post: 1, Score: 1}))
	s.wantBoard("cut to nothing", b)
}

func boardCutTwice(s *hotSuite) {
	b := s.similar()
	read := &feed.ReadBoard{Board: b, Limit: 9}
	s.do(
		change(b, 1, 0, feed.Ranked{Post: 1, Score: 5}, feed.Ranked{Post: 2, Score: 4}), // post 2 is cut
		change(b, 9, 0, feed.Ranked{Post: 2, Score: 3}),
		read,
		change(b, 1, 0, feed.Ranked{Post: 3, Score: 1}),
	)
	equalSlice(s, "read between", read.Ranked, []feed.Ranked{{Post: 1, Score: 5}, {Post: 2, Score: 3}})
	s.wantBoard("in the end", b, feed.Ranked{Post: 1, Score: 5})
}

func boardTakeOff(s *hotSuite) {
	b := s.similar()
	s.do(change(b, 10, 1, feed.Ranked{Post: 1, Score: 3}, feed.Ranked{Post: 2, Score: 2}, feed.Ranked{Post: 3, Score: 1}))
	s.do(&feed.TakeOffBoard{Board: b, Posts: []feed.ID{1, 3, 7}}, &feed.TakeOffBoard{Board: b})
	s.wantBoard("what is left", b, feed.Ranked{Post: 2, Score: 2})
	s.do(&feed.TakeOffBoard{Board: b, Posts: []feed.ID{2}}, &feed.TakeOffBoard{Board: s.similar(), Posts: []feed.ID{2}})
	s.wantBoard("nothing is left", b)
}

func boardsApart(s *hotSuite) {
	id := s.ids.Next()
	boards := []feed.Board{
		{Kind: feed.BoardSimilar, Epoch: 4, Post: id},
		{Kind: feed.BoardSimilar, Epoch: 5, Post: id},
		{Kind: feed.BoardSimilar, Epoch: 4, Post: id + 1},
		{Kind: feed.BoardTrending, Epoch: 4},
		{Kind: feed.BoardTrending, Epoch: 5},
		{Kind: feed.BoardFresh},
	}
	for _, topic := range []string{
		"", "a", "A", "{a}", "}", "{", "{}", "a:{b}", "Ä", "A\u0308", " ", "\x00", "\r\n", "日本語", "🏳️‍🌈", id.String(), "4:{a}", "\xff",
		strings.Repeat("🏳", 50), strings.Repeat("🏳", 49),
	} {
		boards = append(boards, feed.Board{Kind: feed.BoardTopic, Epoch: 4, Topic: topic}, feed.Board{Kind: feed.BoardTopic, Epoch: 5, Topic: topic})
	}
	for i, b := range boards {
		s.do(change(b, 10, 1, feed.Ranked{Post: feed.ID(i + 1), Score: 1}))
	}
	for i, b := range boards {
		s.wantBoard(fmt.Sprintf("board %+v", b), b, feed.Ranked{Post: feed.ID(i + 1), Score: 1})
	}
}

func boardLost(s *hotSuite) {
	b := s.similar()
	for _, lose := range s.losses() {
		s.do(change(b, 10, 1, feed.Ranked{Post: 1, Score: 1}))
		s.setGeneration(firstGeneration + 1)
		s.wantBoard("in another generation", b, feed.Ranked{Post: 1, Score: 1})
		lose(s.t)
		s.wantBoard("lost", b)
	}
}

func boardTTL(s *hotSuite) {
	if s.back.Advance == nil {
		return
	}
	changed, put, taken, still := s.similar(), s.similar(), s.similar(), s.similar()
	for _, b := range []feed.Board{changed, put, taken, still} {
		s.do(change(b, 10, 1, feed.Ranked{Post: 1, Score: 1}, feed.Ranked{Post: 2, Score: 1}))
	}
	s.back.Advance(s.t, boardLife-time.Hour)
	s.do(
		change(changed, 10, 1, feed.Ranked{Post: 2, Score: -1}),
		&feed.PutOnBoard{Board: put, Ranked: []feed.Ranked{{Post: 1, Score: 9}}, Keep: 10},
		&feed.TakeOffBoard{Board: taken, Posts: []feed.ID{2}},
	)
	s.back.Advance(s.t, 2*time.Hour)
	s.wantBoard("changed", changed, feed.Ranked{Post: 1, Score: 1})
	s.wantBoard("put on", put, feed.Ranked{Post: 2, Score: 1}, feed.Ranked{Post: 1, Score: 1})
	s.wantBoard("taken off", taken, feed.Ranked{Post: 1, Score: 1})
	s.wantBoard("left alone", still)
}

func boardMany(s *hotSuite) {
	const n = 250
	boards := make([]feed.Board, n)
	ops := make([]feed.Op, n)
	for i := range boards {
		boards[i] = s.similar()
		ops[i] = change(boards[i], 2, i%2, feed.Ranked{Post: 1, Score: 3}, feed.Ranked{Post: 2, Score: 2}, feed.Ranked{Post: 3, Score: 1})
	}
	s.do(ops[0]) // who meets the script first pays a trip more
	before := s.trips.Load()
	s.do(ops...)
	equal(s, "round trips", s.trips.Load()-before, 1)
	for i, b := range boards[1:] {
		want := []feed.Ranked{{Post: 1, Score: 3}, {Post: 2, Score: 2}, {Post: 3, Score: 1}}
		s.wantBoard("one of many", b, want[:2+(i+1)%2]...)
	}
}

func boardScores(s *hotSuite) {
	b := s.similar()
	scores := []float64{1e300, 1 << 60, 1_760_000_000_123.0625, 1.0 / 3, 0.1, 1e-8}
	var want []feed.Ranked
	for i, score := range scores {
		want = append(want, feed.Ranked{Post: feed.ID(i + 1), Score: score})
	}
	s.do(change(b, 100, 1, want...))
	s.wantBoard("of all sizes", b, want...)
	s.do(&feed.PutOnBoard{Board: b, Ranked: []feed.Ranked{{Post: 70, Score: -2.5}}, Keep: 100})
	s.wantBoard("negative", b, append(want, feed.Ranked{Post: 70, Score: -2.5})...)
}
