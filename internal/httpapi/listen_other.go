//go:build !linux

package httpapi

import (
	"syscall"
	"time"
)

// giveUpAfter leaves it to keep-alive probes, and to the deadline of each
// write, where the kernel can't be told.
func giveUpAfter(time.Duration) func(network, address string, c syscall.RawConn) error { return nil }
