package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

var errClosed = errors.New("the record is closed")

// writer is the one connection that writes. Whoever holds the slot has it.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	slot  chan struct{}
	ended chan struct{}
	stmts map[string]*sql.Stmt
}

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &writer{
		db:    db,
		conn:  conn,
		slot:  make(chan struct{}, 1),
		ended: make(chan struct{}),
		stmts: make(map[string]*sql.Stmt),
	}, nil
}

// close waits for the transaction under way. The slot stays taken, so that
// nobody writes afterwards.
func (w *writer) close() error {
	w.slot <- struct{}{}
	close(w.ended)
	var errs []error
	for _, s := range w.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, w.conn.Close(), w.db.Close())...)
}

// transact runs fn in an immediate transaction and commits it when fn returns
// nil. The commit itself is not interrupted by the end of ctx, so that an
// error means that nothing was written.
func (w *writer) transact(ctx context.Context, fn func(tx transaction) error) (err error) {
	select {
	case w.slot <- struct{}{}:
		defer func() { <-w.slot }()
	case <-w.ended:
		return errClosed
	case <-ctx.Done():
		return fmt.Errorf("wait to write: %w", context.Cause(ctx))
	}
	tx := transaction{w: w}
	committed := false
	detached := context.WithoutCancel(ctx)
	defer func() {
		if !committed {
			err = errors.Join(err, tx.undo(detached))
		}
	}()
	if _, err := tx.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := fn(tx); err != nil {
		return err
	}
	if _, err := tx.exec(detached, "COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	return nil
}

// transaction is the right to use the writing connection.
type transaction struct {
	w *writer
}

func (tx transaction) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if s, ok := tx.w.stmts[text]; ok {
		return s, nil
	}
	s, err := tx.w.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	tx.w.stmts[text] = s
	return s, nil
}

func (tx transaction) query(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	s, err := tx.stmt(ctx, text) //nolint:sqlclosecheck // kept for the next transaction, closed by close
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// exec runs a statement and tells how many rows it changed.
func (tx transaction) exec(ctx context.Context, text string, args ...any) (int64, error) {
	s, err := tx.stmt(ctx, text) //nolint:sqlclosecheck // kept for the next transaction, closed by close
	if err != nil {
		return 0, err
	}
	done, err := s.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// undo ends the transaction if there is one. An error of BEGIN does not mean that
// there is none: the driver reports the end of a context even if the statement
// had run by then. An error of another statement does not mean that there is one:
// SQLite itself rolls back what was interrupted in the middle of a write.
func (tx transaction) undo(ctx context.Context) error {
	_, err := tx.exec(ctx, "ROLLBACK")
	if err == nil || strings.Contains(err.Error(), "no transaction is active") {
		return nil
	}
	return fmt.Errorf("roll back: %w", err)
}

// insert writes rows, many with each statement; head is the text up to VALUES.
func (tx transaction) insert(ctx context.Context, head string, rows [][]any) error {
	for _, size := range []int{100, 10, 1} {
		if len(rows) < size {
			continue
		}
		one := "(" + strings.Repeat("?,", len(rows[0])-1) + "?)"
		text := head + strings.Repeat(one+",", size-1) + one
		for len(rows) >= size {
			args := make([]any, 0, size*len(rows[0]))
			for _, row := range rows[:size] {
				args = append(args, row...)
			}
			if _, err := tx.exec(ctx, text, args...); err != nil {
				return err
			}
			rows = rows[size:]
		}
	}
	return nil
}
