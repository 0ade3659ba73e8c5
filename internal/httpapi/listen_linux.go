package httpapi

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// giveUpAfter bounds how long sent data may stay unacknowledged. Connections
// have it from the listener that accepts them.
func giveUpAfter(d time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
		})
		if err = errors.Join(err, failed); err != nil {
			return fmt.Errorf("bounding the time without acknowledgement: %w", err)
		}
		return nil
	}
}
