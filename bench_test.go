package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"testing"

	"feedgate/internal/bench"
	"feedgate/store/storetest/redisserver"
)

// The figures of so small a run mean nothing; that all parts run, compare the
// same answers and count round trips within the bounds does.
func TestBenchMeasuresEveryPartAndRoundTripsStayWithinTheirBounds(t *testing.T) {
	t.Parallel()
	redis := redisserver.Start(t)
	cmd := exec.Command(build(t), "bench", "-json", "-redis-url", redis.URL(), "-users", "60", "-posts", "3000", "-inbox", "500",
		"-readers", "5", "-rounds", "1", "-requests", "10", "-clients", "2", "-followers", "1500")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var report bench.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	if report.Read == nil || report.Read.Ratio <= 0 || report.CPU == nil || report.Fanout == nil || report.Fanout.Ratio <= 0 {
		t.Errorf("a part is missing: %s", out)
	}
	if len(report.Trips) != 4 {
		t.Fatalf("%d query shapes, want 4", len(report.Trips))
	}
	for i, trips := range report.Trips {
		if warm := trips.WarmRedis + trips.WarmRecord; warm < 1 || warm > 6 {
			t.Errorf("%+v: %d round trips when warm, want at most 6", trips, warm)
		}
		if cold := trips.ColdRedis + trips.ColdRecord; cold < 2 || cold > 12 {
			t.Errorf("%+v: %d round trips when cold, want at most 12", trips, cold)
		}
		if i%2 == 0 {
			continue
		}
		// When cold, it depends on what the server beside has filled in already.
		if small := report.Trips[i-1]; small.WarmRedis != trips.WarmRedis || small.WarmRecord != trips.WarmRecord {
			t.Errorf("a longer page makes other round trips: %+v, %+v", small, trips)
		}
	}
	client := redis.Client()
	defer client.Close()
	if left, err := client.DBSize(t.Context()).Result(); err != nil || left != 0 {
		t.Errorf("the bench left %d keys behind, %v", left, err)
	}
}

// The first page of recommendFeed and the next one are compared with what they
// await, and neither awaits more for a longer page.
func TestBenchMeasuresRecommendFeedAndALongerPageTakesTheSameRoundTrips(t *testing.T) {
	t.Parallel()
	redis := redisserver.Start(t)
	cmd := exec.Command(build(t), "bench", "-only", "recommend", "-json", "-redis-url", redis.URL(), "-readers", "3", "-rounds", "1", "-requests", "10",
		"-recommend-people", "40", "-recommend-posts", "400", "-recommend-likes", "20", "-recommend-follows", "5")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var report bench.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	m, trips := report.Recommend, report.RecommendTrips
	if m == nil || m.First == nil || m.Next == nil || m.First.Ratio <= 0 || m.Next.Ratio <= 0 || len(trips) != 2 {
		t.Fatalf("a figure is missing: %s", out)
	}
	if m.First.Commands <= m.Next.Commands || m.Next.Commands < 4 {
		t.Errorf("a first page awaits %d commands and the next one %d", m.First.Commands, m.Next.Commands)
	}
	small, large := trips[0], trips[1]
	small.First = large.First
	if small.ColdRecord < 1 || small.FirstRedis <= small.NextRedis {
		t.Errorf("the round trips of a first page when cold, when warm, and of the next one: %+v", small)
	}
	small.ColdRedis, small.ColdRecord = large.ColdRedis, large.ColdRecord // depends on what the server beside has filled in already
	if small != large {
		t.Errorf("a longer page makes other round trips: %+v, %+v", trips[0], trips[1])
	}
}

// However many of an author's followers are connected, a publish takes the
// same commands.
func TestBenchMeasuresRedDotsAndAPublishTakesTheSameCommandsForAnyNumberOfReaders(t *testing.T) {
	t.Parallel()
	redis := redisserver.Start(t)
	cmd := exec.Command(build(t), "bench", "-only", "live", "-json", "-redis-url", redis.URL(), "-rounds", "1",
		"-live-sockets", "40", "-live-offline", "2500", "-live-publishes", "4", "-live-quiet", "1s")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var report bench.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	live := report.Live
	if live == nil || len(live.Near) != 1 || len(live.Far) != 1 || live.Near[0].Last <= 0 || live.RatioLast <= 0 || len(live.Commands) != 3 {
		t.Fatalf("a figure is missing: %s", out)
	}
	if live.Each.Goroutines < 1 || live.Each.Goroutines > 4 {
		t.Errorf("a socket has %.2f goroutines, want at most 4", live.Each.Goroutines)
	}
	one := live.Commands[0]
	if one.Record < 2 || one.ByRedis["xadd"] != 2 {
		t.Errorf("a publish is not counted: %+v", one)
	}
	for _, many := range live.Commands[1:] {
		if !maps.Equal(many.ByRecord, one.ByRecord) {
			t.Errorf("with %d readers a publish takes %v of the record, with one %v", many.Online, many.ByRecord, one.ByRecord)
		}
		for _, name := range []string{"zadd", "xadd", "evalsha", "mget"} { // that nothing in the background uses
			if many.ByRedis[name] != one.ByRedis[name] {
				t.Errorf("with %d readers a publish takes %v of Redis, with one %v", many.Online, many.ByRedis, one.ByRedis)
				break
			}
		}
	}
}
