package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"

	"feedgate/feed"
)

// step brings the file from one schema version to the next.
type step func(ctx context.Context, tx *sql.Tx, log *slog.Logger) error

// script is a step that only runs statements.
func script(text string) step {
	return func(ctx context.Context, tx *sql.Tx, _ *slog.Logger) error {
		_, err := tx.ExecContext(ctx, text)
		return err
	}
}

// migrate brings the file to the version after the last of the steps, in one
// transaction.
func migrate(ctx context.Context, db *sql.DB, log *slog.Logger, steps []step) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }()

	var version, application int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if err := tx.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application); err != nil {
		return fmt.Errorf("read the application's id: %w", err)
	}
	switch {
	case version > 0 && application != applicationID:
		return fmt.Errorf("the file holds another application's data (id %#x, version %d)", application, version)
	case version > len(steps):
		return fmt.Errorf("the file has schema version %d, this program knows %d: use a newer feedgate", version, len(steps))
	case version == len(steps):
		return nil
	case version > 0:
		log.InfoContext(ctx, "updating the record's schema; a large record takes a while",
			slog.Int("from", version), slog.Int("to", len(steps)))
	}
	for i, step := range steps[version:] {
		if err := step(ctx, tx, log); err != nil {
			return fmt.Errorf("go to schema version %d: %w", version+i+1, err)
		}
	}
	seal := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(steps))
	if _, err := tx.ExecContext(ctx, seal); err != nil {
		return fmt.Errorf("write the schema's version: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// toV3 adds what nearby and recommended posts need, and gives each post that
// has a place its cell.
func toV3(ctx context.Context, tx *sql.Tx, log *slog.Logger) error {
	if _, err := tx.ExecContext(ctx, schemaV3); err != nil {
		return err
	}
	if err := fillCells(ctx, tx, log); err != nil {
		return fmt.Errorf("give posts their cells: %w", err)
	}
	_, err := tx.ExecContext(ctx, schemaV3Indexes)
	return err
}

const (
	// cellsAtOnce is how many posts are read at a time.
	cellsAtOnce = 1_000
	// cellsReported is after how many posts the log says how far it is.
	cellsReported = 100_000
)

func fillCells(ctx context.Context, tx *sql.Tx, log *slog.Logger) error {
	set, err := tx.PrepareContext(ctx, "UPDATE posts SET place_cell = ? WHERE id = ?")
	if err != nil {
		return err
	}
	defer func() { _ = set.Close() }()
	done := 0
	for after := feed.ID(0); ; {
		posts, err := collect(ctx, migrating{tx}, scanPlaced, `SELECT id, latitude, longitude, precision FROM posts
			WHERE id > ? AND precision <> '' ORDER BY id LIMIT ?`, after, cellsAtOnce)
		if err != nil || len(posts) == 0 {
			return err
		}
		for i := range posts {
			if cell := posts[i].Cell(); cell != "" {
				if _, err := set.ExecContext(ctx, string(cell), posts[i].ID); err != nil {
					return err
				}
			}
			done++
			if done%cellsReported == 0 {
				log.InfoContext(ctx, "giving posts the cells of their places", slog.Int("done", done))
			}
		}
		after = posts[len(posts)-1].ID
	}
}

func scanPlaced(rows *sql.Rows) (p feed.Post, err error) {
	p.Place = &feed.Place{}
	return p, rows.Scan(&p.ID, &p.Place.Latitude, &p.Place.Longitude, &p.Place.Precision)
}

// migrating is a migration's transaction, as a source.
type migrating struct{ tx *sql.Tx }

func (m migrating) query(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	return m.tx.QueryContext(ctx, text, args...)
}
