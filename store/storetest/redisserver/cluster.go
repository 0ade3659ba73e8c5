package redisserver

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// masters is the number of masters, and of replicas, one for each.
const masters = 3

// slots is the number of slots of a Cluster.
const slots = 16384

// clusterTimeout bounds the waiting for the nodes to agree.
const clusterTimeout = 30 * time.Second

// Cluster is a Redis Cluster that a test started: the first three nodes are
// masters, and node i+3 is the replica of node i.
type Cluster struct {
	Nodes []*Server
}

// StartCluster starts a Cluster and waits until all nodes agree on it.
func StartCluster(tb testing.TB) *Cluster {
	tb.Helper()
	find(tb)
	logging.Disable() // the driver reports each connection that is refused
	c := new(Cluster)
	for range 2 * masters {
		c.Nodes = append(c.Nodes, start(tb, true))
	}
	ctx, cancel := context.WithTimeout(tb.Context(), clusterTimeout)
	defer cancel()
	clients := make([]*goredis.Client, len(c.Nodes))
	for i, node := range c.Nodes {
		clients[i] = node.Client()
		tb.Cleanup(func() { _ = clients[i].Close() })
	}
	for i := range masters {
		from, to := i*slots/masters, (i+1)*slots/masters-1
		must(tb, clients[i].Do(ctx, "cluster", "addslotsrange", from, to).Err())
		must(tb, clients[i].Do(ctx, "cluster", "set-config-epoch", i+1).Err())
	}
	for _, node := range c.Nodes[1:] {
		must(tb, clients[0].Do(ctx, "cluster", "meet", "127.0.0.1", node.port, node.busPort).Err())
	}
	for i, client := range clients {
		c.await(ctx, tb, i, "know all nodes", func() bool {
			known, err := client.ClusterNodes(ctx).Result()
			return err == nil && strings.Count(known, "\n") == len(c.Nodes) && !strings.Contains(known, "handshake")
		})
	}
	for i := range masters {
		id, err := clients[i].Do(ctx, "cluster", "myid").Text()
		must(tb, err)
		must(tb, clients[i+masters].Do(ctx, "cluster", "replicate", id).Err())
	}
	c.AwaitHealthy(tb)
	return c
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("cluster: %v", err)
	}
}

func (c *Cluster) await(ctx context.Context, tb testing.TB, node int, what string, ok func() bool) {
	tb.Helper()
	if err := c.Nodes[node].await(ctx, ok); err != nil {
		tb.Fatalf("cluster: node %d does not %s: %v", node, what, err)
	}
}

// AwaitHealthy waits until every node that runs serves, each master has a
// replica and each replica is connected to its master.
func (c *Cluster) AwaitHealthy(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), clusterTimeout)
	defer cancel()
	for i, node := range c.Nodes {
		client := node.Client()
		tb.Cleanup(func() { _ = client.Close() })
		c.await(ctx, tb, i, "become healthy", func() bool {
			info, err := client.ClusterInfo(ctx).Result()
			if err != nil || !strings.Contains(info, "cluster_state:ok") {
				return false
			}
			shards, err := client.ClusterShards(ctx).Result()
			if err != nil || len(shards) != masters {
				return false
			}
			for i := range shards {
				if len(online(&shards[i])) != 2 || len(shards[i].Slots) == 0 {
					return false
				}
			}
			role, err := client.Info(ctx, "replication").Result()
			return err == nil && (strings.Contains(role, "role:master") || strings.Contains(role, "master_link_status:up"))
		})
	}
}

// URL is what a client of the Cluster connects to.
func (c *Cluster) URL() string {
	addrs := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		addrs[i] = node.Addr()
	}
	return "redis+cluster://" + strings.Join(addrs, ",")
}

// Client gives a plain client of the Cluster; close it.
func (c *Cluster) Client() *goredis.ClusterClient {
	addrs := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		addrs[i] = node.Addr()
	}
	return goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs, Protocol: 2, DisableIdentity: true, DisableRoutingPolicies: true})
}

// MasterOf gives the index of the node that serves the slot of a key now, as
// the given node sees it.
func (c *Cluster) MasterOf(tb testing.TB, key string) int {
	tb.Helper()
	for _, node := range c.Nodes {
		client := node.Client()
		master, ok := masterOf(tb.Context(), client, key)
		_ = client.Close()
		if !ok {
			continue
		}
		for i, n := range c.Nodes {
			if n.Addr() == master {
				return i
			}
		}
	}
	tb.Fatalf("cluster: nobody serves %q", key)
	return -1
}

func masterOf(ctx context.Context, client *goredis.Client, key string) (string, bool) {
	slot, err := client.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return "", false
	}
	shards, err := client.ClusterShards(ctx).Result()
	if err != nil {
		return "", false
	}
	for i := range shards {
		for _, r := range shards[i].Slots {
			if slot < r.Start || slot > r.End {
				continue
			}
			for _, n := range online(&shards[i]) {
				if n.Role == "master" {
					return net.JoinHostPort(n.IP, strconv.FormatInt(n.Port, 10)), true
				}
			}
		}
	}
	return "", false
}

// online gives the nodes of a shard that are up.
func online(s *goredis.ClusterShard) []goredis.Node {
	var up []goredis.Node
	for _, n := range s.Nodes {
		if n.Health == "online" {
			up = append(up, n)
		}
	}
	return up
}

// AwaitFailover waits until another node than the given one serves the slot of
// a key, and returns its index.
func (c *Cluster) AwaitFailover(tb testing.TB, key string, from int) int {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), clusterTimeout)
	defer cancel()
	to := -1
	for i, node := range c.Nodes {
		if i == from {
			continue
		}
		client := node.Client()
		tb.Cleanup(func() { _ = client.Close() })
		c.await(ctx, tb, i, "see the failover of node "+strconv.Itoa(from), func() bool {
			master, ok := masterOf(ctx, client, key)
			if !ok || master == c.Nodes[from].Addr() {
				return false
			}
			for j, n := range c.Nodes {
				if n.Addr() == master {
					to = j
				}
			}
			info, err := client.ClusterInfo(ctx).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok")
		})
	}
	return to
}
