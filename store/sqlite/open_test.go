package sqlite

import (
	"context"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"feedgate/feed"
)

func open(t *testing.T, path string) *Record {
	t.Helper()
	r, err := Open(t.Context(), path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("open %s: %v", path, err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Errorf("close %s: %v", path, err)
		}
	})
	return r
}

func TestARecordIsThereAfterReopening(t *testing.T) {
	t.Parallel()
	// A folder that is not there yet, and characters that mean something in a URI.
	path := filepath.Join(t.TempDir(), "new", "a?b#c%20d &e", "feed gate.db")
	first := open(t, path)
	want := feed.User{ID: 1 << 60, Handle: "ada", Name: "Ada"}
	if err := first.CreateUser(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the file is not where it should be: %v", err)
	}
	got, err := open(t, path).UserByHandle(t.Context(), "ada")
	if err != nil || got.User != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestAForeignFileIsRefused(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]string{
		"another application": "CREATE TABLE t (x); PRAGMA user_version = 1",
		"a newer feedgate":    "PRAGMA application_id = 1717985652; PRAGMA user_version = 99",
	} {
		path := filepath.Join(t.TempDir(), "x.db")
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), setup); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), path, slog.New(slog.DiscardHandler)); feed.CodeOf(err) != feed.CodeUnavailable {
			t.Errorf("%s: got %v, want UNAVAILABLE", name, err)
		}
	}
}

func TestConnectionsAreSetUpForDurability(t *testing.T) {
	t.Parallel()
	r := open(t, filepath.Join(t.TempDir(), "x.db"))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000"} {
		var wrote, read string
		if err := r.write.conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&wrote); err != nil {
			t.Fatal(err)
		}
		if err := r.read.db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&read); err != nil {
			t.Fatal(err)
		}
		if wrote != want || read != want {
			t.Errorf("%s is %s when writing and %s when reading, want %s", pragma, wrote, read, want)
		}
	}
	if _, err := r.read.db.ExecContext(t.Context(), "DELETE FROM users"); err == nil {
		t.Error("a reading connection may write")
	}
}

func TestReadersAreNotHeldUpByAWriter(t *testing.T) {
	t.Parallel()
	r := open(t, filepath.Join(t.TempDir(), "x.db"))
	if err := r.CreateUser(t.Context(), feed.User{ID: 1, Handle: "ada"}); err != nil {
		t.Fatal(err)
	}
	began, finish := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- r.write.transact(t.Context(), func(tx transaction) error {
			_, err := tx.exec(t.Context(), "UPDATE users SET name = 'half written'")
			close(began)
			<-finish
			return err
		})
	}()
	<-began
	for range 2 * readers {
		rows, err := r.UsersByID(t.Context(), []feed.ID{1})
		if err != nil || len(rows) != 1 || rows[0].Name != "" {
			t.Fatalf("got %v, %v, want the user as before the transaction", rows, err)
		}
	}
	// Another writer waits no longer than its context allows.
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := r.CreateUser(ctx, feed.User{ID: 2, Handle: "bob"}); feed.CodeOf(err) != feed.CodeUnavailable {
		t.Errorf("got %v, want UNAVAILABLE", err)
	}
	close(finish)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if u, err := r.UserByHandle(t.Context(), "ada"); err != nil || u.Name != "half written" {
		t.Errorf("got %+v, %v, want what the transaction wrote", u, err)
	}
}

func TestAFailedTransactionLeavesNothing(t *testing.T) {
	t.Parallel()
	r := open(t, filepath.Join(t.TempDir(), "x.db"))
	ctx, cancel := context.WithCancel(t.Context())
	err := r.change(ctx, "test", func(tx transaction) error {
		if _, err := tx.exec(ctx, insertUsers+"(1, 'ada', '', '', '', 0)"); err != nil {
			return err
		}
		cancel()
		_, err := tx.exec(ctx, "UPDATE users SET name = 'x'")
		return err
	})
	if feed.CodeOf(err) != feed.CodeUnavailable || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("got %v, want UNAVAILABLE because it was canceled", err)
	}
	if empty, err := r.Empty(t.Context()); err != nil || !empty {
		t.Errorf("got empty = %v, %v, want nothing written", empty, err)
	}
}

func TestTwoProcessesShareAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	records := []*Record{open(t, path), open(t, path)}
	if err := records[0].CreateUser(t.Context(), feed.User{ID: 1, Handle: "ada"}); err != nil {
		t.Fatal(err)
	}
	const each = 20
	errs := make(chan error, len(records))
	for i, r := range records {
		go func() {
			for j := range feed.ID(each) {
				id := feed.ID(i+1)*1000 + j
				if _, err := r.InsertPost(t.Context(), feed.Post{ID: id, Author: 1, At: int64(j)}, feed.Duty{}); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range records {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range records {
		rows, err := r.UsersByID(t.Context(), []feed.ID{1})
		if err != nil || len(rows) != 1 || rows[0].Posts != 2*each {
			t.Errorf("record %d counts %v, %v, want %d posts", i, rows, err, 2*each)
		}
	}
}
