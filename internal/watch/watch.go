// Package watch is a tiny reader for people: it subscribes to somebody's red
// dot and notices over WebSocket, prints them line by line, and comes back by
// itself when the connection is lost.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"feedgate/feed"
)

// Config is what a Watcher is made of. All but Colour is needed.
type Config struct {
	// URL is the gateway's, see [Endpoint].
	URL string
	// Introduce gives the payload of connection_init. It is asked at each connection.
	Introduce func() (map[string]string, error)
	// Renews tells that Introduce gives a fresh proof each time, so that an
	// expired one is no reason to stop.
	Renews bool
	Clock  feed.Clock
	Out    io.Writer
	Colour bool // Out is a terminal
	// FirstPause is the time before the first try to come back; it doubles with
	// each that fails, up to sixty-fold.
	FirstPause time.Duration
}

const (
	protocol   = "graphql-transport-ws"
	pingEvery  = 20 * time.Second
	deaf       = 3 * pingEvery    // a gateway that sends nothing for so long is gone
	writeLimit = 10 * time.Second // for one message
	longest    = 60               // how many times as long as the first a pause gets
	maxMessage = 1 << 20
)

// Endpoint makes the address of a socket of what a person gives: a whole URL
// with http, https, ws or wss, or only a host and a port.
func Endpoint(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "", errors.New("this is no URL such as http://127.0.0.1:8080")
	}
	switch u.Scheme {
	case "http", "ws":
		u.Scheme = "ws"
	case "https", "wss":
		u.Scheme = "wss"
	default:
		return "", fmt.Errorf("the scheme %q is none of http, https, ws, wss", u.Scheme)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/graphql"
	}
	return u.String(), nil
}

// RefusedError says that a gateway does not want this reader: to come back would
// not help.
type RefusedError struct{ Text string }

// Error gives the gateway's words.
func (e *RefusedError) Error() string { return "the gateway refuses: " + e.Text }

// Watcher prints what is new for one reader.
type Watcher struct {
	cfg   Config
	paper paper
}

// New makes a Watcher.
func New(cfg Config) *Watcher {
	return &Watcher{cfg: cfg, paper: paper{to: cfg.Out, clock: cfg.Clock, colour: cfg.Colour}}
}

// Run watches until ctx ends, and then returns nil. Its error is a
// [*RefusedError], or that of writing.
func (w *Watcher) Run(ctx context.Context) error {
	for failures := 0; ; failures++ {
		served, err := w.connect(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the connection ended because ctx did
		}
		_, refused := errors.AsType[*RefusedError](err)
		if w.paper.err != nil || refused && (!served || !w.cfg.Renews) {
			return errors.Join(err, w.paper.err)
		}
		if served {
			failures = 0
		}
		pause := w.pause(failures)
		w.paper.note(fmt.Sprintf("%v; trying again in %v", err, pause.Round(100*time.Millisecond)))
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

// pause is half fixed and half chance, so that watchers do not come back all
// at once.
func (w *Watcher) pause(failures int) time.Duration {
	d := w.cfg.FirstPause * time.Duration(min(1<<min(failures, 10), longest))
	return d/2 + rand.N(d/2+1) //nolint:gosec // nobody gains by guessing it
}

// connect watches over one connection until it ends. It reports whether the
// gateway showed anything on it.
func (w *Watcher) connect(ctx context.Context) (served bool, err error) {
	introduction, err := w.cfg.Introduce()
	if err != nil {
		return false, &RefusedError{Text: err.Error()}
	}
	dialer := websocket.Dialer{Subprotocols: []string{protocol}, HandshakeTimeout: writeLimit}
	ws, resp, err := dialer.DialContext(ctx, w.cfg.URL, nil)
	if err != nil {
		if resp != nil {
			err = fmt.Errorf("the gateway answers %s", resp.Status)
			_ = resp.Body.Close()
		}
		return false, fmt.Errorf("connecting: %w", err)
	}
	s := &session{Watcher: w, ws: ws}
	ended := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.keepAlive(ctx, ended)
	}()
	err = s.run(introduction)
	close(ended)
	<-stopped
	_ = ws.Close() // what closing a lost connection says is no news
	return s.served, err
}
