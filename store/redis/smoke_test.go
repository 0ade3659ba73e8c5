package redis_test

import (
	"log/slog"
	"testing"
	"time"

	"feedgate/feed"
	"feedgate/store/embedded"
	"feedgate/store/redis"
)

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func TestSmoke(t *testing.T) {
	ctx := t.Context()
	s, err := embedded.Open(ctx, wall{}, slog.New(slog.DiscardHandler), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h, err := redis.Open(ctx, redis.Config{URL: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	h.SetGeneration(3)
	r := &feed.ReadRelations{User: 7}
	if err := h.Do(ctx, r); err != nil {
		t.Fatal(err)
	}
	rel := feed.Relations{Following: feed.IDSet{1, 5, 1 << 60}, Mutes: feed.IDSet{9}}
	if err := h.Do(ctx, &feed.FillRelations{User: 7, Version: r.Version, Relations: rel, Generation: r.Generation}); err != nil {
		t.Fatal(err)
	}
	if err := h.Do(ctx, r); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	l := feed.List{Kind: feed.Inbox, Owner: 7}
	o := &feed.OpenList{List: l}
	if err := h.Do(ctx, o); err != nil {
		t.Fatal(err)
	}
	m := &feed.MergeList{List: l, Version: o.Version, Raw: o.Raw, Generation: o.Generation, TTL: 1000000, Entries: []feed.Entry{{At: 100, ID: 5}, {At: 1_700_000_000_123, ID: 1 << 60}, {At: 100, ID: 6}}, Floor: feed.Floor{At: 100, Version: o.Version, Epoch: 77}}
	if err := h.Do(ctx, m); err != nil {
		t.Fatal(err)
	}
	rl := &feed.ReadList{List: l, Below: feed.Newest(), Limit: 10}
	rl2 := &feed.ReadList{List: l, Below: feed.Position{At: 100, ID: 6}, Limit: 10}
	if err := h.Do(ctx, rl, rl2); err != nil {
		t.Fatal(err)
	}
	t.Logf("%v %+v %+v", m.Merged, rl, rl2.Entries)
	ta := &feed.TouchActive{Reader: 7, Day: 20000, Make: 1_700_000_000_000}
	rm := &feed.ReadMarks{Authors: []feed.ID{1, 2, 3}}
	g := &feed.GetDetails[feed.Post]{IDs: []feed.ID{1, 2}, Lease: "tok"}
	if err := h.Do(ctx, ta, &feed.FillMarks{Authors: []feed.ID{2}, Now: 1_800_000_000_000}, rm, g); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v %+v %+v", ta, rm, g)
	if err := h.Do(ctx, &feed.FillDetails[feed.Post]{IDs: []feed.ID{1, 2}, Values: []feed.Post{{Author: 4}, {Author: 5, Topics: []string{"a", "b"}, Media: []feed.Media{{URL: "u"}}}}, Token: "tok", Generation: 3}, g); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", g)
	b, err := h.Beat(ctx, 100)
	t.Log(b, err)
	b, err = h.Beat(ctx, 200)
	t.Log(b, err)
}
