// Package feed is feedgate's domain: posts, people and what stands between
// them, and the feeds that are read from all of it. It imports the standard
// library alone; stores, transports and workers depend on it, never the other
// way round.
//
// # Record and hot data
//
// The [Record] is the truth. The hot data behind [Hot] is a cache of it that
// may be lost, in part or whole, or come back older than it was. Whatever is
// read from the hot data therefore carries the proof that it may be believed:
// a generation (raised when hot data is known to be stale), and for lists and
// relations a version that a mutation takes away before it writes the record
// and replaces after it.
//
// # A feed is a merge of sources
//
//	            above the floor                    below it
//	inbox ─────────────┐
//	outboxes of        ├─ merge, hydrate, filter ── the record, by author
//	authors in flight ─┘
//
// Each source is complete down to its own floor; a page is complete down to
// the highest floor of its sources, and below it comes from the record.
package feed
