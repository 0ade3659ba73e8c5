package httpapi

import (
	"net/http"
	"strings"

	"feedgate/feed"
)

// userHeader names the reader in development mode.
const userHeader = "X-Feedgate-User"

// authenticate finds out who reads: 0 for nobody. UNAUTHENTICATED when the
// request claims to be somebody and does not prove it.
func (s *Server) authenticate(r *http.Request) (feed.ID, error) {
	user := r.Header.Get(userHeader)
	authorization := r.Header.Get("Authorization")
	switch {
	case authorization != "":
		return s.verify(authorization)
	case user == "":
		return 0, nil
	case !s.cfg.Dev:
		return 0, feed.Unauthenticated("the header " + userHeader + " is for development mode: send a token")
	}
	id, err := feed.ParseID(strings.TrimPrefix(user, string(feed.NodeUser)+":"))
	if err != nil {
		return 0, feed.Unauthenticated("the header " + userHeader + " takes a user's number, as in 45")
	}
	return id, nil
}

func (s *Server) verify(authorization string) (feed.ID, error) {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return 0, feed.Unauthenticated("send the token as in Authorization: Bearer TOKEN")
	}
	if s.cfg.Tokens == nil {
		return 0, feed.Unauthenticated("tokens are not set up here: set FEEDGATE_AUTH_SECRET")
	}
	return s.cfg.Tokens.Verify(strings.TrimSpace(token))
}
