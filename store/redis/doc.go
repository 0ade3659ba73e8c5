// Package redis keeps feedgate's hot data in Redis: one server, a Cluster, or
// the in-process server of package embedded, all by the same commands.
//
// # What is believed, and why
//
// Everything here may vanish, be evicted key by key, or come back older than it
// was. Nothing is therefore believed for being there; each kind of data carries
// a proof that is checked when it is read:
//
//	details    the generation in force
//	relations  the generation, and the version that stands in relver:{uid}
//	lists      the generation, and in the floor member the version that stands
//	           in inboxver:{uid} or outboxver:{uid} (and for inboxes the epoch
//	           of the reader's active shard)
//	marks      a sentinel in each shard that carries the generation
//	cells      the generation, in the floor member
//
// Boards, the state of learning, learned sets, notes of unlearned users and
// sessions carry none: they are statistics, and bear being late or lost.
//
// A cell has no version, since nothing but additions must be kept up: they go to
// every cell that exists, so who fills one first puts a mark into it. What is
// added from then on is in the cell, and the mark is lost with it, or with
// entries that are cut.
//
// Versions, leases and holds are random and never used again, so that a key
// which was lost and made anew proves nothing about what was stored before:
//
//	lease of a detail   l<token>    a reader may fill it in
//	                    p<token>    a mutation holds it
//	                    q<token>    the same, and another came between
//	version             g<random>   stands
//	                    p<token>    a mutation holds it
//
// # Why versions expire
//
// A version that is gone makes its list or relations missing; the next version
// is a new one, and what was stored under the old one is never believed again.
// So versions may expire and be evicted like a cache, which bounds them; they
// live longer than a list that nobody renews. Active and in-flight marks,
// streams, heartbeats, the state of learning and the notes of unlearned users have
// no expiry: the loss of marks costs all readers a look at the record.
//
// # Round trips
//
// [Hot.Do] and each queue operation build one pipeline. Scripts are called by
// hash; where a server has lost one, that call alone is sent again with its
// text, which is a second round trip, once a script and server.
package redis
