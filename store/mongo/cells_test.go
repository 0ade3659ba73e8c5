package mongo_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"feedgate/feed"
	"feedgate/feed/geo"
	"feedgate/store/mongo"
)

func TestOldPostsGetTheirCellsWhenARecordIsOpened(t *testing.T) {
	t.Parallel()
	need(t)
	database := fresh(t)
	first := open(t, database)
	if _, err := first.ImportUsers(t.Context(), []feed.User{{ID: a, Handle: "a"}}); err != nil {
		t.Fatal(err)
	}
	precisions := []feed.Precision{
		feed.PrecisionExact, feed.PrecisionNeighbourhood, feed.PrecisionCity, feed.PrecisionHidden, "",
	}
	posts := make([]feed.Post, 23)
	want := map[geo.Cell][]feed.ID{}
	for i := range posts {
		p := &posts[i]
		*p = feed.Post{ID: feed.ID(1<<53 + 3*i), Author: a, At: int64(i), Kind: "original"}
		if precision := precisions[i%len(precisions)]; precision != "" {
			p.Place = &feed.Place{Latitude: 50 + float64(i%2), Longitude: 8, Precision: precision}
		}
		if c := p.Cell(); c != "" {
			want[c] = append([]feed.ID{p.ID}, want[c]...)
		}
	}
	if _, err := first.ImportPosts(t.Context(), posts); err != nil {
		t.Fatal(err)
	}
	wantCells(t, first, want)

	client, err := driver.Connect(options.Client().ApplyURI(server.URI))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	docs := client.Database(database).Collection("posts")
	forget := func(from feed.ID) {
		t.Helper()
		_, err := docs.UpdateMany(t.Context(),
			bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: from}}}, {Key: "place", Value: bson.D{{Key: "$exists", Value: true}}}},
			bson.D{{Key: "$unset", Value: bson.D{{Key: "place.cell", Value: ""}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	forget(0)
	wantCells(t, first, map[geo.Cell][]feed.ID{"": nil, posts[0].Cell(): nil})

	// The sets are of four, so that the last one is not full.
	wantCells(t, open(t, database, mongo.WithCellsAtOnce(4)), want)

	// An old feedgate may go on beside a new one: what it publishes gets its cells later.
	late := feed.Post{
		ID: posts[len(posts)-1].ID + 1, Author: a, At: 99, Kind: "original",
		Place: &feed.Place{Latitude: -5, Longitude: 5, Precision: feed.PrecisionExact},
	}
	if _, err := first.ImportPosts(t.Context(), []feed.Post{late}); err != nil {
		t.Fatal(err)
	}
	forget(late.ID)
	want[late.Cell()] = []feed.ID{late.ID}
	wantCells(t, open(t, database), want)

	// Who opens it once more finds nothing to do.
	var updates atomic.Int64
	again := open(t, database, mongo.WithHook(func(command string) {
		if command == "update" {
			updates.Add(1)
		}
	}))
	wantCells(t, again, want)
	if n := updates.Load(); n != 1 { // the first generation's
		t.Errorf("opening took %d updates, want 1", n)
	}
}

func wantCells(t *testing.T, r *mongo.Record, want map[geo.Cell][]feed.ID) {
	t.Helper()
	for cell, ids := range want {
		entries, err := r.EntriesInCells(t.Context(), []geo.Cell{cell}, feed.Newest(), 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []feed.ID
		for _, e := range entries {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, ids) {
			t.Errorf("cell %q has %v, want %v", cell, got, ids)
		}
	}
}
