package mongo_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"feedgate/feed"
	"feedgate/store/mongo"
)

// liked is that somebody liked b's post.
func liked(id, actor feed.ID) feed.NoticeEdge {
	return feed.NoticeEdge{ID: id, To: b, Kind: feed.NoticeLiked, Subject: post, Actor: actor, At: int64(actor)}
}

func unlike(ctx context.Context, r *mongo.Record, actor feed.ID) (bool, error) {
	return r.RemoveNotice(ctx, b, feed.NoticeLiked, post, actor)
}

// actorsOf gives the actors of b's only notice, and none when there is none.
func actorsOf(t *testing.T, r *mongo.Record) []feed.ID {
	t.Helper()
	all, err := r.Notices(t.Context(), b, feed.Newest(), 10)
	if err != nil || len(all) > 1 {
		t.Fatalf("got %+v, %v, want one notice at most", all, err)
	}
	if len(all) == 0 {
		return nil
	}
	if all[0].Total != int64(len(all[0].Actors)) {
		t.Errorf("got a total of %d for actors %v", all[0].Total, all[0].Actors)
	}
	return all[0].Actors
}

// TestACrashLeavesANoticeRight has the process die before its nth command, for
// each n. The change was made then or it was not, the next one goes on from
// there, and to try again is safe.
func TestACrashLeavesANoticeRight(t *testing.T) {
	t.Parallel()
	need(t)
	for name, test := range map[string]struct {
		before, after []feed.ID // the actors, newest first
		actor         feed.ID
		remove        bool
	}{
		"the first comes":     {nil, []feed.ID{30}, 30, false},
		"another comes":       {[]feed.ID{31, 30}, []feed.ID{32, 31, 30}, 32, false},
		"one of several goes": {[]feed.ID{31, 30}, []feed.ID{31}, 30, true},
		"the last goes":       {[]feed.ID{30}, nil, 30, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			died := true
			for n := int64(1); died; n++ {
				if n > 10 {
					t.Fatal("the change takes more than 10 commands")
				}
				died = noticeCrash(t, n, test.before, test.after, func(ctx context.Context, r *mongo.Record) (bool, error) {
					if test.remove {
						return unlike(ctx, r, test.actor)
					}
					_, added, err := r.AddNotice(ctx, liked(100, test.actor))
					return added, err
				})
			}
		})
	}
}

// noticeCrash lets a change die before its nth command, and tells whether it did.
func noticeCrash(t *testing.T, n int64, before, after []feed.ID, change func(context.Context, *mongo.Record) (bool, error)) bool {
	t.Helper()
	ctx, die := context.WithCancel(t.Context())
	defer die()
	var armed atomic.Bool
	var commands atomic.Int64
	r := open(t, fresh(t), mongo.WithHook(func(string) {
		if armed.Load() && commands.Add(1) == n {
			die()
		}
	}))
	for i, actor := range slices.Backward(before) {
		if _, added, err := r.AddNotice(t.Context(), liked(feed.ID(90-i), actor)); err != nil || !added {
			t.Fatalf("got %v, %v, want it added", added, err)
		}
	}
	armed.Store(true)
	_, err := change(ctx, r)
	armed.Store(false)
	died := ctx.Err() != nil
	if !died && err != nil {
		t.Fatalf("command %d: %v", n, err)
	}
	made := slices.Equal(actorsOf(t, r), after)
	if !made && !slices.Equal(actorsOf(t, r), before) {
		t.Fatalf("command %d: got actors %v, want %v or %v", n, actorsOf(t, r), before, after)
	}
	if err == nil && !made {
		t.Fatalf("command %d: got actors %v after it succeeded, want %v", n, actorsOf(t, r), after)
	}
	// Others come and go, and whoever tries again finds what was made.
	for _, step := range []func() (bool, error){
		func() (bool, error) { _, added, err := r.AddNotice(t.Context(), liked(101, 5)); return added, err },
		func() (bool, error) { again, err := change(t.Context(), r); return again != made, err },
		func() (bool, error) { again, err := change(t.Context(), r); return !again, err },
		func() (bool, error) { return unlike(t.Context(), r, 5) },
	} {
		if ok, err := step(); err != nil || !ok {
			t.Fatalf("command %d: got %v, %v, want it to go on as if nothing had happened", n, ok, err)
		}
	}
	if got := actorsOf(t, r); !slices.Equal(got, after) {
		t.Fatalf("command %d: got actors %v in the end, want %v", n, got, after)
	}
	return died
}

func TestProcessesChangeANoticeAtOnce(t *testing.T) {
	t.Parallel()
	need(t)
	database := fresh(t)
	var ids atomic.Int64
	var all sync.WaitGroup
	const processes, rounds = 5, 8
	for i := range processes {
		r := open(t, database)
		all.Go(func() {
			actor := feed.ID(10 + i)
			for round := range rounds + i%2 { // who has an odd number stays
				var changed bool
				var err error
				if round%2 == 0 {
					_, changed, err = r.AddNotice(t.Context(), liked(feed.ID(ids.Add(1)), actor))
				} else {
					changed, err = unlike(t.Context(), r, actor)
				}
				if err != nil || !changed {
					t.Errorf("actor %d, round %d: got %v, %v, want a change", actor, round, changed, err)
					return
				}
			}
		})
	}
	all.Wait()
	if got, want := actorsOf(t, open(t, database)), []feed.ID{13, 11}; !slices.Equal(got, want) {
		t.Errorf("got actors %v, want %v", got, want)
	}
}

func TestANoticeTakesFewCommands(t *testing.T) {
	t.Parallel()
	need(t)
	var commands atomic.Int64
	r := open(t, fresh(t), mongo.WithHook(func(string) { commands.Add(1) }))
	for i, most := range []int64{2, 3, 3} {
		before := commands.Load()
		if _, added, err := r.AddNotice(t.Context(), liked(feed.ID(90+i), feed.ID(30+i))); err != nil || !added {
			t.Fatalf("got %v, %v, want it added", added, err)
		}
		if n := commands.Load() - before; n > most {
			t.Errorf("actor %d took %d commands, want at most %d", i, n, most)
		}
	}
	for i, most := range []int64{3, 3, 3} {
		before := commands.Load()
		if removed, err := unlike(t.Context(), r, feed.ID(30+i)); err != nil || !removed {
			t.Fatalf("got %v, %v, want it removed", removed, err)
		}
		if n := commands.Load() - before; n > most {
			t.Errorf("taking out actor %d took %d commands, want at most %d", i, n, most)
		}
	}
}

func TestAnIDOfAnotherNoticeIsRefused(t *testing.T) {
	t.Parallel()
	need(t)
	r := open(t, fresh(t))
	if _, _, err := r.AddNotice(t.Context(), liked(90, 30)); err != nil {
		t.Fatal(err)
	}
	e := liked(90, 31)
	e.Subject = 11
	if _, added, err := r.AddNotice(t.Context(), e); feed.CodeOf(err) != feed.CodeConflict || added {
		t.Errorf("got %v, %v, want CONFLICT", added, err)
	}
}
