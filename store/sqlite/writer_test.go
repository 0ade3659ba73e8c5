package sqlite

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
)

// The end of a context in the very moment in which BEGIN is done must not leave
// the one writing connection inside a transaction.
func TestACancelledWriteLeavesTheWriterFree(t *testing.T) {
	t.Parallel()
	r := open(t, filepath.Join(t.TempDir(), "r.db"))
	nothing := func(transaction) error { return nil }
	failed := 0
	for i := range 4000 {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for range i % 40 {
				runtime.Gosched()
			}
			cancel()
		}()
		cancelled := r.write.transact(ctx, nothing)
		if cancelled != nil {
			failed++
		}
		<-ctx.Done()
		if err := r.write.transact(t.Context(), nothing); err != nil {
			t.Fatalf("a write after %d others, of which %d failed, the last with %v: %v", i+1, failed, cancelled, err)
		}
	}
	if failed == 4000 {
		t.Error("every write was cancelled before it began")
	}
}

// SQLite rolls back by itself what was interrupted in the middle of a write.
func TestAWriteInterruptedInTheMiddleLeavesTheWriterFree(t *testing.T) {
	t.Parallel()
	r := open(t, filepath.Join(t.TempDir(), "r.db"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := r.write.transact(ctx, func(tx transaction) error {
		go cancel()
		_, err := tx.exec(ctx, `INSERT INTO meta (name, value)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)
			SELECT 'n' || i, i FROM n`)
		return err
	})
	if err == nil {
		t.Fatal("a write of a thousand million rows came to its end")
	}
	if err := r.write.transact(t.Context(), func(transaction) error { return nil }); err != nil {
		t.Errorf("a write after %v: %v", err, err)
	}
}
