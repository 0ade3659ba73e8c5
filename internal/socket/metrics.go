package socket

// Metrics is told what happens to sockets. It is called often and from many
// goroutines, and must not block.
type Metrics interface {
	// Opened counts a socket that was opened, by its subprotocol.
	Opened(subprotocol string)
	// Closed counts the end of a socket, by close code: 1006 when there was none.
	Closed(code int)
	// Operations adds to the number of operations that run: 1 or -1.
	Operations(delta int)
	// Sent counts one message with its size in bytes.
	Sent(bytes int)
	// Slow counts a socket that was cut because its client read too slowly.
	Slow()
}

// silent are metrics that nobody reads.
type silent struct{}

var _ Metrics = silent{}

func (silent) Opened(string)  {}
func (silent) Closed(int)     {}
func (silent) Operations(int) {}
func (silent) Sent(int)       {}
func (silent) Slow()          {}
