package sqlite

import (
	"database/sql"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"feedgate/feed"
	"feedgate/feed/geo"
)

// oldFile makes a file as the feedgate of a schema version made it.
func oldFile(t *testing.T, version int) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open("sqlite", dataSource(path, false))
	if err != nil {
		t.Fatal(err)
	}
	if err := migrate(t.Context(), db, slog.New(slog.DiscardHandler), migrations()[:version]); err != nil {
		t.Fatal(err)
	}
	return path, db
}

// wrote puts what an earlier feedgate wrote into a file and closes it.
func wrote(t *testing.T, db *sql.DB, posts []feed.Post) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec := func(text string, args ...any) {
		t.Helper()
		if _, err := tx.ExecContext(t.Context(), text, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO users (id, handle, name, avatar_url, bio, created_at) VALUES (1, 'ada', '', '', '', 0)")
	exec("INSERT INTO likes (user, post, at, weight) VALUES (1, ?, 5, 1)", posts[0].ID)
	for i := range posts {
		p := &posts[i]
		var at feed.Place
		if p.Place != nil {
			at = *p.Place
		}
		exec(`INSERT INTO posts (id, author, at, kind, text, detail, repost_of, original_author,
			latitude, longitude, precision, attributes, deleted_at, state, lane)
			VALUES (?, ?, ?, 'original', '', '', 0, 0, ?, ?, ?, x'', ?, 'DONE', '')`,
			p.ID, p.Author, p.At, at.Latitude, at.Longitude, string(at.Precision), p.DeletedAt)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAnOldFileGetsCellsForItsPosts(t *testing.T) {
	t.Parallel()
	path, db := oldFile(t, 2)
	precisions := []feed.Precision{
		feed.PrecisionExact, feed.PrecisionNeighbourhood, feed.PrecisionCity, feed.PrecisionHidden, "",
	}
	posts := make([]feed.Post, 2*cellsAtOnce+37) // more than are read at a time
	want := map[geo.Cell][]feed.ID{}
	for i := range posts {
		p := &posts[i]
		*p = feed.Post{ID: feed.ID(1<<53 + 3*i), Author: 1, At: int64(i)}
		if precision := precisions[i%len(precisions)]; precision != "" {
			p.Place = &feed.Place{Latitude: 50 + float64(i%3), Longitude: 8, Precision: precision}
		}
		if i%11 == 0 {
			p.DeletedAt = 1
		} else if p.Cell() != "" {
			want[p.Cell()] = append([]feed.ID{p.ID}, want[p.Cell()]...)
		}
	}
	wrote(t, db, posts)

	for range 2 { // opening again changes nothing
		r := open(t, path)
		got := 0
		for cell, ids := range want {
			entries, err := r.EntriesInCells(t.Context(), []geo.Cell{cell}, feed.Newest(), len(posts))
			if err != nil {
				t.Fatal(err)
			}
			have := make([]feed.ID, len(entries))
			for i, e := range entries {
				have[i] = e.ID
			}
			if !slices.Equal(have, ids) {
				t.Errorf("cell %s has %d posts, want %d, newest first", cell, len(have), len(ids))
			}
			got += len(have)
		}
		if got == 0 {
			t.Fatal("no post is in a cell")
		}
		tastes, err := r.TastesOf(t.Context(), []feed.ID{1}, 5)
		if err != nil || len(tastes) != 1 || tastes[0].Engaged[0].Post != posts[0].ID {
			t.Errorf("got tastes %v, %v, want the like of %d", tastes, err, posts[0].ID)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var deleted string
	check, err := sql.Open("sqlite", dataSource(path, false))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = check.Close() }()
	if err := check.QueryRowContext(t.Context(), "SELECT place_cell FROM posts WHERE id = ?", posts[0].ID).Scan(&deleted); err != nil {
		t.Fatal(err)
	}
	if deleted != string(posts[0].Cell()) {
		t.Errorf("the deleted post has the cell %q, want %q", deleted, posts[0].Cell())
	}
}

func TestAMigrationThatFailsLeavesTheFileAsItWas(t *testing.T) {
	t.Parallel()
	path, db := oldFile(t, 2)
	wrote(t, db, []feed.Post{{ID: 1, Author: 1, Place: &feed.Place{Precision: feed.PrecisionExact}}})
	db, err := sql.Open("sqlite", dataSource(path, false))
	if err != nil {
		t.Fatal(err)
	}
	steps := append(migrations(), script("SELECT this fails"))
	if err := migrate(t.Context(), db, slog.New(slog.DiscardHandler), steps); err == nil {
		t.Fatal("got no error")
	}
	var version, columns int
	if err := db.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pragma_table_info('posts') WHERE name = 'place_cell'").Scan(&columns); err != nil {
		t.Fatal(err)
	}
	if version != 2 || columns != 0 {
		t.Errorf("the file has version %d and %d cell columns, want 2 and 0", version, columns)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := open(t, path).EntriesInCells(t.Context(), []geo.Cell{geo.CellOf(geo.Point{})}, feed.Newest(), 5)
	if err != nil || len(entries) != 1 {
		t.Errorf("after migrating once more got %v, %v, want the post", entries, err)
	}
}
