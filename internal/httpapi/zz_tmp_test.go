package httpapi_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"feedgate/feed"
)

func TestTmpHeap(t *testing.T) {
	if os.Getenv("CROWD") == "" {
		return
	}
	n := 5000
	w := newWorld(t)
	var users []feed.User
	var follows []feed.Follow
	users = append(users, feed.User{ID: 99999, Handle: "ann"})
	for i := range n {
		users = append(users, feed.User{ID: feed.ID(100000 + i), Handle: fmt.Sprint("c", i)})
		follows = append(follows, feed.Follow{Follower: feed.ID(100000 + i), Followee: 99999, At: 1})
	}
	for i := 0; i < len(users); i += 1000 {
		_, err := w.record.ImportUsers(context.Background(), users[i:min(i+1000, len(users))])
		w.must(err)
	}
	for i := 0; i < len(follows); i += 1000 {
		_, err := w.record.ImportFollows(context.Background(), follows[i:min(i+1000, len(follows))])
		w.must(err)
	}
	g := w.gateway()
	mem := func(what string) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		t.Logf("%s heap %d stack %d goroutines %d", what, m.HeapAlloc, m.StackInuse, runtime.NumGoroutine())
	}
	mem("before")
	cmd := exec.Command("/tmp/w/crowd/crowd", g.addr, fmt.Sprint(n))
	cmd.Stdout = os.Stdout
	w.must(cmd.Start())
	w.until("all", func() bool { return g.hub.Connected() == n })
	time.Sleep(4 * time.Second)
	mem("open")
	f, _ := os.Create("/tmp/w/crowd/heap.prof")
	pprof.Lookup("heap").WriteTo(f, 0)
	f.Close()
	f, _ = os.Create("/tmp/w/crowd/gor.txt")
	pprof.Lookup("goroutine").WriteTo(f, 1)
	f.Close()
	cmd.Wait()
	w.until("gone", func() bool { return g.hub.Connected() == 0 })
	time.Sleep(2 * time.Second)
	mem("closed")
}
