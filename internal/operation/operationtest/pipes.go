package operationtest

import (
	"context"
	"net"
	"sync"
	"time"
)

// Wall is the clock on the wall, or that of a test's bubble.
type Wall struct{}

// Now gives the time.
func (Wall) Now() time.Time { return time.Now() } //nolint:forbidigo // this is the clock

// Pipes is a network within the process, so that tests can run in a bubble with
// a clock of its own.
type Pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// NewPipes makes a network with one listener.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

// Accept waits for the next connection.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr names the listener.
func (*Pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// Dial connects, whatever the address.
func (p *Pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
