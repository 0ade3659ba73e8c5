package httpapi

import (
	"net/http"
	"strings"
	"time"

	"feedgate/feed"
)

// userHeader names the reader in development mode.
const userHeader = "X-Feedgate-User"

// identity is who reads.
type identity struct {
	reader feed.ID   // 0 for nobody
	until  time.Time // when the proof ends; the zero time is never
}

// authenticate finds out who reads by the headers of a request.
// UNAUTHENTICATED when it claims to be somebody and does not prove it.
func (s *Server) authenticate(r *http.Request) (identity, error) {
	user := r.Header.Get(userHeader)
	authorization := r.Header.Get("Authorization")
	switch {
	case authorization != "":
		return s.verify(authorization)
	case user != "":
		return s.claimed(user)
	default:
		return identity{}, nil
	}
}

// claimed believes a claim without proof, in development mode.
func (s *Server) claimed(user string) (identity, error) {
	if !s.cfg.Dev {
		return identity{}, feed.Unauthenticated("to name a user, as the header " + userHeader + " does, is for development mode: send a token")
	}
	id, err := feed.ParseID(strings.TrimPrefix(user, string(feed.NodeUser)+":"))
	if err != nil {
		return identity{}, feed.Unauthenticated("a reader is named by a user's number, as in 45")
	}
	return identity{reader: id}, nil
}

// verify reads the token of an Authorization header.
func (s *Server) verify(authorization string) (identity, error) {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return identity{}, feed.Unauthenticated("send the token as in Authorization: Bearer TOKEN")
	}
	return s.check(strings.TrimSpace(token))
}

func (s *Server) check(token string) (identity, error) {
	if s.cfg.Tokens == nil {
		return identity{}, feed.Unauthenticated("tokens are not set up here: set FEEDGATE_AUTH_SECRET")
	}
	reader, until, err := s.cfg.Tokens.Verify(token)
	return identity{reader, until}, err
}
