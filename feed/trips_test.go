package feed_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"feedgate/feed"
)

// A round trip is what is awaited; their number depends on the query's shape alone.
func TestRoundTripsDependOnTheShapeAlone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	reader := w.person("reader")
	authors := make([]feed.ID, 8)
	for i := range authors {
		authors[i] = w.person(fmt.Sprintf("author%d", i))
		w.follow(reader, authors[i])
	}
	for j := range 15 {
		for _, author := range authors {
			p := w.post(author, strconv.Itoa(j))
			for _, who := range []feed.ID{reader, author} {
				if _, err := w.svc.CommentOn(ctx, w.reader(who), feed.NewComment{Post: p.ID, Text: "c"}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	w.startWorkers()
	w.quiet()
	w.stopWorkers()
	w.stopService() // no heartbeats among the round trips
	want := feed.Want{Stats: true, Users: true, Comments: true, Liked: true, Reposted: true, UserCounts: true}
	read := func(first int) (hot, record int64) {
		hot0, record0 := w.hotTrips.Load(), w.recordTrips.Load()
		p, err := w.svc.FollowFeed(ctx, w.reader(reader), first, feed.Newest(), want)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Items) != first || len(p.Users) != 8+1 || len(p.Items[0].Stats.First) != 2 {
			t.Fatalf("got %d items, %d users, %d comments", len(p.Items), len(p.Users), len(p.Items[0].Stats.First))
		}
		return w.hotTrips.Load() - hot0, w.recordTrips.Load() - record0
	}
	const warm, cold = 6, 12
	var firstCold, firstWarm [2]int64
	for i, first := range []int{20, 100} {
		w.flush()
		hotCold, recordCold := read(first)
		for range 3 { // the sentinels of lost marks, the details of the larger page
			_, _ = read(first)
		}
		hotWarm, recordWarm := read(first)
		t.Logf("first %d: cold %d Redis + %d record, warm %d Redis + %d record", first, hotCold, recordCold, hotWarm, recordWarm)
		if hotCold+recordCold > cold || hotWarm+recordWarm > warm {
			t.Errorf("first %d: got %d cold and %d warm round trips, want at most %d and %d",
				first, hotCold+recordCold, hotWarm+recordWarm, cold, warm)
		}
		gotCold, gotWarm := [2]int64{hotCold, recordCold}, [2]int64{hotWarm, recordWarm}
		if i == 0 {
			firstCold, firstWarm = gotCold, gotWarm
		} else if gotCold != firstCold || gotWarm != firstWarm {
			t.Errorf("100 posts cost %v cold and %v warm, 20 posts %v and %v: want the same", gotCold, gotWarm, firstCold, firstWarm)
		}
	}
}
