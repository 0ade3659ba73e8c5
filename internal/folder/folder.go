// Package folder guards a data folder. A process whose Redis runs inside it
// needs the folder for itself: nobody else could tell that Redis what they
// wrote to the record. Processes that share a real Redis share the folder.
package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Use is how a process uses a folder.
type Use int

// The uses.
const (
	Alone  Use = iota // nobody else may use the folder
	Shared            // others that say Shared may use it too
)

// ErrTaken says that another process uses the folder in a way that rules this one out.
var ErrTaken = errors.New("the folder is in use")

// Lock makes the folder if need be and takes it for this process. The lock goes
// with the process, however it ends, or with release.
func Lock(dir string, use Use) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", err)
	}
	path := filepath.Join(dir, "feedgate.lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator names the folder
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the data folder: %w", err)
	}
	taken, err := lock(file, use)
	if err == nil && !taken {
		err = ErrTaken
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
	}
	return file.Close, nil
}
