package config

import (
	"fmt"
	"time"
)

// minSecret is the least length of a secret in bytes, that of the hash it keys.
const minSecret = 32

// Auth says how readers prove who they are.
type Auth struct {
	Secret string // signs and checks tokens; "" for none
}

// Set reports whether tokens can be checked.
func (a *Auth) Set() bool { return a.Secret != "" }

func addAuth(s *Set, c *Auth) {
	s.Group("Who may read and write")
	s.String(&c.Secret, "auth-secret", "SECRET", "",
		"The secret that signs tokens (HS256), at least 32 bytes; \"feedgate token\" makes them. "+
			"Better in the variable: other users of the machine can see flags. "+
			"Without it, on a loopback address, the server is in development mode and believes the header X-Feedgate-User.",
		checkSecret)
}

// checkSecret never quotes the value.
func checkSecret(v string) error {
	if v != "" && len(v) < minSecret {
		return fmt.Errorf("the secret needs at least %d bytes, this one has %d", minSecret, len(v))
	}
	return nil
}

// Token is what a token is made from.
type Token struct {
	Auth Auth
	User string
	TTL  time.Duration
}

// ParseToken reads the settings of the token command.
func ParseToken(args []string, getenv func(string) string) (*Token, error) {
	c := &Token{}
	s := NewSet("token", "Print a signed token that says who reads, for the header \"Authorization: Bearer TOKEN\".", "", getenv)
	s.Group("The token")
	s.String(&c.User, "user", "ID", "", "Whose token it is: a user's id, with or without \"user:\" before it.", nil)
	s.Duration(&c.TTL, "ttl", 24*time.Hour, time.Second, 366*24*time.Hour, "How long it holds.")
	addAuth(s, &c.Auth)
	s.Outro("Example:\n  FEEDGATE_AUTH_SECRET=... feedgate token -user 45")
	rest, err := s.Parse(args)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, &UsageError{Command: "token", Text: fmt.Sprintf("%q is no flag: write -user %s.", rest[0], rest[0])}
	case c.User == "":
		return nil, &UsageError{Command: "token", Text: "Whose token? Pass -user ID."}
	case !c.Auth.Set():
		return nil, &UsageError{Command: "token", Text: "A token needs the secret that the server checks it with: set FEEDGATE_AUTH_SECRET. " +
			"In development mode no token is needed: send the header X-Feedgate-User."}
	}
	return c, nil
}
