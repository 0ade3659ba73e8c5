// Package embedded runs an in-process Redis for those who have no other. It
// speaks Redis' protocol on a loopback port behind a random password, keeps
// nothing on disk, and is bounded by a byte budget: it only ever holds what can
// be made again from the record.
package embedded

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"feedgate/feed"
)

// Server is a running in-process Redis.
type Server struct {
	addr     string
	password string
	clock    feed.Clock
	log      *slog.Logger
	budget   int64
	client   *goredis.Client // for what can only be asked as a command

	written  atomic.Int64 // bytes of commands since the last measurement
	measured atomic.Int64 // bytes held, when last measured
	evicted  atomic.Int64 // keys
	flushed  atomic.Int64 // times
	names    distinct     // of keys, since the process behind addr is this one

	mu       sync.Mutex // guards what follows, and serializes ticks
	redis    *miniredis.Miniredis
	started  bool      // redis listens; if not, the next tick tries again
	advanced time.Time // how far expiry has come
	pause    time.Duration

	stop chan struct{}
	done chan struct{}
	once sync.Once
}

// tick is how often the server's clock moves.
const tick = time.Second

// Expiry looks at each key. Where that takes long, it comes less often: at most
// 1/expiryShare of the time is spent on it, and it is at most maxPause late.
const (
	expiryShare = 20
	maxPause    = 10 * time.Second
)

// Open starts a server. Its time is that of clock, read once a second. Above
// budget bytes (about; 0 for no bound) it drops what is kept under an expiry,
// and if that is not enough, everything.
func Open(ctx context.Context, clock feed.Clock, log *slog.Logger, budget int64) (*Server, error) {
	s := &Server{
		addr:     "127.0.0.1:0",
		password: rand.Text(),
		clock:    clock,
		log:      log,
		budget:   budget,
		stop:     make(chan struct{}),
		done:     make(chan struct{}),
	}
	if err := s.start(); err != nil {
		return nil, err
	}
	s.addr = s.redis.Addr()
	s.client = goredis.NewClient(&goredis.Options{
		Addr: s.addr, Password: s.password, Protocol: 2, PoolSize: 1, PipelinePoolSize: -1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	go s.run(context.WithoutCancel(ctx))
	return s, nil
}

// start makes an empty Redis that listens on addr.
func (s *Server) start() error {
	s.redis = miniredis.NewMiniRedis()
	s.advanced = s.clock.Now()
	s.redis.SetTime(s.advanced)
	s.redis.RequireAuth(s.password)
	if err := s.redis.StartAddr(s.addr); err != nil {
		return fmt.Errorf("embedded redis: %w", err)
	}
	s.started = true
	s.redis.Server().SetPreHook(func(_ *server.Peer, cmd string, args ...string) bool {
		s.count(cmd, args)
		return false
	})
	return nil
}

// URL is what a client connects to.
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", User: url.UserPassword("", s.password), Host: s.addr}
	return u.String()
}

// Evicted tells how many keys were dropped and how often everything was
// dropped, for want of room.
func (s *Server) Evicted() (keys, flushes int64) { return s.evicted.Load(), s.flushed.Load() }

// Size tells how many bytes were held when last measured, about.
func (s *Server) Size() int64 { return s.measured.Load() }

// Close stops the server. It may be called more than once.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.stop)
		<-s.done
		_ = s.client.Close() // nothing is lost with it
		s.redis.Close()
	})
}

func (s *Server) run(ctx context.Context) {
	defer close(s.done)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.Tick(ctx)
		}
	}
}

// Tick moves the server's time to the clock's now and keeps it within its
// budget. It happens by itself once a second.
func (s *Server) Tick(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		s.restart(ctx)
		return
	}
	now := s.clock.Now()
	s.redis.SetTime(now)
	switch passed := now.Sub(s.advanced); {
	case passed < 0:
		s.advanced = now
	case passed > 0 && passed >= s.pause:
		s.redis.FastForward(passed)
		s.advanced = now
		s.pause = min(expiryShare*s.clock.Now().Sub(now), maxPause)
	}
	s.keepBudget(ctx)
}

// restart puts an empty Redis in the place of this one. Connections break.
func (s *Server) restart(ctx context.Context) {
	s.redis.Close()
	s.started = false
	s.names.reset()
	s.written.Store(0)
	s.measured.Store(0)
	if err := s.start(); err != nil {
		s.log.ErrorContext(ctx, "in-process redis does not start again, it is tried once a second", slog.Any("error", err))
	}
}
