// Package clients puts real GraphQL clients in place, those of npm, for the
// tests that let them talk to a server.
//
// check.mjs is the test: each client subscribes, counts, and comes back after
// a cut. What it asks a server is in a file of its own: hand.mjs for the small
// schema of the transports' tests, feed.mjs for feedgate's own.
package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"feedgate/internal/folder"
)

// lockWait is the time between two looks whether somebody else still installs.
const lockWait = 100 * time.Millisecond

// Install installs the packages that dir/package-lock.json names, unless they
// are. Several processes may ask at once. Its error says what is missing.
func Install(ctx context.Context, dir string) error {
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("there is no %s here, install Node.js 20 or later: %w", name, err)
		}
	}
	if installed(dir) {
		return nil
	}
	unlock, err := lock(ctx)
	if err != nil {
		return err
	}
	if !installed(dir) {
		cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		cmd.Dir = dir
		if out, failed := cmd.CombinedOutput(); failed != nil {
			err = fmt.Errorf("npm ci: %w\n%s", failed, out)
		}
	}
	return errors.Join(err, unlock())
}

// installed reports whether npm has installed what the lock file says: it
// leaves a copy as the last thing.
func installed(dir string) bool {
	lock, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return false
	}
	done, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	return err == nil && !done.ModTime().Before(lock.ModTime())
}

// lock waits until nobody else installs.
func lock(ctx context.Context) (unlock func() error, err error) {
	for {
		unlock, err = folder.Lock(filepath.Join(os.TempDir(), "feedgate-clients"), folder.Alone)
		if err == nil || !errors.Is(err, folder.ErrTaken) {
			return unlock, err
		}
		select {
		case <-time.After(lockWait):
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		}
	}
}
