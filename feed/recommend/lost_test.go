package recommend_test

import (
	"context"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"feedgate/feed"
	"feedgate/feed/recommend"
)

const pollOften = 10 * time.Millisecond

// drop deletes the keys of a pattern, as eviction does, and tells how many.
func (w *world) drop(pattern string) int {
	w.tb.Helper()
	opt, err := goredis.ParseURL(w.url)
	if err != nil {
		w.tb.Fatal(err)
	}
	c := goredis.NewClient(opt)
	defer func() { _ = c.Close() }()
	ctx := context.Background()
	keys, err := c.Keys(ctx, pattern).Result()
	if err == nil && len(keys) > 0 {
		err = c.Del(ctx, keys...).Err()
	}
	if err != nil {
		w.tb.Fatal(err)
	}
	return len(keys)
}

func TestBoardsThatWereLostAloneAreBuiltAnew(t *testing.T) {
	t.Parallel()
	for name, start := range backends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, recommend.DefaultSettings(), start)
			g := groups(w)
			lost := make(chan struct{}, 8)
			learner := recommend.NewLearner(recommend.LearnerConfig{
				Hot: w.hot, Record: w.record, Generation: w.svc.Generation, Clock: wallClock{}, Settings: recommend.DefaultSettings(),
				Poll: pollOften, IdlePoll: pollOften, WatchPoll: pollOften,
				Hooks: recommend.LearnerHooks{Lost: func() { lost <- struct{}{} }},
			})
			stop := running(learner.Run)
			defer stop()
			served := func(after int64) int64 {
				eventually(t, "new boards", func() bool {
					s := w.learning()
					return s.Serving > after && s.Building == 0
				})
				return w.learning().Serving
			}
			first := served(0)
			reader := w.persons(1)[0]
			trending := func() bool {
				_, why := w.page(reader, 10)
				return len(why) > 0 && why[0].Kind == feed.ReasonTrending
			}
			eventually(t, "trending posts of "+g.posts[0][0].String(), trending)
			if w.drop("board:*") == 0 {
				t.Fatal("there are no boards to lose")
			}
			<-lost
			if again := served(first); again == first {
				t.Error("the boards in use are the lost ones")
			}
			eventually(t, "trending posts again", trending)
			if len(lost) != 0 {
				t.Errorf("the loss was found %d times more", len(lost))
			}
		})
	}
}

// TestAWorldWithoutLikesIsNotLearnedAgainAndAgain: that nothing trends is no loss.
func TestAWorldWithoutLikesIsNotLearnedAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, recommend.DefaultSettings(), backends()["embedded"])
	author := w.persons(1)[0]
	w.post(author)
	looks := make(chan int64, 100)
	learner := recommend.NewLearner(recommend.LearnerConfig{
		Hot: w.hot, Record: w.record, Generation: w.svc.Generation, Clock: wallClock{}, Settings: recommend.DefaultSettings(),
		Poll: pollOften, IdlePoll: pollOften, WatchPoll: pollOften,
		Hooks: recommend.LearnerHooks{
			Serving: func(epoch int64) {
				select {
				case looks <- epoch:
				default:
				}
			},
			Lost: func() { t.Error("boards without likes count as lost") },
		},
	})
	stop := running(learner.Run)
	epochs := make(map[int64]bool)
	for range 20 {
		if epoch := <-looks; epoch != 0 {
			epochs[epoch] = true
		}
	}
	stop()
	if len(epochs) != 1 {
		t.Errorf("%d epochs served, want one", len(epochs))
	}
	p, _ := w.page(w.persons(1)[0], 10)
	if len(p) != 1 {
		t.Errorf("got %v, want the one post", p)
	}
}
