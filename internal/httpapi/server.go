// Package httpapi is feedgate's edge: GraphQL over HTTP, the playground,
// health, metrics, and what stands between them and the world.
package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"

	"feedgate/feed"
	"feedgate/feed/live"
	"feedgate/graph"
	"feedgate/graph/plan"
	"feedgate/internal/auth"
	"feedgate/loaders"
	"feedgate/resolvers"
)

// Config is what a Server is made of.
type Config struct {
	Service *feed.Service
	Clock   feed.Clock
	Log     *slog.Logger
	Metrics *Metrics
	// Tokens checks tokens; nil: none is accepted.
	Tokens *auth.Tokens
	// Hub keeps the red dots of connected readers; nil: nothing can be subscribed to.
	Hub *live.Hub
	// Sockets bounds what lasts longer than a request.
	Sockets Sockets
	// Dev is development mode: the header X-Feedgate-User is believed, people
	// can be made without a token, introspection and suggestions are on, and only
	// loopback names are answered to.
	Dev bool
	// Timeout bounds a request. 0: 10 s.
	Timeout time.Duration
	// Ready are the stores that /readyz asks, by the name that it shows.
	Ready map[string]func(context.Context) error
	// ViaGqlgen leaves every object to gqlgen's own executor, for comparison.
	ViaGqlgen bool
}

const defaultTimeout = 10 * time.Second

// Server answers HTTP.
type Server struct {
	cfg     Config
	exec    *executor.Executor
	over    graphql.Transport
	live    connections
	lately  recent // what was logged of subscriptions
	queries *queryCache
	handler http.Handler
}

// New makes a Server.
func New(cfg Config) *Server {
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	s := &Server{cfg: cfg}
	s.queries = newQueryCache(cachedQueries, cachedBytes)
	s.exec = s.executor()
	s.live = s.connect()
	s.over = newTransport(cfg.Metrics, cfg.Clock)
	s.handler = s.around(s.routes())
	return s
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (s *Server) routes() http.Handler {
	page := newPlayground()
	mux := http.NewServeMux()
	mux.HandleFunc("/graphql", s.serveGraphQL)
	mux.HandleFunc("GET /playground", page.serve)
	mux.Handle("GET /{$}", http.RedirectHandler("/playground", http.StatusFound))
	mux.HandleFunc("GET /healthz", s.serveHealth)
	mux.HandleFunc("GET /readyz", s.serveReady)
	mux.Handle("GET /metrics", s.cfg.Metrics.handler())
	return mux
}

// executor makes what carries out operations, with its limits. It is used
// without gqlgen's handler package, which would bring transports along that
// feedgate has no use for.
func (s *Server) executor() *executor.Executor {
	plans := &plan.Cache{}
	root := &resolvers.Root{
		Service: s.cfg.Service, Clock: s.cfg.Clock, Log: s.cfg.Log, Plans: plans,
		Hub: s.cfg.Hub, Cards: loaders.NewCards(s.cfg.Service.Card), Open: s.cfg.Dev,
	}
	schema := graph.NewExecutableSchema(graph.Config{Resolvers: root})
	exec := executor.New(schema)
	exec.SetQueryCache(s.queries)
	exec.SetParserTokenLimit(maxTokens)
	exec.SetDisableSuggestion(!s.cfg.Dev)
	exec.SetErrorPresenter(s.present)
	exec.SetRecoverFunc(recovered)
	exec.Use(limits{queries: s.queries, introspection: s.cfg.Dev})
	exec.Use(session{
		service: s.cfg.Service, observe: s.cfg.Metrics.batch, present: s.present,
		subscribed: newSeats(cmp.Or(s.cfg.Sockets.Subscribed, defaultSubscribed)),
	})
	if !s.cfg.ViaGqlgen {
		exec.Use(&plan.Writer{Plans: plans, NewestPost: root.ShowNewest})
	}
	return exec
}

// serveGraphQL finds out who reads and hands the request to gqlgen.
func (s *Server) serveGraphQL(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost && r.Method != http.MethodGet && !s.live.lasts(r) {
		w.Header().Set("Allow", "GET, POST")
		refuse(w, http.StatusMethodNotAllowed, feed.CodeBadInput, "send queries by POST or GET, and mutations by POST")
		return
	}
	who, err := s.authenticate(r)
	if err != nil {
		w.Header().Set("WWW-Authenticate", "Bearer")
		s.refuseError(w, r, http.StatusUnauthorized, err)
		return
	}
	x := exchangeOf(r.Context())
	x.reader, x.until = who.reader, who.until
	if s.live.serve(s, w, r) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.Timeout)
	defer cancel()
	s.over.Do(w, r.WithContext(graphql.StartOperationTrace(ctx)), s.exec)
}
