package storetest

import (
	"bytes"
	"math"
	"time"

	"feedgate/feed"
)

func hotLearningTests() map[string]func(s *hotSuite) {
	return map[string]func(s *hotSuite){
		"the state of learning is kept until a loss":     learningState,
		"what is learned of a user comes back":           learnedSets,
		"learned sets end by themselves":                 learnedTTL,
		"the longest waiting are taken first":            unlearnedOrder,
		"who is taken is left alone until then":          unlearnedTaken,
		"who is noted again while taken is taken anew":   unlearnedAgain,
		"who was taken by another since is not dropped":  unlearnedStolen,
		"notes are lost with all":                        unlearnedLost,
		"thousands are taken once each by two":           unlearnedMany,
		"a session is kept for its time":                 sessionKept,
		"a session of nothing, and of the largest size":  sessionSizes,
		"tastes and views at their bounds make the trip": discoveryBounds,
	}
}

func learningState(s *hotSuite) {
	read := func() *feed.ReadLearning {
		s.t.Helper()
		op := &feed.ReadLearning{Found: true, Learning: feed.Learning{Serving: 99}}
		s.do(op)
		return op
	}
	for _, want := range []feed.Learning{
		{},
		{Serving: 3, Building: 4, Mark: 1<<63 - 1, ServingUnder: 1, BuildingUnder: 2},
		{Serving: math.MaxInt64, BuildingUnder: math.MaxInt64},
		{Building: 1, ServingUnder: 5},
	} {
		s.back.Flush(s.t)
		if got := read(); got.Found || got.Learning != (feed.Learning{}) {
			s.t.Errorf("lost: got %+v, want nothing", got)
		}
		s.do(&feed.SaveLearning{Learning: feed.Learning{Serving: 1}}, &feed.SaveLearning{Learning: want})
		s.setGeneration(firstGeneration + 1)
		s.back.Evict(s.t)
		got := read()
		equal(s, "found", got.Found, true)
		equal(s, "learning", got.Learning, want)
	}
}

// engagements are n of them, newest first, some of one millisecond.
func engagements(id feed.ID, n int) []feed.Engagement {
	var all []feed.Engagement
	for i := range n {
		all = append(all, feed.Engagement{
			Post: id + feed.ID(i%7*1_000_003), At: 1_760_000_000_123 - int64(i/3*77_777), Kind: feed.EngagementKind(1 + i%3),
		})
	}
	return all
}

func (s *hotSuite) learned(user feed.ID, epoch int64) []feed.Engagement {
	s.t.Helper()
	op := &feed.ReadLearned{User: user, Epoch: epoch, Engaged: engagements(1, 1)}
	s.do(op)
	return op.Engaged
}

func learnedSets(s *hotSuite) {
	user := s.ids.Next()
	equalSlice(s, "at first", s.learned(user, 3), nil)
	sets := [][]feed.Engagement{
		engagements(user, feed.MaxTastes), engagements(7, 1), nil, engagements(1<<62, 5),
		{{Post: math.MaxInt64, At: math.MinInt64, Kind: 255}, {Post: 1, At: math.MaxInt64}, {}, {Post: 1, At: -1, Kind: 1}},
	}
	for i, want := range sets {
		s.do(&feed.SaveLearned{User: user, Epoch: 3, Engaged: want}, &feed.SaveLearned{User: user, Epoch: 4, Engaged: sets[(i+1)%len(sets)]})
		equalSlice(s, "saved", s.learned(user, 3), want)
		equalSlice(s, "saved of another epoch", s.learned(user, 4), sets[(i+1)%len(sets)])
	}
	s.setGeneration(firstGeneration + 1)
	equalSlice(s, "in another generation", s.learned(user, 3), sets[4])
	equalSlice(s, "another's", s.learned(user+1, 3), nil)
	s.back.Flush(s.t)
	equalSlice(s, "lost", s.learned(user, 3), nil)
}

func learnedTTL(s *hotSuite) {
	user := s.ids.Next()
	s.do(&feed.SaveLearned{User: user, Epoch: 3, Engaged: engagements(1, 2)})
	if s.back.Advance != nil {
		s.back.Advance(s.t, boardLife-time.Hour)
		equalSlice(s, "within its time", s.learned(user, 3), engagements(1, 2))
		s.back.Advance(s.t, 2*time.Hour)
	} else {
		s.back.Evict(s.t)
	}
	equalSlice(s, "after its time", s.learned(user, 3), nil)
}

func (s *hotSuite) note(now int64, users ...feed.ID) {
	s.t.Helper()
	s.do(&feed.MarkUnlearned{Users: users, Now: now})
}

func (s *hotSuite) take(h Hot, now, until int64, limit int) []feed.ID {
	s.t.Helper()
	op := &feed.TakeUnlearned{Now: now, Until: until, Limit: limit, Users: []feed.ID{99}}
	s.must(h.Do(s.ctx(), op))
	return op.Users
}

func (s *hotSuite) drop(until int64, users ...feed.ID) {
	s.t.Helper()
	s.do(&feed.DropUnlearned{Users: users, Until: until})
}

func unlearnedOrder(s *hotSuite) {
	equalSlice(s, "at first", s.take(s.hot, day0, day0+5, 10), nil)
	s.note(day0)
	s.note(day0+2, 20, 9, 1<<62)
	s.note(day0+1, 30)
	s.note(day0+9, 30, 9) // repeats are one, and wait since the first
	equalSlice(s, "none wanted", s.take(s.hot, day0+9, day0+50, 0), nil)
	equalSlice(s, "first", s.take(s.hot, day0+9, day0+50, 2), []feed.ID{30, 9})
	equalSlice(s, "then", s.take(s.other, day0+9, day0+50, 10), []feed.ID{20, 1 << 62})
	equalSlice(s, "at last", s.take(s.other, day0+9, day0+50, 10), nil)
}

func unlearnedTaken(s *hotSuite) {
	s.note(day0, 1, 2, 3)
	equalSlice(s, "taken", s.take(s.hot, day0, day0+100, 2), []feed.ID{1, 2})
	equalSlice(s, "while taken", s.take(s.other, day0+99, day0+300, 10), []feed.ID{3})
	s.drop(day0+100, 1, 3)
	s.note(day0+100, 7)
	equalSlice(s, "when the time is over", s.take(s.other, day0+100, day0+200, 10), []feed.ID{2, 7})
	s.drop(day0+200, 2, 7)
	s.drop(day0 + 200)
	equalSlice(s, "3 is left", s.take(s.other, day0+1000, day0+2000, 10), []feed.ID{3})
}

func unlearnedAgain(s *hotSuite) {
	s.note(day0, 1, 2)
	equalSlice(s, "taken", s.take(s.hot, day0, day0+100, 10), []feed.ID{1, 2})
	s.note(day0+10, 2)
	s.note(day0+20, 3)
	equalSlice(s, "others while it is taken", s.take(s.other, day0+30, day0+90, 1), []feed.ID{3})
	equalSlice(s, "while it is taken", s.take(s.other, day0+30, day0+90, 10), nil)
	s.drop(day0+100, 1, 2)
	equalSlice(s, "when dropped", s.take(s.other, day0+40, day0+140, 10), []feed.ID{2})
	s.note(day0+41, 2)
	s.drop(day0+90, 3)
	equalSlice(s, "not dropped in time", s.take(s.other, day0+140, day0+240, 10), []feed.ID{2})
	s.drop(day0+240, 2)
	equalSlice(s, "both notes were one", s.take(s.other, day0+9999, day0+10_000, 10), nil)
}

func unlearnedStolen(s *hotSuite) {
	s.note(day0, 1)
	s.take(s.hot, day0, day0+100, 1)
	equalSlice(s, "taken by another", s.take(s.other, day0+100, day0+200, 1), []feed.ID{1})
	s.drop(day0+100, 1)
	equalSlice(s, "dropped too late", s.take(s.hot, day0+200, day0+300, 1), []feed.ID{1})
	s.drop(day0+300, 1)
	equalSlice(s, "dropped", s.take(s.hot, day0+999, day0+1000, 1), nil)
}

func unlearnedLost(s *hotSuite) {
	s.note(day0, 1, 2)
	s.take(s.hot, day0, day0+1, 1)
	s.back.Evict(s.t)
	equalSlice(s, "without an expiry", s.take(s.hot, day0, day0+1, 1), []feed.ID{2})
	s.back.Flush(s.t)
	equalSlice(s, "lost", s.take(s.hot, day0+5, day0+9, 10), nil)
}

func unlearnedMany(s *hotSuite) {
	const n = 3000
	var users []feed.ID
	for range n {
		users = append(users, s.ids.Next())
	}
	s.note(day0, users...)
	got := make(chan []feed.ID, 2)
	failed := make(chan error, 2)
	for _, h := range []Hot{s.hot, s.other} {
		go func() {
			var mine []feed.ID
			defer func() { got <- mine }()
			for range n {
				op := &feed.TakeUnlearned{Now: day0, Until: day0 + 100, Limit: 70}
				err := h.Do(s.ctx(), op)
				if err == nil && len(op.Users) > 0 {
					err = h.Do(s.ctx(), &feed.DropUnlearned{Users: op.Users, Until: day0 + 100})
				}
				if mine = append(mine, op.Users...); err != nil || len(op.Users) == 0 {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	all := append(<-got, <-got...)
	s.must(<-failed)
	s.must(<-failed)
	equal(s, "taken", len(all), n)
	equal(s, "taken, each once", len(feed.NewIDSet(all)), n)
	equalSlice(s, "left", s.take(s.hot, day0+500, day0+600, 10), nil)
}

func (s *hotSuite) session(token feed.Token) []byte {
	s.t.Helper()
	op := &feed.ReadSession{Token: token, Data: []byte("old")}
	s.do(op)
	return op.Data
}

func sessionKept(s *hotSuite) {
	if got := s.session("a"); got != nil {
		s.t.Errorf("at first: got %q, want none", got)
	}
	s.do(&feed.SaveSession{Token: "a", Data: []byte("first"), TTL: hour}, &feed.SaveSession{Token: "b", Data: []byte("b"), TTL: 3 * hour})
	s.do(&feed.SaveSession{Token: "a", Data: []byte("second\x00\xff"), TTL: hour})
	equal(s, "replaced", string(s.session("a")), "second\x00\xff")
	equal(s, "another", string(s.session("b")), "b")
	if s.back.Advance != nil {
		s.back.Advance(s.t, 2*time.Hour)
		equal(s, "within its time", string(s.session("b")), "b")
	} else {
		s.back.Evict(s.t)
	}
	if got := s.session("a"); got != nil {
		s.t.Errorf("after its time: got %q, want none", got)
	}
	s.do(&feed.SaveSession{Token: "b", Data: []byte("b"), TTL: hour}, &feed.SaveSession{Token: "b", Data: []byte("c"), TTL: 0})
	if got := s.session("b"); got != nil {
		s.t.Errorf("without any time: got %q, want none", got)
	}
}

func sessionSizes(s *hotSuite) {
	large := bytes.Repeat([]byte("0123456789\r\n\x00\xfe"), 256<<10/14)
	for _, data := range [][]byte{{}, nil, large} {
		s.do(&feed.SaveSession{Token: "a", Data: data, TTL: 60_000})
		if got := s.session("a"); got == nil || !bytes.Equal(got, data) {
			s.t.Errorf("session of %d bytes: got %d bytes (none: %v)", len(data), len(got), got == nil)
		}
	}
}

// sampleTastes and sampleViews are at their bounds for some n.
func sampleTastes(id feed.ID, n int) feed.Tastes {
	return feed.Tastes{User: id, Engaged: engagements(id, []int{0, 1, 3, feed.MaxTastes}[n%4])}
}

func sampleViews(id feed.ID, n int) feed.Views {
	var v feed.Views
	for i := range []int{0, 1, 2, 300}[n%4] {
		v.Posts = append(v.Posts, id-feed.ID(i*(n+1))+feed.ID(i%5)<<40)
	}
	return v
}

// discoveryBounds fills in the most that there may be of ids of all sizes.
func discoveryBounds(s *hotSuite) {
	user := s.ids.Next()
	var views feed.Views
	for i := range feed.MaxViews {
		views.Posts = append(views.Posts, feed.ID(math.MaxInt64/(i+1))>>(i%50)+feed.ID(i))
	}
	tastes := feed.Tastes{User: user}
	for i := range feed.MaxTastes {
		tastes.Engaged = append(tastes.Engaged, feed.Engagement{
			Post: views.Posts[i], At: 1_760_000_000_000 - int64(i)*977, Kind: feed.EngagementKind(1 + i%3),
		})
	}
	seen, liked := &feed.GetDetails[feed.Views]{IDs: []feed.ID{user}, Lease: "a"}, &feed.GetDetails[feed.Tastes]{IDs: []feed.ID{user}, Lease: "a"}
	s.do(seen, liked)
	s.do(
		&feed.FillDetails[feed.Views]{IDs: seen.IDs, Values: []feed.Views{views}, Token: "a", Generation: seen.Generation},
		&feed.FillDetails[feed.Tastes]{IDs: seen.IDs, Values: []feed.Tastes{tastes}, Token: "a", Generation: seen.Generation},
	)
	s.do(seen, liked)
	equalSlice(s, "views", seen.Values[0].Posts, views.Posts)
	equalSlice(s, "tastes", liked.Values[0].Engaged, tastes.Engaged)
	equal(s, "user of the tastes", liked.Values[0].User, user)

	more := feed.Views{Posts: append([]feed.ID{1 << 62}, views.Posts[:feed.MaxViews-1]...)}
	s.do(&feed.HoldDetails[feed.Views]{IDs: seen.IDs, Token: "m"})
	s.do(&feed.ReleaseDetails[feed.Views]{IDs: seen.IDs, Token: "m", Values: []feed.Views{more}})
	s.do(seen, liked)
	equalSlice(s, "views after a mutation", seen.Values[0].Posts, more.Posts)
	equalSlice(s, "tastes after a mutation of the views", liked.Values[0].Engaged, tastes.Engaged)
}
