package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/encoding/protowire"

	"feedgate/feed"
)

// plain is followFeed written by hand for one query: it runs the commands that
// the gateway runs, decodes what it shows, and writes it with encoding/json.
type plain struct {
	client *redis.Client
	clock  feed.Clock
	feeds  map[string]*plainFeed
}

// plainFeed is one reader's commands.
type plainFeed struct {
	trips [][][]any
	posts []feed.ID // in the order in which they are read
	limit int
}

// The fields of stored details that the query shows; see store/redis.
const (
	postAuthor protowire.Number = 2
	postAt     protowire.Number = 3
	postText   protowire.Number = 5
	userHandle protowire.Number = 2
	statsLikes protowire.Number = 2
)

type plainAnswer struct {
	Data struct {
		FollowFeed struct {
			Nodes    []plainPost `json:"nodes"`
			PageInfo struct {
				HasNextPage bool   `json:"hasNextPage"`
				EndCursor   string `json:"endCursor"`
			} `json:"pageInfo"`
		} `json:"followFeed"`
	} `json:"data"`
}

type plainPost struct {
	ID          string `json:"id"`
	Text        string `json:"text"`
	PublishedAt string `json:"publishedAt"`
	LikeCount   int64  `json:"likeCount"`
	Author      struct {
		Handle string `json:"handle"`
	} `json:"author"`
}

// Plain serves the plain handler until ctx ends. Its arguments are the
// bench's: an address, a Redis, a file of scripts, a page size.
func Plain(ctx context.Context, args []string, clock feed.Clock) error {
	if len(args) != 4 {
		return errors.New("bench plain is started by bench itself")
	}
	scripts, err := readScripts(args[2])
	if err != nil {
		return fmt.Errorf("reading the scripts: %w", err)
	}
	first, err := strconv.Atoi(args[3])
	if err != nil {
		return fmt.Errorf("page size: %w", err)
	}
	client, err := connect(args[1], 64)
	if err != nil {
		return err
	}
	p := &plain{client: client, clock: clock, feeds: make(map[string]*plainFeed)}
	for _, s := range scripts {
		p.feeds[s.Reader.String()] = &plainFeed{trips: s.prepared(), posts: s.posts(), limit: first}
	}
	server := &http.Server{Addr: args[0], Handler: p, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		stopped <- server.Close()
	}()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", args[0])
	if err != nil {
		return errors.Join(err, client.Close())
	}
	if err = server.Serve(l); errors.Is(err, http.ErrServerClosed) {
		err = <-stopped
	}
	return errors.Join(err, client.Close())
}

// posts are the ids whose details the script reads, in order.
func (s *script) posts() []feed.ID {
	var ids []feed.ID
	for _, trip := range s.Trips {
		for _, args := range trip {
			for _, key := range args {
				if id, ok := keyed(key, "post"); ok {
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

// keyed reads the id in a key such as post:{17}.
func keyed(key, name string) (feed.ID, bool) {
	rest, ok := strings.CutPrefix(key, name+":{")
	if !ok {
		return 0, false
	}
	id, err := feed.ParseID(strings.TrimSuffix(rest, "}"))
	return id, err == nil
}

func (p *plain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusOK) // alive
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f, ok := p.feeds[r.Header.Get("X-Feedgate-User")]
	if !ok {
		http.Error(w, "no such reader", http.StatusNotFound)
		return
	}
	answer, err := p.answer(r.Context(), f)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	out, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out) // the client is gone
}

// found are the details that the commands brought.
type found struct {
	posts, users, stats map[feed.ID]string
}

func (p *plain) answer(ctx context.Context, f *plainFeed) (*plainAnswer, error) {
	details := found{posts: map[feed.ID]string{}, users: map[feed.ID]string{}, stats: map[feed.ID]string{}}
	for _, trip := range f.trips {
		cmds, err := replies(ctx, p.client, trip)
		if err != nil {
			return nil, err
		}
		for i, cmd := range cmds {
			details.take(trip[i], cmd)
		}
	}
	out := &plainAnswer{}
	page := &out.Data.FollowFeed
	page.Nodes = make([]plainPost, 0, f.limit)
	var last feed.Position
	for i, id := range f.posts {
		if i == f.limit {
			page.PageInfo.HasNextPage = true
			break
		}
		var node plainPost
		var author feed.ID
		var at int64
		eachField(details.posts[id], func(n protowire.Number, number uint64, text string) {
			switch n {
			case postAuthor:
				author = feed.ID(number) //nolint:gosec // written from an id
			case postAt:
				at = int64(number) //nolint:gosec // written from an int64
			case postText:
				node.Text = text
			default:
			}
		})
		eachField(details.users[author], func(n protowire.Number, _ uint64, text string) {
			if n == userHandle {
				node.Author.Handle = text
			}
		})
		eachField(details.stats[id], func(n protowire.Number, number uint64, _ string) {
			if n == statsLikes {
				node.LikeCount = int64(number) //nolint:gosec // written from an int64
			}
		})
		node.ID = "post:" + id.String()
		node.PublishedAt = time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000Z")
		page.Nodes = append(page.Nodes, node)
		last = feed.Position{At: at, ID: id}
	}
	page.PageInfo.EndCursor = feed.EncodeCursor(feed.CursorFollowFeed, last, p.clock.Now().UnixMilli())
	return out, nil
}

// take keeps the details among the answers of an MGET.
func (d *found) take(args []any, cmd *redis.Cmd) {
	values, ok := cmd.Val().([]any)
	if !ok || args[0] != "mget" || len(values) != len(args)-1 {
		return
	}
	for i, value := range values {
		text, ok := value.(string)
		key, isText := args[i+1].(string)
		if !ok || !isText {
			continue
		}
		if id, ok := keyed(key, "post"); ok {
			d.posts[id] = text
		} else if id, ok := keyed(key, "user"); ok {
			d.users[id] = text
		} else if id, ok := keyed(key, "stats"); ok {
			d.stats[id] = text
		}
	}
}

// eachField reads the top-level fields of a stored detail.
func eachField(value string, take func(n protowire.Number, number uint64, text string)) {
	b := []byte(value)
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return
		}
		b = b[size:]
		switch kind {
		case protowire.VarintType:
			number, size := protowire.ConsumeVarint(b)
			if size < 0 {
				return
			}
			take(n, number, "")
			b = b[size:]
		case protowire.BytesType:
			text, size := protowire.ConsumeBytes(b)
			if size < 0 {
				return
			}
			take(n, 0, string(text))
			b = b[size:]
		default:
			size := protowire.ConsumeFieldValue(n, kind, b)
			if size < 0 {
				return
			}
			b = b[size:]
		}
	}
}
