package mongo

import (
	"bytes"
	"context"
	"errors"

	"feedgate/feed"
)

// claimDoc is a document of claims.
type claimDoc struct {
	ID     string  `bson:"_id"`
	Object feed.ID `bson:"object"`
	Hash   []byte  `bson:"hash"`
}

var errClaimGone = errors.New("a claim was there and is gone")

// Claim implements [feed.ClaimRecord].
func (r *Record) Claim(ctx context.Context, c feed.Claim) (feed.ID, error) {
	id := c.Author.String() + ":" + string(c.Kind) + ":" + c.ClientID
	inserted, err := insert(ctx, r.claims, claimDoc{ID: id, Object: c.Object, Hash: c.Hash})
	if err != nil {
		return 0, unavailable("Claim", err)
	}
	if inserted {
		return c.Object, nil
	}
	earlier, ok, err := findOne[claimDoc](ctx, r.claims, byID(id), nil)
	switch {
	case err != nil:
		return 0, unavailable("Claim", err)
	case !ok:
		return 0, unavailable("Claim", errClaimGone)
	case !bytes.Equal(earlier.Hash, c.Hash):
		return 0, feed.Conflict("clientMutationId", "this clientMutationId was used for another input: take a new one for each new object")
	}
	return earlier.Object, nil
}
