package storetest

import (
	"maps"
	"strconv"
	"testing"

	"feedgate/feed"
)

func metaTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"the generation goes up once from each value":  testGeneration,
		"raising by many at once raises once":          testGenerationRace,
		"heartbeats keep the higher value":             testHeartbeats,
		"the lowest free process number is leased":     testLease,
		"a lease that ended is taken again":            testLeaseEnds,
		"a lease is renewed and released by its owner": testLeaseOwner,
		"many at once get different process numbers":   testLeaseRace,
	}
}

func wantInt(t *testing.T, want int64) func(int64, error) {
	t.Helper()
	return func(got int64, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Fatalf("got %d, %v, want %d", got, err, want)
		}
	}
}

func testGeneration(s *suite) {
	t := s.t
	first, err := s.rec.Generation(t.Context())
	if err != nil || first < 1_700_000_000_000 {
		t.Fatalf("first generation: got %d, %v, want the time in ms", first, err)
	}
	wantInt(t, first+1)(s.rec.RaiseGeneration(t.Context(), first))
	wantInt(t, first+1)(s.rec.RaiseGeneration(t.Context(), first))
	wantInt(t, first+1)(s.rec.RaiseGeneration(t.Context(), first+7))
	wantInt(t, first+2)(s.rec.RaiseGeneration(t.Context(), first+1))
	wantInt(t, first+2)(s.rec.Generation(t.Context()))
}

func testGenerationRace(s *suite) {
	t := s.t
	const tries = 6
	first, err := s.rec.Generation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, errs := make([]int64, tries), make([]error, tries)
	atOnce(tries, func(i int) { got[i], errs[i] = s.rec.RaiseGeneration(t.Context(), first) })
	for i := range got {
		wantInt(t, first+1)(got[i], errs[i])
	}
	wantInt(t, first+1)(s.rec.Generation(t.Context()))
}

func testHeartbeats(s *suite) {
	t := s.t
	for _, step := range []struct{ save, want map[string]int64 }{
		{nil, map[string]int64{}},
		{map[string]int64{"127.0.0.1:7000": 5, "b": 1}, map[string]int64{"127.0.0.1:7000": 5, "b": 1}},
		{map[string]int64{"127.0.0.1:7000": 4, "b": 9}, map[string]int64{"127.0.0.1:7000": 5, "b": 9}},
		{map[string]int64{"$c.d": 0}, map[string]int64{"127.0.0.1:7000": 5, "b": 9, "$c.d": 0}},
	} {
		wantNoError(t, s.rec.SaveHeartbeats(t.Context(), step.save))
		got, err := s.rec.Heartbeats(t.Context())
		if err != nil || !maps.Equal(got, step.want) {
			t.Fatalf("after %v: got %v, %v, want %v", step.save, got, err, step.want)
		}
	}
}

func wantNumber(t *testing.T, want int) func(int, error) {
	t.Helper()
	return func(got int, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Fatalf("got %d, %v, want %d", got, err, want)
		}
	}
}

func testLease(s *suite) {
	t := s.t
	for i := range 3 {
		wantNumber(t, i)(s.rec.LeaseProcess(t.Context(), strconv.Itoa(i), 3, now, now+100))
	}
	_, err := s.rec.LeaseProcess(t.Context(), "x", 3, now, now+100)
	wantCode(t, err, feed.CodeUnavailable, "")
	wantNumber(t, 3)(s.rec.LeaseProcess(t.Context(), "x", 4, now, now+100))
	wantNoError(t, s.rec.ReleaseProcess(t.Context(), 1, "1"))
	wantNumber(t, 1)(s.rec.LeaseProcess(t.Context(), "y", 3, now, now+100))
}

func testLeaseEnds(s *suite) {
	t := s.t
	wantNumber(t, 0)(s.rec.LeaseProcess(t.Context(), "a", 2, now, now+300))
	wantNumber(t, 1)(s.rec.LeaseProcess(t.Context(), "b", 2, now, now+100))
	_, err := s.rec.LeaseProcess(t.Context(), "c", 2, now+99, now+500)
	wantCode(t, err, feed.CodeUnavailable, "")
	wantNumber(t, 1)(s.rec.LeaseProcess(t.Context(), "c", 2, now+101, now+500))
	wantCode(t, s.rec.RenewProcess(t.Context(), 1, "b", now+900), feed.CodeConflict, "")
	wantNoError(t, s.rec.ReleaseProcess(t.Context(), 1, "b"))
	wantNoError(t, s.rec.RenewProcess(t.Context(), 1, "c", now+900))
}

func testLeaseOwner(s *suite) {
	t := s.t
	wantNumber(t, 0)(s.rec.LeaseProcess(t.Context(), "a", 1, now, now+100))
	wantNoError(t, s.rec.RenewProcess(t.Context(), 0, "a", now+1_000))
	_, err := s.rec.LeaseProcess(t.Context(), "b", 1, now+500, now+600)
	wantCode(t, err, feed.CodeUnavailable, "")
	wantCode(t, s.rec.RenewProcess(t.Context(), 0, "b", now+1_000), feed.CodeConflict, "")
	wantCode(t, s.rec.RenewProcess(t.Context(), 5, "a", now+1_000), feed.CodeConflict, "")
	wantNoError(t, s.rec.ReleaseProcess(t.Context(), 0, "b"))
	wantNoError(t, s.rec.RenewProcess(t.Context(), 0, "a", now+1_000))
	wantNoError(t, s.rec.ReleaseProcess(t.Context(), 0, "a"))
	wantNoError(t, s.rec.ReleaseProcess(t.Context(), 0, "a"))
	wantCode(t, s.rec.RenewProcess(t.Context(), 0, "a", now+1_000), feed.CodeConflict, "")
}

func testLeaseRace(s *suite) {
	t := s.t
	wantNumber(t, 0)(s.rec.LeaseProcess(t.Context(), "before", 9, now-200, now-100))
	const processes = 6
	numbers, errs := make([]int, processes), make([]error, processes)
	atOnce(processes, func(i int) {
		numbers[i], errs[i] = s.rec.LeaseProcess(t.Context(), strconv.Itoa(i), processes, now, now+100)
	})
	taken := make(map[int]bool)
	for i, n := range numbers {
		wantNoError(t, errs[i])
		if n < 0 || n >= processes || taken[n] {
			t.Errorf("got numbers %v, want each of 0 to %d once", numbers, processes-1)
		}
		taken[n] = true
		wantNoError(t, s.rec.RenewProcess(t.Context(), n, strconv.Itoa(i), now+200))
	}
}
