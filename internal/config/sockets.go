package config

import "time"

// Sockets bound what one gateway keeps open for clients.
type Sockets struct {
	Most         int
	Operations   int
	Burst        int
	Rate         int
	OfReader     int
	Subscribed   int
	PingInterval time.Duration
	DrainSpread  time.Duration
}

func addSockets(s *Set, c *Sockets) {
	s.Group("Sockets and streams")
	Number(s, &c.Most, "sockets", 50_000, 1, 1_000_000,
		"WebSockets that are open at a time, and as many event streams; each takes a file descriptor.")
	Number(s, &c.Operations, "socket-operations", 20, 1, 1_000,
		"Operations that run on one socket at a time.")
	Number(s, &c.Burst, "socket-operation-burst", 100, 1, 100_000,
		"Operations that one socket may begin at once. More are refused; a client that goes on is cut off.")
	Number(s, &c.Rate, "socket-operation-rate", 20, 1, 10_000,
		"Operations that one socket may begin a second, once the burst is used up.")
	Number(s, &c.OfReader, "reader-sockets", 50, 1, 10_000,
		"Sockets and streams that one reader has open at a time.")
	Number(s, &c.Subscribed, "reader-subscriptions", 100, 1, 100_000,
		"Subscriptions that one reader has at a time, on all sockets and streams together.")
	s.Duration(&c.PingInterval, "ping-interval", 25*time.Second, time.Second, 5*time.Minute,
		"The time between two pings. A client that answers nothing is cut within two of them.")
	s.Duration(&c.DrainSpread, "drain-spread", 5*time.Second, time.Millisecond, time.Minute,
		"The time over which stopping spreads the ends of sockets, so that their clients do not all come back at once; "+
			"at most half of -stop-timeout.")
}
