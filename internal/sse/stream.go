package sse

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"feedgate/feed"
	"feedgate/internal/operation"
)

// stream is one operation that is answered by events.
type stream struct {
	t       *Transport
	w       http.ResponseWriter
	control *http.ResponseController
	cancel  context.CancelFunc
	quit    chan struct{} // closed when a drain ends the stream
	stop    func()        // closes it
	release func()        // gives back the reader's place; a client that was told of the end may open the next stream at once

	frames  chan []byte   // from the operation; closed at its end
	written chan struct{} // what it handed over is written
}

func newStream(t *Transport, w http.ResponseWriter, cancel context.CancelFunc, release func()) *stream {
	s := &stream{
		t: t, w: w, control: http.NewResponseController(w), cancel: cancel, release: release,
		quit: make(chan struct{}), frames: make(chan []byte), written: make(chan struct{}),
	}
	s.stop = sync.OnceFunc(func() { close(s.quit) })
	return s
}

// open answers with the headers, and a comment: some browsers wait for it.
func (s *stream) open() error {
	if err := s.control.SetReadDeadline(time.Time{}); err != nil {
		refuse(s.w, http.StatusInternalServerError, &feed.Error{Code: feed.CodeInternal, Text: "this connection cannot carry a stream"})
		return fmt.Errorf("lift the read deadline: %w", err)
	}
	h := s.w.Header()
	h.Set("Content-Type", typeEvents+"; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // for proxies that collect answers
	s.w.WriteHeader(http.StatusOK)
	return s.write([]byte(":\n\n"))
}

// serve writes what the operation gives until either end goes away. It reports
// whether the stream was completed.
func (s *stream) serve(ctx context.Context, exec graphql.GraphExecutor, params *graphql.RawParams) bool {
	go s.run(ctx, exec, params)
	completed := s.writeAll(ctx)
	s.cancel()
	for range s.frames { // wait until the operation has ended
		continue
	}
	if completed && s.control.SetWriteDeadline(time.Time{}) != nil {
		return false
	}
	return completed
}

// run carries out the operation. What it hands over is written before it goes
// on, so that one buffer is enough.
func (s *stream) run(ctx context.Context, exec graphql.GraphExecutor, params *graphql.RawParams) {
	defer close(s.frames)
	var frame []byte
	alive := true // else the writer may still have the buffer
	failed := operation.Run(ctx, exec, params, s.t.cfg.QueryTimeout, func(resp *graphql.Response) bool {
		frame = appendNext(frame[:0], resp)
		alive = s.hand(ctx, frame)
		return alive
	})
	if alive && len(failed) > 0 {
		frame = appendFailure(frame[:0], failed)
		alive = s.hand(ctx, frame)
	}
	if alive {
		s.release()
		s.hand(ctx, appendComplete(frame[:0]))
	}
}

func (s *stream) hand(ctx context.Context, frame []byte) bool {
	select {
	case s.frames <- frame:
	case <-ctx.Done():
		return false
	}
	select {
	case <-s.written:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *stream) writeAll(ctx context.Context) (completed bool) {
	var expired <-chan time.Time
	if at := s.t.cfg.Expires(ctx); !at.IsZero() {
		timer := time.NewTimer(at.Sub(s.t.cfg.Clock.Now()))
		defer timer.Stop()
		expired = timer.C
	}
	silence := time.NewTicker(s.t.cfg.KeepAlive)
	defer silence.Stop()
	for {
		select {
		case frame, ok := <-s.frames:
			if !ok {
				return ctx.Err() == nil
			}
			if s.write(frame) != nil {
				return false
			}
			s.t.cfg.Metrics.Sent(len(frame))
			silence.Reset(s.t.cfg.KeepAlive)
			select {
			case s.written <- struct{}{}:
			case <-ctx.Done():
				return false
			}
		case <-silence.C:
			if s.write([]byte(":\n\n")) != nil {
				return false
			}
		case <-expired:
			last := appendFailure(nil, operation.Errors(feed.CodeUnauthenticated, "token expired"))
			s.cancel()
			s.release()
			return s.write(appendComplete(last)) == nil
		case <-s.quit:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// write writes and flushes with a deadline.
func (s *stream) write(text []byte) error {
	deadline := time.Now().Add(s.t.cfg.WriteTimeout) //nolint:forbidigo // the kernel knows no other clock
	err := s.control.SetWriteDeadline(deadline)
	if err == nil {
		_, err = s.w.Write(text)
	}
	if err == nil {
		err = s.control.Flush()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.t.cfg.Metrics.Slow()
	}
	if err != nil {
		return fmt.Errorf("write to stream: %w", err)
	}
	return nil
}

// appendNext appends the event of one result. Line ends within the JSON, which
// only a scalar that is JSON itself can bring along, would end the event's
// line: they are mere space there.
func appendNext(b []byte, resp *graphql.Response) []byte {
	b = append(b, "event: next\ndata: "...)
	from := len(b)
	b = operation.Append(b, resp)
	for i, c := range b[from:] {
		if c == '\n' || c == '\r' {
			b[from+i] = ' '
		}
	}
	return append(b, "\n\n"...)
}

// appendFailure appends the event of an operation that never began, or broke.
func appendFailure(b []byte, errs gqlerror.List) []byte {
	b = append(b, "event: next\ndata: {\"errors\":"...)
	b = operation.AppendErrors(b, errs)
	return append(b, "}\n\n"...)
}

// appendComplete appends the last event. Without the empty data browsers would
// not tell of it.
func appendComplete(b []byte) []byte { return append(b, "event: complete\ndata: \n\n"...) }
