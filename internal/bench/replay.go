package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"strconv"

	"github.com/redis/go-redis/v9"

	"feedgate/feed"
)

// script is what one reader's query awaits of Redis: round trips of commands.
type script struct {
	Reader feed.ID      `json:"reader"`
	Trips  [][][]string `json:"trips"`
	Beside []bool       `json:"beside"` // of each trip: it began while one before it was under way
}

// record runs a query in this process and writes down what it awaits.
func (b *bench) record(ctx context.Context, reader feed.ID, payload []byte) (*script, []byte, error) {
	ctx, tr := watched(ctx)
	answer, err := b.ask(ctx, reader, payload)
	if err != nil {
		return nil, nil, err
	}
	s := &script{Reader: reader, Beside: tr.beside}
	for _, trip := range tr.redis {
		commands := make([][]string, len(trip))
		for i, args := range trip {
			for _, arg := range args {
				commands[i] = append(commands[i], argument(arg))
			}
		}
		s.Trips = append(s.Trips, commands)
	}
	return s, answer, nil
}

// ask sends a query to the gateway in this process.
func (b *bench) ask(ctx context.Context, reader feed.ID, payload []byte) ([]byte, error) {
	req, err := request(ctx, "http://127.0.0.1/graphql", reader, "", payload)
	if err != nil {
		return nil, err
	}
	req.RemoteAddr = "127.0.0.1:1"
	req.RequestURI = "/graphql"
	rec := httptest.NewRecorder()
	b.gateway.Handler.ServeHTTP(rec, req)
	if err := wellAnswered(rec.Code, rec.Body.Bytes()); err != nil {
		return nil, err
	}
	return rec.Body.Bytes(), nil
}

// argument writes an argument as it goes over the wire.
func argument(arg any) string {
	switch arg := arg.(type) {
	case string:
		return arg
	case *string:
		return *arg
	case []byte:
		return string(arg)
	case int64:
		return strconv.FormatInt(arg, 10)
	default:
		return fmt.Sprint(arg)
	}
}

// replies runs one round trip and gives the answers of its commands.
func replies(ctx context.Context, client *redis.Client, commands [][]any) ([]*redis.Cmd, error) {
	if len(commands) == 1 {
		cmd := client.Do(ctx, commands[0]...)
		return []*redis.Cmd{cmd}, broken(cmd.Err())
	}
	pipe := client.Pipeline()
	cmds := make([]*redis.Cmd, len(commands))
	for i, args := range commands {
		cmds[i] = pipe.Do(ctx, args...)
	}
	_, err := pipe.Exec(ctx)
	return cmds, broken(err)
}

// together is round trips that are under way at the same time.
type together [][][]any

// waves are a script's round trips as they followed one another, with the
// arguments as the driver takes them.
func (s *script) waves() []together {
	var waves []together
	for i, trip := range s.prepared() {
		if last := len(waves) - 1; s.Beside[i] && last >= 0 {
			waves[last] = append(waves[last], trip)
		} else {
			waves = append(waves, together{trip})
		}
	}
	return waves
}

// run awaits all of them.
func (w together) run(ctx context.Context, client *redis.Client) error {
	return spread(len(w), len(w), func(_, i int) error {
		_, err := replies(ctx, client, w[i])
		return err
	})
}

// broken leaves out that a key is not there.
func broken(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// prepared is a script with its arguments as the driver takes them.
func (s *script) prepared() [][][]any {
	trips := make([][][]any, len(s.Trips))
	for t, trip := range s.Trips {
		trips[t] = make([][]any, len(trip))
		for c, args := range trip {
			for _, arg := range args {
				trips[t][c] = append(trips[t][c], arg)
			}
		}
	}
	return trips
}

// commands counts the commands of a script.
func (s *script) commands() int {
	n := 0
	for _, trip := range s.Trips {
		n += len(trip)
	}
	return n
}

func writeScripts(path string, scripts []*script) error {
	data, err := json.Marshal(scripts)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

func readScripts(path string) ([]*script, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the bench wrote it
	if err != nil {
		return nil, err
	}
	var scripts []*script
	if err := json.Unmarshal(data, &scripts); err != nil {
		return nil, err
	}
	return scripts, nil
}

// connect opens one client as go-redis comes, without retries.
func connect(url string, pool int) (*redis.Client, error) {
	opt, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("-redis-url is no URL of a Redis")
	}
	opt.PoolSize, opt.MaxRetries, opt.Protocol = pool, -1, 2
	return redis.NewClient(opt), nil
}
