package httpapi

import (
	"context"
	"net"
	"time"
)

// A peer that vanishes without a word, as a phone in a tunnel does, is given up
// after peerTimeout, both when the connection is idle and when something waits
// to be acknowledged. The kernel alone would go on for a quarter of an hour.
const (
	peerTimeout = 30 * time.Second
	probeIdle   = 15 * time.Second
	probeEvery  = 5 * time.Second
	probes      = 3
)

// Listen listens on a TCP address for what lasts: connections whose peer has
// vanished end within half a minute.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	lc := net.ListenConfig{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: probeIdle, Interval: probeEvery, Count: probes},
		Control:         giveUpAfter(peerTimeout),
	}
	return lc.Listen(ctx, "tcp", addr)
}
