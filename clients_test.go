package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"feedgate/internal/socket/clients"
)

// Real clients talk to the whole server by its real schema: they see dots,
// notices and deliveries, and come back with the right count after cuts and
// restarts.
func TestRealClientsSeeDotsThroughCutsAndRestarts(t *testing.T) {
	t.Parallel()
	const dir = "internal/socket/clients"
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if err := clients.Install(ctx, dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED, NOTHING IS SHOWN ABOUT REAL CLIENTS: %v", err)
	}
	const secret = "a secret for this test, long enough"
	vars, data := settings{"FEEDGATE_AUTH_SECRET": secret}, t.TempDir()
	s := start(t, vars, "-data", data, "-drain-spread", "1ms")
	cmd := exec.CommandContext(ctx, "node", "check.mjs", "http://"+s.addr+"/graphql", "./feed.mjs", "restarts")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "FEEDGATE_AUTH_SECRET="+secret)
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	restarts := 0
	for said := bufio.NewScanner(out); said.Scan(); {
		if said.Text() != "restart" {
			t.Log(said.Text())
			continue
		}
		restarts++
		s.stop()
		s = start(t, vars, "-data", data, "-drain-spread", "1ms", "-addr", s.addr)
		if _, err := io.WriteString(in, "restarted\n"); err != nil {
			t.Error(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the clients are not content: %v\n%s", err, errors.String())
	}
	if restarts != 2 {
		t.Errorf("%d restarts were asked for, want 2", restarts)
	}
	s.stop()
}
