package redisserver_test

import (
	"testing"

	"go.uber.org/goleak"

	"feedgate/store/storetest/redisserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServerComesBackWithAnOlderSnapshot(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := redisserver.Start(t)
	c := s.Client()
	defer c.Close()
	c.Set(ctx, "k", "old", 0)
	old := s.Snapshot(t)
	c.Set(ctx, "k", "new", 0)

	s.RestartFrom(t, old)
	if got := c.Get(ctx, "k").Val(); got != "old" {
		t.Errorf("after the restart from a snapshot: got %q, want old", got)
	}
	s.RestartFrom(t, nil)
	if got := c.Get(ctx, "k").Val(); got != "" {
		t.Errorf("after the restart from nothing: got %q, want nothing", got)
	}
}

func TestClusterFailsOver(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	cluster := redisserver.StartCluster(t)
	c := cluster.Client()
	defer c.Close()
	for _, key := range []string{"a", "b", "c", "d"} {
		if err := c.Set(ctx, key, key, 0).Err(); err != nil {
			t.Fatalf("set %s: %v", key, err)
		}
	}
	// The replica must have the key before its master is killed.
	if err := c.Do(ctx, "wait", 1, 5000).Err(); err != nil {
		t.Logf("wait: %v", err)
	}
	first := cluster.MasterOf(t, "a")
	cluster.Nodes[first].Kill(t)
	second := cluster.AwaitFailover(t, "a", first)
	if second == first {
		t.Errorf("after the failover: node %d serves, want another", second)
	}
	cluster.Nodes[first].Restart(t)
	cluster.AwaitHealthy(t)
	if got := cluster.MasterOf(t, "a"); got != second {
		t.Errorf("after the restart: node %d serves, want %d", got, second)
	}
}
