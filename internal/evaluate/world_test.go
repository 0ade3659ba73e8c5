package evaluate

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"feedgate/feed"
	"feedgate/feed/recommend"
	"feedgate/internal/config"
	"feedgate/store/embedded"
	"feedgate/store/redis"
	"feedgate/store/sqlite"
)

// machine is the clock of this machine.
type machine struct{}

func (machine) Now() time.Time { return time.Now() }

// stores opens an empty record and empty hot data that end with the test.
func stores(t *testing.T) (*sqlite.Record, *redis.Hot) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	rec, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "feedgate.db"), log)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := embedded.Open(t.Context(), machine{}, log, 0)
	if err != nil {
		t.Fatal(err)
	}
	hot, err := redis.Open(t.Context(), redis.Config{URL: inside.URL(), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hot.Close(); err != nil {
			t.Error(err)
		}
		inside.Close()
		if err := rec.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return rec, hot
}

func TestNothingOfWhatIsHiddenReachesRecordOrBoards(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bundle.ndjson")
	if err := os.WriteFile(path, []byte(world(20, 20, 10, 5)), 0o600); err != nil {
		t.Fatal(err)
	}
	b := read(t, world(20, 20, 10, 5))
	split := NewSplit(b, 3)
	rec, hot := stores(t)
	set := recommend.DefaultSettings()
	clock := fixedClock(b.Newest)
	w := &World{Record: rec, Learn: func(ctx context.Context, set recommend.Settings, users func(int)) error {
		return recommend.NewLearner(recommend.LearnerConfig{
			Hot: hot, Record: rec, Generation: func() int64 { return 1 }, Clock: clock, Settings: set,
			Hooks: recommend.LearnerHooks{Learned: users},
		}).LearnAll(ctx)
	}}
	r := &run{Config: Config{Settings: &config.Evaluate{Likes: path, Recommend: set}, Clock: machine{}, Notes: io.Discard}}
	if err := r.learn(t.Context(), w, split, clock); err != nil {
		t.Fatal(err)
	}
	told := make(map[feed.ID]map[feed.ID]bool) // likes that were not hidden, by post and person
	for user, posts := range b.Likes {
		for _, post := range posts {
			if told[post] == nil {
				told[post] = make(map[feed.ID]bool)
			}
			if _, hidden := split.Hidden[pair{user, post}]; !hidden {
				told[post][user] = true
			}
		}
	}
	state := &feed.ReadLearning{}
	if err := hot.Do(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	trending := &feed.ReadBoard{Board: feed.Board{Kind: feed.BoardTrending, Epoch: state.Learning.Serving}, Limit: 100}
	similar := make(map[feed.ID]*feed.ReadBoard)
	all := []feed.Op{trending}
	for post := range told {
		similar[post] = &feed.ReadBoard{Board: feed.Board{Kind: feed.BoardSimilar, Epoch: state.Learning.Serving, Post: post}, Limit: 100}
		all = append(all, similar[post])
	}
	if err := hot.Do(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	popular := make(map[feed.ID]float64)
	for _, x := range trending.Ranked {
		popular[x.Post] = x.Score
	}
	for post, users := range told {
		if want := float64(len(users)); popular[post] != want {
			t.Errorf("%d counts %v on the trending board, want %v", post, popular[post], want)
		}
		got, want := make(map[feed.ID]float64), make(map[feed.ID]float64)
		for _, x := range similar[post].Ranked {
			got[x.Post] = math.Round(x.Score) // a fraction of it is for ties
		}
		for other, also := range told {
			for user := range users {
				if other != post && also[user] {
					want[other]++
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the board of %d holds %v, want %v", post, got, want)
		}
	}
	var ids []feed.ID
	for post := range told {
		ids = append(ids, post)
	}
	rows, err := rec.PostsByID(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if got, want := rows[i].Likes, int64(len(told[rows[i].ID])); got != want {
			t.Errorf("%d has %d likes on the record, want %d", rows[i].ID, got, want)
		}
	}
}
