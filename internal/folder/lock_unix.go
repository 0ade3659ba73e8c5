//go:build unix

package folder

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func lock(file *os.File, use Use) (bool, error) {
	how := unix.LOCK_EX
	if use == Shared {
		how = unix.LOCK_SH
	}
	err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
