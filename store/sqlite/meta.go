package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"feedgate/feed"
)

const readGeneration = "SELECT value FROM meta WHERE name = 'generation'"

// Generation implements [feed.MetaRecord].
func (r *Record) Generation(ctx context.Context) (int64, error) {
	found, err := list(ctx, r, "Generation", scanInt, readGeneration)
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, unavailable("Generation", errNoGeneration)
	}
	return found[0], nil
}

var errNoGeneration = errors.New("the hot generation is missing")

// RaiseGeneration implements [feed.MetaRecord].
func (r *Record) RaiseGeneration(ctx context.Context, from int64) (int64, error) {
	var inForce int64
	err := r.change(ctx, "RaiseGeneration", func(tx transaction) error {
		if _, err := tx.exec(ctx, "UPDATE meta SET value = value + 1 WHERE name = 'generation' AND value = ?", from); err != nil {
			return err
		}
		var ok bool
		var err error
		if inForce, ok, err = first(ctx, tx, scanInt, readGeneration); err == nil && !ok {
			return errNoGeneration
		}
		return err
	})
	return inForce, err
}

// Heartbeats implements [feed.HeartbeatRecord].
func (r *Record) Heartbeats(ctx context.Context) (map[string]int64, error) {
	type beat struct {
		name string
		at   int64
	}
	rows, err := list(ctx, r, "Heartbeats", func(rows *sql.Rows) (b beat, err error) {
		return b, rows.Scan(&b.name, &b.at)
	}, "SELECT name, beat FROM heartbeats")
	if err != nil {
		return nil, err
	}
	beats := make(map[string]int64, len(rows))
	for _, b := range rows {
		beats[b.name] = b.at
	}
	return beats, nil
}

// SaveHeartbeats implements [feed.HeartbeatRecord].
func (r *Record) SaveHeartbeats(ctx context.Context, beats map[string]int64) error {
	return r.change(ctx, "SaveHeartbeats", func(tx transaction) error {
		for name, beat := range beats {
			if _, err := tx.exec(ctx, `INSERT INTO heartbeats (name, beat) VALUES (?, ?)
				ON CONFLICT (name) DO UPDATE SET beat = max(beat, excluded.beat)`, name, beat); err != nil {
				return err
			}
		}
		return nil
	})
}

// LeaseProcess implements [feed.ProcessRecord].
func (r *Record) LeaseProcess(ctx context.Context, owner string, limit int, now, until int64) (int, error) {
	lowest := 0
	err := r.change(ctx, "LeaseProcess", func(tx transaction) error {
		taken, err := collect(ctx, tx, scanInt, "SELECT number FROM processes WHERE until >= ? ORDER BY number", now)
		if err != nil {
			return err
		}
		lowest = 0
		for _, number := range taken {
			if int64(lowest) == number {
				lowest++
			}
		}
		if lowest >= limit {
			return feed.Unavailable("all process numbers are taken: stop a process or wait until a lease ends", nil)
		}
		_, err = tx.exec(ctx, "INSERT OR REPLACE INTO processes (number, owner, until) VALUES (?, ?, ?)", lowest, owner, until)
		return err
	})
	return lowest, err
}

// RenewProcess implements [feed.ProcessRecord].
func (r *Record) RenewProcess(ctx context.Context, number int, owner string, until int64) error {
	return r.change(ctx, "RenewProcess", func(tx transaction) error {
		n, err := tx.exec(ctx, "UPDATE processes SET until = ? WHERE number = ? AND owner = ?", until, number, owner)
		if err == nil && n == 0 {
			return feed.Conflict("", "another process holds this number by now")
		}
		return err
	})
}

// ReleaseProcess implements [feed.ProcessRecord].
func (r *Record) ReleaseProcess(ctx context.Context, number int, owner string) error {
	return r.change(ctx, "ReleaseProcess", func(tx transaction) error {
		_, err := tx.exec(ctx, "DELETE FROM processes WHERE number = ? AND owner = ?", number, owner)
		return err
	})
}
