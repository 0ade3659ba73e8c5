package redis_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/fanout"
	"feedgate/feed"
	"feedgate/store/redis"
	"feedgate/store/storetest"
	"feedgate/store/storetest/redisserver"
)

func nothing(int) {}

func wantBeat(t *testing.T, h storetest.Hot, now, want int64) {
	t.Helper()
	beats, err := h.Beat(t.Context(), now, nil)
	if err != nil {
		t.Fatalf("Beat(%d): %v", now, err)
	}
	for name, was := range beats {
		if was != want {
			t.Errorf("Beat(%d) of %s: got %d, want %d", now, name, was, want)
		}
	}
}

func TestBeatTellsThatAServerWasStartedAnew(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	h := open(t, s.URL(), nothing)
	wantBeat(t, h, 100, 0)
	wantBeat(t, h, 200, 100)
	newest := s.Snapshot(t)
	// Even the newest snapshot may lack what was written after it.
	s.RestartFrom(t, newest)
	wantBeat(t, h, 300, 0)
	wantBeat(t, h, 400, 300)
	s.RestartFrom(t, nil)
	wantBeat(t, h, 500, 0)
	wantBeat(t, h, 600, 500)
}

func TestAServerThatIsDownIsUnavailableAndComesBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := redisserver.Start(t)
	h := open(t, s.URL(), nothing)
	h.SetGeneration(1)
	open := &feed.OpenList{List: feed.List{Kind: feed.Outbox, Owner: 1}}
	if err := h.Do(ctx, open); err != nil {
		t.Fatal(err)
	}
	s.Kill(t)
	down := map[string]func() error{
		"Do":         func() error { return h.Do(ctx, open, &feed.ReadMarks{Authors: []feed.ID{1}}) },
		"Do one":     func() error { return h.Do(ctx, &feed.TakeLease{Name: "n", User: 1, Token: "t", TTL: 1}) },
		"Push":       func() error { return h.Push(ctx, feed.Entry{At: 1, ID: 1}, []feed.ID{1, 2}, 10, 1) },
		"AddTasks":   func() error { return h.AddTasks(ctx, feed.LaneSmall, []fanout.Task{{Post: 1}}) },
		"EndTasks":   func() error { return h.EndTasks(ctx, feed.LaneSmall, []fanout.Claimed{{}}) },
		"DropAcks":   func() error { return h.DropAcks(ctx, 1, 1) },
		"WaitAcks":   func() error { return h.WaitAcks(ctx, 1, 1, time.Hour) },
		"Retire":     func() error { return h.Retire(ctx, []fanout.Mark{{Author: 1, Version: 1}}) },
		"Beat":       func() error { _, err := h.Beat(ctx, 1, nil); return err },
		"Bells":      func() error { _, err := h.Bells(ctx, feed.LaneSmall, 1, time.Hour); return err },
		"ClaimTasks": func() error { _, err := h.ClaimTasks(ctx, feed.LaneSmall, 1, time.Hour, time.Hour); return err },
		"Acks":       func() error { _, err := h.Acks(ctx, 1, 1, 0, 1); return err },
		"LastSeen":   func() error { _, err := h.LastSeen(ctx, []feed.ID{1}); return err },
		"Marks":      func() error { _, err := h.Marks(ctx); return err },
		"Prune":      func() error { _, err := h.PruneActive(ctx, 1, 1); return err },
	}
	for name, do := range down {
		if err := do(); feed.CodeOf(err) != feed.CodeUnavailable {
			t.Errorf("%s while the server is down: got %v, want UNAVAILABLE", name, err)
		}
	}
	s.Restart(t)
	// Its scripts are gone with it.
	if err := h.Do(ctx, open, &feed.ReadMarks{Authors: []feed.ID{1}}); err != nil {
		t.Errorf("when it is back: %v", err)
	}
}

func TestAServerThatHangsCostsBoundedTime(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	h := open(t, s.URL(), nothing)
	s.Pause(t)
	defer s.Resume(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := h.Do(ctx, &feed.ReadMarks{Authors: []feed.ID{1}}); feed.CodeOf(err) != feed.CodeUnavailable {
		t.Errorf("hanging: got %v, want UNAVAILABLE", err)
	}
}

func TestWhoWaitsLeavesConnectionsToOthers(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	h, err := redis.Open(t.Context(), redis.Config{URL: s.URL(), PoolSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	for range cap(done) {
		go func() {
			_, err := h.ClaimTasks(ctx, feed.LaneSmall, 1, time.Hour, time.Hour)
			done <- err
		}()
	}
	for range 100 {
		if err := h.Do(ctx, &feed.ReadMarks{Authors: []feed.ID{1, 2}}); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	for range cap(done) {
		<-done
	}
}

func TestOpenWarnsOfAPolicyThatLosesQueues(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	c := s.Client()
	defer c.Close()
	for policy, warns := range map[string]bool{"volatile-lru": false, "allkeys-lru": true, "noeviction": true} {
		if err := c.ConfigSet(t.Context(), "maxmemory-policy", policy).Err(); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		h, err := redis.Open(t.Context(), redis.Config{URL: s.URL(), Log: slog.New(slog.NewTextHandler(&out, nil))})
		if err != nil {
			t.Fatal(err)
		}
		h.Close()
		if got := strings.Contains(out.String(), "maxmemory_policy="+policy); got != warns {
			t.Errorf("warning about %s: got %v, want %v", policy, got, warns)
		}
	}
}

func TestOpenRefusesWhatIsNoRedis(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "localhost", "http://localhost", "redis+ring://localhost:1", "redis://user:secret@:x", "redis+cluster://user:secret@h:x?%zz=1", "redis://u:secret@127.0.0.1:1"} {
		h, err := redis.Open(t.Context(), redis.Config{URL: url})
		if err == nil {
			h.Close()
			t.Errorf("Open(%q): got no error", url)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q): the error tells the password: %v", url, err)
		}
	}
}

// pipelines counts what the driver sends.
type pipelines struct{ n atomic.Int64 }

func (p *pipelines) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (p *pipelines) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		p.n.Add(1)
		return next(ctx, cmd)
	}
}

func (p *pipelines) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		p.n.Add(1)
		return next(ctx, cmds)
	}
}

func TestRoundTripsAreThoseOfTheDriver(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := redisserver.Start(t)
	hook, trips := new(pipelines), new(atomic.Int64)
	h, err := redis.Open(ctx, redis.Config{URL: s.URL(), Hook: hook, OnRoundTrip: func(int) { trips.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	// The first use of each pool also connects.
	if _, err := h.Bells(ctx, feed.LaneBulk, 1, 0); err != nil {
		t.Fatal(err)
	}
	hook.n.Store(0)
	trips.Store(0)
	for _, do := range []func() error{
		func() error {
			return h.Do(ctx, &feed.ReadMarks{Authors: []feed.ID{1, 2, 3}}, &feed.ReadRelations{User: 1})
		},
		func() error { return h.Push(ctx, feed.Entry{At: 1, ID: 1}, []feed.ID{1, 2, 3}, 10, 1) },
		func() error { _, err := h.Beat(ctx, 1, nil); return err },
		func() error { _, err := h.Bells(ctx, feed.LaneSmall, 1, 0); return err },
		func() error { return h.AddTasks(ctx, feed.LaneSmall, []fanout.Task{{Post: 1}, {Post: 2}}) },
		func() error { _, err := h.ClaimTasks(ctx, feed.LaneSmall, 1, 0, time.Hour); return err },
		func() error { return h.WaitAcks(ctx, 1, 1, time.Millisecond) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if got, want := trips.Load(), hook.n.Load(); got != want {
			t.Errorf("round trips: got %d, want the driver's %d", got, want)
		}
	}
}

func TestAClusterGoesOnWhenAMasterDies(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cluster := redisserver.StartCluster(t)
	h := open(t, cluster.URL(), nothing)
	h.SetGeneration(1)
	names, err := h.Beat(ctx, 100, nil)
	if err != nil || len(names) != 3 {
		t.Fatalf("Beat: got %v %v, want three masters", names, err)
	}
	wantBeat(t, h, 200, 100)
	list := feed.List{Kind: feed.Outbox, Owner: 7}
	key := "outbox:{7}"
	dies := cluster.MasterOf(t, key)
	cluster.Nodes[dies].Kill(t)
	// The others are still told.
	beats, err := h.Beat(ctx, 300, nil)
	if err == nil || len(beats) != 2 {
		t.Errorf("Beat while a master is down: got %v %v, want two and an error", beats, err)
	}
	cluster.AwaitFailover(t, key, dies)

	open := &feed.OpenList{List: list}
	until(t, "the cluster serves the list again", func() bool { return h.Do(ctx, open) == nil })
	merge := &feed.MergeList{List: list, Version: open.Version, Raw: open.Raw, Generation: 1, Floor: feed.Floor{Version: open.Version}, TTL: 10_000}
	read := &feed.ReadList{List: list, Below: feed.Newest(), Limit: 1}
	if err := h.Do(ctx, merge, read); err != nil || !merge.Merged || !read.Valid(0) {
		t.Errorf("after the failover: got merged %v, read %+v, %v", merge.Merged, read, err)
	}
	lost := 0
	until(t, "all masters are told", func() bool {
		beats, err = h.Beat(ctx, 400, nil)
		for name, was := range beats {
			if _, ok := names[name]; !ok {
				t.Errorf("Beat after the failover: got a new name %s, want one of %v", name, names)
			}
			if was == 0 {
				lost++
			}
		}
		return err == nil
	})
	if lost != 1 || len(beats) != 3 {
		t.Errorf("Beat after the failover: got %v and %d lost, want three and one", beats, lost)
	}
}

// until polls until ok is true, for at most twenty seconds.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("it never came to pass that %s", what)
		case <-poll.C:
		}
	}
}
