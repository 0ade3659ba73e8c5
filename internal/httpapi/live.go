package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"feedgate/feed"
	"feedgate/internal/socket"
	"feedgate/internal/sse"
)

// Sockets are the bounds of sockets and streams. Zeros take the defaults.
type Sockets struct {
	Most         int           // open at a time. 0: 50,000
	Operations   int           // that run on one socket. 0: 20
	Burst        int           // of operations that one socket begins at once. 0: 100
	Rate         int           // of operations that it begins a second, from then on. 0: 20
	OfReader     int           // sockets and streams of one reader. 0: 50
	Subscribed   int           // subscriptions of one reader, on all of them. 0: 100
	PingInterval time.Duration // a client that answers nothing is cut within two. 0: 25 s
	DrainSpread  time.Duration // over which a drain spreads their ends. 0: 5 s
}

// The defaults of those that no transport has.
const (
	defaultOfReader   = 50
	defaultSubscribed = 100
)

// connections are the transports of what lasts longer than a request.
type connections struct {
	sockets *socket.Transport
	streams *sse.Transport
}

// connect makes the transports for sockets and streams.
func (s *Server) connect() connections {
	c := s.cfg.Sockets
	places := newSeats(cmp.Or(c.OfReader, defaultOfReader))
	reserve := func(ctx context.Context) (func(), error) {
		return places.take(exchangeOf(ctx).reader, "you have too many sockets and streams open: close one")
	}
	return connections{
		sockets: socket.New(socket.Config{
			Clock: s.cfg.Clock, Log: s.cfg.Log, Auth: s.greet, Allow: s.mayConnect, Reserve: reserve, Begin: begin,
			Metrics: s.cfg.Metrics.sockets, MaxSockets: c.Most, MaxOperations: c.Operations,
			OperationBurst: c.Burst, OperationRate: c.Rate, PingInterval: c.PingInterval,
			QueryTimeout: s.cfg.Timeout, DrainSpread: c.DrainSpread,
		}),
		streams: sse.New(sse.Config{
			Clock: s.cfg.Clock, Log: s.cfg.Log, Read: read, Reserve: reserve,
			Expires: func(ctx context.Context) time.Time { return exchangeOf(ctx).until },
			Metrics: s.cfg.Metrics.streams, MaxStreams: c.Most, QueryTimeout: s.cfg.Timeout, DrainSpread: c.DrainSpread,
		}),
	}
}

// serve serves a request that is to last. False: it is none.
func (c connections) serve(s *Server, w http.ResponseWriter, r *http.Request) bool {
	switch {
	case c.sockets.Supports(r):
		c.sockets.Do(w, r, s.exec)
	case c.streams.Supports(r):
		c.streams.Do(w, r, s.exec)
	default:
		return false
	}
	return true
}

// lasts reports whether a request is for a socket or a stream.
func (c connections) lasts(r *http.Request) bool {
	return c.sockets.Supports(r) || c.streams.Supports(r)
}

// Drain ends all sockets and streams, spread over a while so that their clients
// do not all come back at once, and refuses new ones. When ctx ends first the
// rest is cut off, and the error says so.
func (s *Server) Drain(ctx context.Context) error {
	var wg sync.WaitGroup
	var errs [2]error
	wg.Go(func() { errs[0] = s.live.sockets.Drain(ctx) })
	wg.Go(func() { errs[1] = s.live.streams.Drain(ctx) })
	wg.Wait()
	return errors.Join(errs[:]...)
}

// mayConnect reports whether a request may become a socket. Browsers open
// sockets from pages of any site, and tell which: only this server's own may.
func (s *Server) mayConnect(r *http.Request) bool {
	if s.cfg.Dev {
		return local(r)
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true // no browser
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// introduction is the payload of connection_init. One of the three says who
// reads; without any it is who the request's headers say.
type introduction struct {
	Authorization string          `json:"authorization"` // "Bearer TOKEN"
	Token         string          `json:"token"`
	User          json.RawMessage `json:"user"` // development mode
}

// greet finds out who a socket reads for.
func (s *Server) greet(ctx context.Context, payload json.RawMessage) (context.Context, time.Time, error) {
	x := exchangeOf(ctx)
	who := identity{x.reader, x.until}
	if payload != nil {
		var in introduction
		err := json.Unmarshal(payload, &in)
		if err != nil {
			return nil, time.Time{}, feed.BadInput("", `the payload of connection_init is read as {"authorization": "Bearer TOKEN"} or {"token": "TOKEN"}`)
		}
		if who, err = s.introduced(in, who); err != nil {
			return nil, time.Time{}, err
		}
	}
	mine := &exchange{id: x.id, reader: who.reader, until: who.until}
	return context.WithValue(ctx, exchangeKey{}, mine), who.until, nil
}

func (s *Server) introduced(in introduction, otherwise identity) (identity, error) {
	user := string(bytes.Trim(in.User, `"`))
	switch {
	case in.Authorization != "":
		return s.verify(in.Authorization)
	case in.Token != "":
		return s.check(in.Token)
	case user != "" && user != "null":
		return s.claimed(user)
	default:
		return otherwise, nil
	}
}

// begin makes the context of one operation of a socket: what went wrong in
// another one does not keep its errors from the log.
func begin(ctx context.Context) context.Context {
	x := exchangeOf(ctx)
	return context.WithValue(ctx, exchangeKey{}, &exchange{id: x.id, reader: x.reader, until: x.until})
}
