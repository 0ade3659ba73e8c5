package storetest

import (
	"testing"

	"feedgate/feed"
)

func claimTests() map[string]func(*suite) {
	return map[string]func(*suite){
		"the first claim gives the id":             testClaim,
		"claims of many at once give one id":       testClaimRace,
		"claims of others stand beside each other": testClaimsApart,
	}
}

func wantID(t *testing.T, want feed.ID) func(feed.ID, error) {
	t.Helper()
	return func(got feed.ID, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Fatalf("got %d, %v, want %d", got, err, want)
		}
	}
}

func testClaim(s *suite) {
	t := s.t
	first := feed.Claim{Author: 1, Kind: feed.NodePost, ClientID: "a:b", Object: s.seq.Next(), Hash: []byte{1, 0, 2}}
	wantID(t, first.Object)(s.rec.Claim(t.Context(), first))
	again := first
	again.Object = s.seq.Next()
	wantID(t, first.Object)(s.rec.Claim(t.Context(), again))
	for _, hash := range [][]byte{{1, 0, 3}, {1, 0}, nil} {
		again.Hash = hash
		_, err := s.rec.Claim(t.Context(), again)
		wantCode(t, err, feed.CodeConflict, "clientMutationId")
	}
	wantID(t, first.Object)(s.rec.Claim(t.Context(), first))
}

func testClaimRace(s *suite) {
	t := s.t
	const tries = 8
	got, errs, offered := make([]feed.ID, tries), make([]error, tries), make(map[feed.ID]bool)
	claims := make([]feed.Claim, tries)
	for i := range claims {
		claims[i] = feed.Claim{Author: 1, Kind: feed.NodePost, ClientID: "x", Object: s.seq.Next(), Hash: []byte("h")}
		offered[claims[i].Object] = true
	}
	atOnce(tries, func(i int) { got[i], errs[i] = s.rec.Claim(t.Context(), claims[i]) })
	for i := range got {
		wantNoError(t, errs[i])
		if got[i] != got[0] || !offered[got[i]] {
			t.Errorf("claim %d got %d, want %d as the others did", i, got[i], got[0])
		}
	}
}

func testClaimsApart(s *suite) {
	t := s.t
	for _, c := range []feed.Claim{
		{Author: 1, Kind: feed.NodePost, ClientID: "1:x"},
		{Author: 1, Kind: feed.NodeComment, ClientID: "1:x"},
		{Author: 11, Kind: feed.NodePost, ClientID: "1:x"},
		{Author: 1, Kind: feed.NodePost, ClientID: ":x"},
		{Author: 1, Kind: feed.NodePost, ClientID: ""},
		{Author: 1, Kind: feed.NodePost, ClientID: "X"},
		{Author: 1, Kind: feed.NodePost, ClientID: "x\x00y"},
	} {
		c.Object, c.Hash = s.seq.Next(), []byte(c.ClientID)
		wantID(t, c.Object)(s.rec.Claim(t.Context(), c))
	}
}
