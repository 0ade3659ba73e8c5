package sample_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"

	"feedgate/feed"
	"feedgate/internal/sample"
	"feedgate/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func TestOneSeedAlwaysGivesTheSameWorld(t *testing.T) {
	t.Parallel()
	if a, b := sample.Make(7, noon()), sample.Make(7, noon()); !reflect.DeepEqual(a, b) {
		t.Error("two worlds of one seed differ")
	}
	if a, b := sample.Make(7, noon()), sample.Make(8, noon()); reflect.DeepEqual(a.Posts, b.Posts) {
		t.Error("two seeds give one world")
	}
}

func TestAWorldKeepsTheBoundsOfTheContract(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		w := sample.Make(seed, noon())
		if len(w.Users) != 50 || len(w.Posts) < 300 || len(w.Posts) > 800 || len(w.Comments) < 100 || len(w.Likes) < 500 {
			t.Errorf("seed %d: %d people, %d posts, %d comments, %d likes", seed, len(w.Users), len(w.Posts), len(w.Comments), len(w.Likes))
		}
		handles := map[string]bool{}
		for _, u := range w.Users {
			if err := feed.CheckHandle(u.Handle); err != nil || handles[u.Handle] {
				t.Errorf("seed %d: the handle %q: %v, twice: %v", seed, u.Handle, err, handles[u.Handle])
			}
			handles[u.Handle] = true
		}
		at := map[feed.ID]int64{}
		kinds := map[string]int{}
		for i := range w.Posts {
			p := &w.Posts[i]
			kinds[p.Kind]++
			at[p.ID] = p.At
			in := feed.NewPost{
				Kind: p.Kind, Text: p.Text, Media: p.Media, Link: p.Link, RepostOf: p.RepostOf,
				Topics: p.Topics, Place: p.Place, Attributes: p.Attributes,
			}
			if err := feed.CheckPost(&in); err != nil {
				t.Errorf("seed %d: post %+v: %v", seed, p, err)
			}
			if p.At >= noon().UnixMilli() || (i > 0 && p.At < w.Posts[i-1].At) {
				t.Errorf("seed %d: post %d is dated %d", seed, i, p.At)
			}
			if p.RepostOf != 0 && at[p.RepostOf] == 0 {
				t.Errorf("seed %d: post %d reposts %d, which is no earlier post", seed, i, p.RepostOf)
			}
		}
		for _, kind := range feed.NewKinds().Names() {
			if kinds[kind] < 10 {
				t.Errorf("seed %d: %d posts of the kind %q", seed, kinds[kind], kind)
			}
		}
	}
}

func TestAWorldGoesOntoTheRecordAndARepeatChangesNothing(t *testing.T) {
	t.Parallel()
	record, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "feedgate.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := record.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w := sample.Make(1, noon())
	for range 2 {
		if err := w.Write(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		likes := map[feed.ID]int64{}
		for _, l := range w.Likes {
			likes[l.Post]++
		}
		rows, err := record.PostsByID(t.Context(), ids(w))
		if err != nil || len(rows) != len(w.Posts) {
			t.Fatalf("got %d posts of %d, %v", len(rows), len(w.Posts), err)
		}
		for i := range rows {
			if rows[i].Likes != likes[rows[i].ID] {
				t.Errorf("post %d has %d likes, want %d", rows[i].ID, rows[i].Likes, likes[rows[i].ID])
			}
		}
	}
}

func ids(w *sample.World) []feed.ID {
	out := make([]feed.ID, len(w.Posts))
	for i := range w.Posts {
		out[i] = w.Posts[i].ID
	}
	return out
}
