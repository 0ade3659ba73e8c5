package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// reading is the pool of connections that read, with the statements prepared
// on them. The texts are this package's own, so their number is bounded.
type reading struct {
	db    *sql.DB
	mu    sync.RWMutex
	stmts map[string]*sql.Stmt
}

func newReading(db *sql.DB) *reading {
	return &reading{db: db, stmts: make(map[string]*sql.Stmt)}
}

func (p *reading) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.stmts {
		errs = append(errs, s.Close())
	}
	clear(p.stmts)
	return errors.Join(append(errs, p.db.Close())...)
}

func (p *reading) query(ctx context.Context, text string, args []any) (*sql.Rows, error) {
	s, err := p.stmt(ctx, text) //nolint:sqlclosecheck // kept for the next query, closed by close
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// stmt gives the prepared statement of a text.
func (p *reading) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	p.mu.RLock()
	s, ok := p.stmts[text]
	p.mu.RUnlock()
	if ok {
		return s, nil
	}
	s, err := p.db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if earlier, ok := p.stmts[text]; ok {
		return earlier, s.Close() //nolint:sqlclosecheck // the one that came second is not needed
	}
	p.stmts[text] = s
	return s, nil
}
