package config

import "fmt"

// Watch is what the watch command looks at.
type Watch struct {
	Auth  Auth
	User  string
	URL   string
	Token string
}

// ParseWatch reads the settings of the watch command.
func ParseWatch(args []string, getenv func(string) string) (*Watch, error) {
	c := &Watch{}
	s := NewSet("watch", "Print somebody's red dots and notices as they come. Ctrl-C ends it.", "", getenv)
	s.Group("What to watch")
	s.String(&c.User, "user", "ID", "", "Who reads: a user's id, with or without \"user:\" before it.", nil)
	s.String(&c.URL, "url", "URL", "http://127.0.0.1:8080", "The gateway.", nonEmpty)
	s.String(&c.Token, "token", "TOKEN", "",
		"A token that says who reads, where the server is not in development mode. Better in the variable: other users of the machine can see flags.", nil)
	addAuth(s, &c.Auth)
	s.Outro("Examples:\n  feedgate watch -user 45\n  FEEDGATE_TOKEN=... feedgate watch -url https://feed.example\n  FEEDGATE_AUTH_SECRET=... feedgate watch -user 45     makes its own tokens")
	rest, err := s.Parse(args)
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, &UsageError{Command: "watch", Text: fmt.Sprintf("%q is no flag: write -user %s.", rest[0], rest[0])}
	case c.User == "" && c.Token == "":
		return nil, &UsageError{Command: "watch", Text: "Whose red dots? Pass -user ID, or -token TOKEN."}
	}
	return c, nil
}
