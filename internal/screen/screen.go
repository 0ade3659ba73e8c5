// Package screen writes what somebody sees who has just started feedgate:
// where to look, whom to be, and one query to paste.
package screen

import (
	"fmt"
	"io"
	"strings"

	"feedgate/feed"
)

// query is short enough to be read, and shows posts, people and counters.
const query = "{ followFeed(first: 5) { nodes { id text publishedAt likeCount author { handle } } } }"

// Screen is what there is to say.
type Screen struct {
	Version     string
	Addr        string     // HOST:PORT
	Reader      *feed.User // somebody to be; nil for nobody
	LastReader  feed.ID    // ids from the reader's up to it are people as well
	Workers     bool       // the workers alone: no queries
	Development bool
}

// Print writes the screen.
func (s *Screen) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "feedgate %s is listening on %s\n", s.Version, s.Addr)
	if s.Workers {
		fmt.Fprintf(&b, "\n  the workers alone; metrics at http://%s/metrics\n", s.Addr)
	} else {
		as := ""
		if s.Development && s.Reader != nil {
			as = "?reader=" + s.Reader.ID.String()
		}
		fmt.Fprintf(&b, "\n  playground   http://%s/playground%s\n  queries      http://%s/graphql\n", s.Addr, as, s.Addr)
	}
	if s.Development && !s.Workers {
		s.develop(&b)
	}
	b.WriteString("\nCtrl-C stops in order; the data stays.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Screen) develop(b *strings.Builder) {
	if s.Reader == nil {
		b.WriteString("\nNobody of the sample world is here: read as somebody whom you imported, or make a person with createUser.\n")
	} else {
		fmt.Fprintf(b, "  be           %s: send the header X-Feedgate-User: %d  (others: %d to %d)\n",
			s.Reader.Handle, s.Reader.ID, s.Reader.ID+1, s.LastReader)
		fmt.Fprintf(b, "\nPaste this query:\n\n  %s\n\nor from a shell:\n\n", query)
		fmt.Fprintf(b, "  curl -s http://%s/graphql -H 'Content-Type: application/json' \\\n    -H 'X-Feedgate-User: %d' \\\n    -d '{\"query\":\"%s\"}'\n",
			s.Addr, s.Reader.ID, query)
	}
	b.WriteString("\nDevelopment mode: whoever reaches this address may read and write as anybody.\nSet FEEDGATE_AUTH_SECRET to ask for tokens.\n")
}
