package lifecycle

import (
	"context"
	"errors"
	"os"
	"sync"
)

// ErrSignal is the cause of a context that ended by a signal.
var ErrSignal = errors.New("told to stop by a signal")

// UntilSignal returns a context that ends, with cause [ErrSignal], when the
// first signal comes: time to stop in order. The second one calls kill, which
// should end the process on the spot. release ends the watch and the context,
// and waits; signals is the channel that was given to signal.Notify.
func UntilSignal(ctx context.Context, signals <-chan os.Signal, kill func(os.Signal)) (stop context.Context, release func()) {
	stop, cancel := context.WithCancelCause(ctx)
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := range 2 {
			select {
			case sig := <-signals:
				if n > 0 {
					kill(sig)
				}
				cancel(ErrSignal)
			case <-quit:
				return
			}
		}
	}()
	leave := sync.OnceFunc(func() { close(quit) })
	return stop, func() {
		leave()
		<-ended
		cancel(context.Canceled)
	}
}
