package feed_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

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

// A page of nearbyFeed costs the same, be it long or short, and be there few
// posts around or many.
func TestRoundTripsOfNearbyFeed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	reader := w.person("reader")
	authors := make([]feed.ID, 8)
	for i := range authors {
		authors[i] = w.person(fmt.Sprintf("author%d", i))
	}
	for i := range 120 {
		w.at(authors[i%8], 30, 30, feed.PrecisionExact)
	}
	w.at(authors[0], 60, 60, feed.PrecisionExact)
	w.startWorkers()
	w.quiet()
	w.stopWorkers()
	w.stopService() // no heartbeats among the round trips
	read := func(at feed.Nearby, first, items int, want feed.Want) [2]int64 {
		hot, record := w.hotTrips.Load(), w.recordTrips.Load()
		p, err := w.svc.NearbyFeed(ctx, w.reader(reader), at, first, feed.Newest(), want)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Items) != items {
			t.Fatalf("got %d items, want %d", len(p.Items), items)
		}
		return [2]int64{w.hotTrips.Load() - hot, w.recordTrips.Load() - record}
	}
	busy, quiet := around(30, 30, 5000), around(60, 60, 5000)
	simple, full := feed.Want{}, feed.Want{Stats: true, Users: true, Comments: true, UserCounts: true}
	for _, c := range []struct {
		name         string
		want         feed.Want
		warm, record int64
	}{{"simple", simple, 2, 0}, {"full", full, 3, 0}} {
		for _, at := range []struct {
			feed.Nearby
			first, items int
		}{{busy, 20, 20}, {busy, 100, 100}, {quiet, 20, 1}, {quiet, 100, 1}} {
			w.flush()
			cold := read(at.Nearby, at.first, at.items, c.want)
			_ = read(at.Nearby, at.first, at.items, c.want)
			warm := read(at.Nearby, at.first, at.items, c.want)
			t.Logf("%s, first %d of %d: cold %d Redis + %d record, warm %d + %d", c.name, at.first, at.items, cold[0], cold[1], warm[0], warm[1])
			if warm != [2]int64{c.warm, c.record} {
				t.Errorf("%s, first %d of %d, warm: got %v, want %d and %d", c.name, at.first, at.items, warm, c.warm, c.record)
			}
			if cold[0]+cold[1] > 10 {
				t.Errorf("%s, first %d of %d, cold: got %v, want at most 10 together", c.name, at.first, at.items, cold)
			}
		}
	}
	// Publishing with a place awaits no more than publishing without.
	publish := func(place *feed.Place) int64 {
		hot, record := w.hotTrips.Load(), w.recordTrips.Load()
		if _, err := w.svc.PublishPost(ctx, w.reader(reader), feed.NewPost{Text: "x", Place: place}); err != nil {
			t.Fatal(err)
		}
		return w.hotTrips.Load() - hot + w.recordTrips.Load() - record
	}
	_ = publish(nil)
	without, with := publish(nil), publish(&feed.Place{Latitude: 30, Longitude: 30, Precision: feed.PrecisionExact})
	if with != without {
		t.Errorf("publishing with a place takes %d round trips, without %d", with, without)
	}
}

// A page of recommendFeed costs the same, be it long or short, and whatever
// the reader likes and however many people the reader follows.
func TestRoundTripsOfRecommendFeed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, usualLists(), onEmbedded)
	authors := make([]feed.ID, 8)
	for i := range authors {
		authors[i] = w.person(fmt.Sprintf("author%d", i))
	}
	now := time.Now().UnixMilli()
	posts := make([]feed.Post, 600)
	for i := range posts {
		posts[i] = feed.Post{
			ID: feed.ID(1<<40 + i), Author: authors[i%8], At: now - int64(len(posts)-i)*1000, Kind: "original", Text: "x",
			Topics: []string{strconv.Itoa(i % 5)},
		}
	}
	if _, err := w.record.ImportPosts(ctx, posts); err != nil {
		t.Fatal(err)
	}
	var likes []feed.Like
	like := func(user feed.ID, from, n int) {
		for i := from; i < from+n; i++ {
			likes = append(likes, feed.Like{User: user, Post: posts[i].ID, At: now - int64(i), Weight: 1})
		}
	}
	few, many := w.person("few"), w.person("many")
	like(few, 0, 3)
	like(many, 0, 50)
	for i := range 12 { // whose likes the readers' go with
		other := w.person(fmt.Sprintf("other%d", i))
		like(other, i, 3)
		like(other, 60+40*i, 40)
		w.follow(many, other)
		if i == 0 {
			w.follow(few, other)
		}
	}
	if _, err := w.record.ImportLikes(ctx, likes); err != nil {
		t.Fatal(err)
	}
	w.startWorkers()
	w.quiet()
	w.stopWorkers()
	w.learn()
	w.stopService() // no heartbeats among the round trips
	read := func(reader feed.ID, first int, after *feed.SessionMark) ([2]int64, *feed.RecommendPage) {
		hot, record := w.hotTrips.Load(), w.recordTrips.Load()
		p := w.recommended(reader, first, after)
		if len(p.Items) != first || !p.HasNext {
			t.Fatalf("got %d items, want %d and more of them", len(p.Items), first)
		}
		return [2]int64{w.hotTrips.Load() - hot, w.recordTrips.Load() - record}, p
	}
	for _, reader := range []feed.ID{few, many} {
		for _, first := range []int{20, 100} {
			for range 2 { // details of the larger page
				_, p := read(reader, first, nil)
				_, _ = read(reader, first, &p.EndMark)
			}
			warm, p := read(reader, first, nil)
			next, _ := read(reader, first, &p.EndMark)
			if want := [2]int64{firstTrips, firstRecord}; warm != want {
				t.Errorf("reader %d, first %d: the first page takes %v round trips of Redis and the record, want %v", reader, first, warm, want)
			}
			if want := [2]int64{nextTrips, 0}; next != want {
				t.Errorf("reader %d, first %d: the next page takes %v round trips, want %v", reader, first, next, want)
			}
		}
	}
	for _, reader := range []feed.ID{few, many} {
		for _, first := range []int{20, 100} {
			w.flush() // what was learned goes with it
			cold, _ := read(reader, first, nil)
			if want := [2]int64{coldTrips, coldRecord}; cold != want {
				t.Errorf("reader %d, first %d, cold: got %v round trips of Redis and the record, want %v", reader, first, cold, want)
			}
		}
	}
}

// The round trips of recommendFeed. A first page: the reader; what the reader
// engaged with, followees' tastes, and boards, at the same time; boards of
// topics and authors' outboxes; candidates; the page and its people.
const (
	firstTrips  = 8
	firstRecord = 1 // outboxes that nobody has filled
	nextTrips   = 3
	coldTrips   = 21 // leases and fills of details, and the newest posts instead of boards
	coldRecord  = 10
)
