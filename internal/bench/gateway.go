package bench

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"feedgate/feed"
	"feedgate/internal/importer"
)

// Record is what the bench needs of a record, to fill it.
type Record interface {
	importer.Record
	// InsertComment returns false, and changes nothing, when the id is there already.
	InsertComment(ctx context.Context, c feed.Comment) (bool, error)
}

// Gateway is a whole feedgate in this process, without a listener and workers.
type Gateway struct {
	Handler    http.Handler
	Record     Record
	Generation feed.MetaRecord
	Hot        feed.Hot
	Close      func(ctx context.Context) error
}

// Taps watch what a [Gateway] awaits.
type Taps struct {
	Redis  redis.Hook
	Record func(command string)
}

// Opener opens a gateway on a Redis and a data folder.
type Opener func(ctx context.Context, redisURL, data string, taps Taps) (*Gateway, error)

// tapKey marks the contexts of requests that are watched.
type tapKey struct{}

// trace is what one request awaited.
type trace struct {
	mu     sync.Mutex
	redis  [][][]any // round trips of commands of arguments
	beside []bool    // a round trip began while one before it was under way
	under  int       // round trips under way
}

// tap watches the round trips of requests that carry a trace, and counts those
// of the record while one is counted.
type tap struct {
	record atomic.Int64
}

func (t *tap) taps() Taps {
	return Taps{Redis: t, Record: func(command string) {
		if !background(command) {
			t.record.Add(1)
		}
	}}
}

// background tells the commands to the record that no request asks for.
func background(command string) bool {
	switch command {
	case "Generation", "RaiseGeneration", "Heartbeats", "SaveHeartbeats", "LeaseProcess", "RenewProcess", "ReleaseProcess":
		return true
	}
	return false
}

// watched gives a context whose Redis round trips go to the trace.
func watched(ctx context.Context) (context.Context, *trace) {
	tr := &trace{}
	return context.WithValue(ctx, tapKey{}, tr), tr
}

// note writes a round trip down, and gives what is to be called at its end.
func note(ctx context.Context, cmds []redis.Cmder) (end func()) {
	tr, ok := ctx.Value(tapKey{}).(*trace)
	if !ok {
		return func() {}
	}
	trip := make([][]any, len(cmds))
	for i, cmd := range cmds {
		trip[i] = cmd.Args()
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.redis = append(tr.redis, trip)
	tr.beside = append(tr.beside, tr.under > 0)
	tr.under++
	return func() {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.under--
	}
}

// DialHook implements [redis.Hook].
func (t *tap) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements [redis.Hook].
func (t *tap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer note(ctx, []redis.Cmder{cmd})()
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (t *tap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		defer note(ctx, cmds)()
		return next(ctx, cmds)
	}
}
