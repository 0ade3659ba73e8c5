package sqlite

import (
	"bytes"
	"context"
	"database/sql"

	"feedgate/feed"
)

// Claim implements [feed.ClaimRecord].
func (r *Record) Claim(ctx context.Context, c feed.Claim) (feed.ID, error) {
	object := c.Object
	err := r.change(ctx, "Claim", func(tx transaction) error {
		n, err := tx.exec(ctx, "INSERT INTO claims (author, kind, client_id, object, hash) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			c.Author, string(c.Kind), c.ClientID, c.Object, append([]byte{}, c.Hash...))
		if err != nil || n == 1 {
			return err
		}
		earlier, _, err := first(ctx, tx, func(rows *sql.Rows) (e feed.Claim, err error) {
			return e, rows.Scan(&e.Object, &e.Hash)
		}, "SELECT object, hash FROM claims WHERE author = ? AND kind = ? AND client_id = ?", c.Author, string(c.Kind), c.ClientID)
		if err != nil {
			return err
		}
		if !bytes.Equal(earlier.Hash, c.Hash) {
			return feed.Conflict("clientMutationId", "this clientMutationId was used for another input: take a new one for each new object")
		}
		object = earlier.Object
		return nil
	})
	if err != nil {
		return 0, err
	}
	return object, nil
}
