package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"feedgate/feed"
)

const (
	// busyTimeout is how long a writer waits for another process' transaction, in ms.
	busyTimeout = 10_000
	// readers is how many connections read at the same time.
	readers = 8
	// chunk is how many ids one statement is asked about.
	chunk = 500
)

var (
	_ feed.Record          = (*Record)(nil)
	_ feed.DutyRecord      = (*Record)(nil)
	_ feed.CounterRecord   = (*Record)(nil)
	_ feed.HeartbeatRecord = (*Record)(nil)
	_ feed.ProcessRecord   = (*Record)(nil)
	_ feed.ImportRecord    = (*Record)(nil)
	_ feed.SeenRecord      = (*Record)(nil)
	_ feed.NoticeRecord    = (*Record)(nil)
	_ feed.TasteRecord     = (*Record)(nil)
	_ feed.ViewRecord      = (*Record)(nil)
	_ feed.PlaceRecord     = (*Record)(nil)
)

// Record is the record in a SQLite file. It is safe for concurrent use.
type Record struct {
	log   *slog.Logger
	hook  func(command string)
	read  *reading
	write *writer
	close func() error

	arms     map[int]string // statements of Entries by number of authors
	cellArms map[int]string // statements of EntriesInCells by number of cells
}

// Option changes how a record is opened.
type Option func(*Record)

// WithHook has hook called once for each awaited command, with the name of
// the method that sends it. It may be called concurrently.
func WithHook(hook func(command string)) Option {
	return func(r *Record) { r.hook = hook }
}

// Open opens the file, creates it and its folder if they are missing, and
// brings its schema up to date. Its errors are UNAVAILABLE.
func Open(ctx context.Context, path string, log *slog.Logger, opts ...Option) (*Record, error) {
	r := &Record{log: log, hook: func(string) {}, arms: make(map[int]string), cellArms: make(map[int]string)}
	for _, size := range armSizes() {
		r.arms[size], r.cellArms[size] = arms(size), cellArms(size)
	}
	for _, opt := range opts {
		opt(r)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, unavailable("open", err)
	}
	writing, err := sql.Open("sqlite", dataSource(path, false))
	if err != nil {
		return nil, unavailable("open", err)
	}
	writing.SetMaxOpenConns(1)
	if err := migrate(ctx, writing, log, migrations()); err != nil {
		return nil, unavailable("open", errors.Join(fmt.Errorf("%s: %w", path, err), writing.Close()))
	}
	if r.write, err = newWriter(ctx, writing); err != nil {
		return nil, unavailable("open", errors.Join(err, writing.Close()))
	}
	reads, err := sql.Open("sqlite", dataSource(path, true))
	if err != nil {
		return nil, unavailable("open", errors.Join(err, r.write.close()))
	}
	reads.SetMaxOpenConns(readers)
	reads.SetMaxIdleConns(readers)
	r.read = newReading(reads)
	r.close = sync.OnceValue(func() error {
		return errors.Join(r.read.close(), r.write.close())
	})
	log.DebugContext(ctx, "sqlite record is open", slog.String("path", path))
	return r, nil
}

// Close waits for commands that are under way and closes the file. Closing
// again does nothing.
func (r *Record) Close(context.Context) error {
	if err := r.close(); err != nil {
		return unavailable("close", err)
	}
	return nil
}

// dataSource names the file and how a connection to it is set up.
func dataSource(path string, queryOnly bool) string {
	q := url.Values{}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyTimeout))
	q.Add("_pragma", "journal_mode(WAL)")
	q.Add("_pragma", "synchronous(FULL)")
	q.Add("_pragma", "temp_store(MEMORY)")
	q.Add("_pragma", "cache_size(-16384)")
	if queryOnly {
		q.Add("_pragma", "query_only(1)")
	}
	q.Set("_txlock", "immediate")
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}
