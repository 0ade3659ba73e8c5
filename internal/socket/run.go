package socket

import (
	"context"
	"fmt"

	"github.com/99designs/gqlgen/graphql"
	"github.com/gorilla/websocket"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"feedgate/feed"
	"feedgate/internal/operation"
)

// run is one operation of a socket.
type run struct {
	name   string
	id     []byte // its name as JSON
	lane   *lane
	cancel context.CancelFunc
}

// subscribe begins an operation.
func (s *socket) subscribe(ctx context.Context, m message) {
	params, err := m.params()
	if err != nil {
		s.close(codeBadRequest, "Invalid message received", feed.CodeBadInput)
		return
	}
	params.Headers = s.headers
	r := &run{name: m.ID, id: quote(m.ID), lane: newLane()}
	own, cancel := context.WithCancel(ctx)
	r.cancel = cancel
	refusal, ok := s.begin(r)
	if ok {
		go s.run(s.t.cfg.Begin(own), r, params)
		return
	}
	cancel()
	if s.isLeaving() {
		return
	}
	b := s.t.buffer()
	b.Write(s.protocol.appendErrors(b.AvailableBuffer(), r.id, operation.Errors(feed.CodeRateLimited, refusal)))
	s.send(ctx, s.lane, b)
}

// begin makes an operation known. False: there is no place for it, for a reason
// that its client is told, or the socket is being closed.
func (s *socket) begin(r *run) (refusal string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving != nil || s.dead {
		return "", false
	}
	if old, ok := s.operations[r.name]; ok {
		if s.protocol == modern {
			s.leave(codeDuplicate, fmt.Sprintf("Subscriber for %s already exists", r.name), feed.CodeConflict)
			return "", false
		}
		s.end(old) // the legacy protocol replaces it
	}
	if !s.allowance.take(s.t.cfg.Clock.Now(), s.t.cfg.OperationBurst, s.t.cfg.OperationRate) {
		if s.allowance.debt() >= s.t.cfg.OperationBurst {
			s.leave(websocket.ClosePolicyViolation, "too many operations are begun", feed.CodeRateLimited)
			return "", false
		}
		return fmt.Sprintf("a socket begins at most %d operations a second: wait, and keep subscriptions open", s.t.cfg.OperationRate), false
	}
	// Those that were stopped and have not ended yet count too, but a client must
	// be able to exchange all that it has.
	if len(s.operations) >= s.t.cfg.MaxOperations || s.count >= 2*s.t.cfg.MaxOperations {
		return fmt.Sprintf("a socket runs at most %d operations at a time: complete one, or open another socket", s.t.cfg.MaxOperations), false
	}
	s.operations[r.name] = r
	s.count++
	s.running.Add(1)
	return "", true
}

// stop ends an operation that its client has lost interest in.
func (s *socket) stop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.operations[name]; ok {
		s.end(r)
	}
}

// end frees the name at once, and lets nothing more out.
func (s *socket) end(r *run) {
	delete(s.operations, r.name)
	r.lane.shut = true
	r.cancel()
}

// run carries out an operation.
func (s *socket) run(ctx context.Context, r *run, params *graphql.RawParams) {
	defer s.running.Done()
	defer r.cancel()
	s.t.cfg.Metrics.Operations(1)
	defer s.t.cfg.Metrics.Operations(-1)
	defer s.ran(r)
	failed := operation.Run(ctx, s.exec, params, s.t.cfg.QueryTimeout, func(resp *graphql.Response) bool {
		b := s.t.buffer()
		b.Write(s.protocol.appendNext(b.AvailableBuffer(), r.id, resp))
		return s.send(ctx, r.lane, b) && r.lane.written(ctx)
	})
	s.finish(ctx, r, failed)
}

// finish tells the client that an operation is over, unless the client has
// ended it. Its name is free from here on, its place only once the message is
// written.
func (s *socket) finish(ctx context.Context, r *run, failed gqlerror.List) {
	select {
	case <-r.lane.ready:
	case <-ctx.Done():
		return
	}
	b := s.t.buffer()
	if len(failed) > 0 {
		b.Write(s.protocol.appendErrors(b.AvailableBuffer(), r.id, failed))
	} else {
		b.Write(appendComplete(b.AvailableBuffer(), r.id))
	}
	s.mu.Lock()
	queued := s.enqueue(r.lane, b)
	if s.operations[r.name] == r {
		delete(s.operations, r.name)
	}
	s.mu.Unlock()
	if queued {
		r.lane.written(ctx)
	}
}

func (s *socket) ran(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.operations[r.name] == r {
		delete(s.operations, r.name)
	}
	s.count--
}
