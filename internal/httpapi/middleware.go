package httpapi

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"feedgate/feed"
)

// maxBody bounds the body of a request.
const maxBody = 1 << 20

const requestIDHeader = "X-Request-Id"

func itoa(n int) string { return strconv.Itoa(n) }

// around puts a handler behind what every request passes: a name for the
// request, a net for panics, headers that keep browsers careful, the check of
// who may ask from where, and a bound for the body.
func (s *Server) around(next http.Handler) http.Handler {
	foreign := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{id: requestID(r)}
		r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
		secure(w.Header(), x.id)
		defer s.catch(w, r)
		if s.cfg.Dev && !local(r) {
			refuse(w, http.StatusForbidden, feed.CodeForbidden, "in development mode feedgate answers only to localhost: ask at http://localhost or http://127.0.0.1")
			return
		}
		if err := foreign.Check(r); err != nil {
			refuse(w, http.StatusForbidden, feed.CodeForbidden, "a page of another site may not write here")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// catch answers for a handler that panicked.
func (s *Server) catch(w http.ResponseWriter, r *http.Request) {
	if v := recover(); v != nil {
		s.refuseError(w, r, http.StatusInternalServerError, recovered(r.Context(), v))
	}
}

// requestID takes the name that a proxy gave the request, or makes one.
func requestID(r *http.Request) string {
	given := r.Header.Get(requestIDHeader)
	if given == "" || len(given) > 64 {
		return rand.Text()
	}
	for i := range len(given) {
		c := given[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_' && c != '.' {
			return rand.Text()
		}
	}
	return given
}

func secure(h http.Header, id string) {
	h[requestIDHeader] = []string{id}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["X-Frame-Options"] = []string{"DENY"}
	h["Referrer-Policy"] = []string{"no-referrer"}
	h["Cross-Origin-Resource-Policy"] = []string{"same-origin"}
	h["Content-Security-Policy"] = []string{"default-src 'none'; frame-ancestors 'none'"}
	h["Cache-Control"] = []string{"no-store"}
}

// local reports whether a request was addressed to this machine by a name that
// no other site can take, and does not come from another site's page: a page
// whose name was made to lead here (DNS rebinding) is told apart by that name.
func local(r *http.Request) bool {
	if !loopback(r.Host) {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && loopback(u.Host)
}

func loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
