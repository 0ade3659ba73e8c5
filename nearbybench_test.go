package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"feedgate/internal/bench"
	"feedgate/store/storetest/redisserver"
)

// nearbyFeed is compared with other ways to the same pages; the bench ends with
// an error when one of them shows another page. Its round trips are counted.
func TestBenchMeasuresNearbyFeedBesideOtherWaysToTheSamePages(t *testing.T) {
	t.Parallel()
	redis := redisserver.Start(t)
	cmd := exec.Command(build(t), "bench", "-only", "nearby", "-json", "-redis-url", redis.URL(),
		"-readers", "3", "-rounds", "1", "-requests", "10", "-nearby-posts", "4000")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var report bench.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	m := report.Nearby
	if m == nil || len(m.Places) != 3 || len(m.Written) == 0 || len(report.NearbyTrips) != 6 {
		t.Fatalf("a figure is missing: %s", out)
	}
	for _, place := range m.Places {
		if place.Read == nil || place.Read.Ratio <= 0 || place.Within == 0 || len(place.Ways) != 5 {
			t.Errorf("a figure of %s is missing: %+v", place.Name, place)
		}
	}
	for _, w := range m.Written {
		if w.Mean < 1 || w.Most > 16 {
			t.Errorf("at latitude %g a post is written into %g cells, %d at most; want 1 to 16", w.Latitude, w.Mean, w.Most)
		}
	}
	for _, trips := range report.NearbyTrips {
		if warm := trips.WarmRedis + trips.WarmRecord; warm < 1 || warm > 6 {
			t.Errorf("%+v: %d round trips when warm, want at most 6", trips, warm)
		}
	}
}
