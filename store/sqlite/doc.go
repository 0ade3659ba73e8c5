// Package sqlite keeps feedgate's record in one SQLite file.
//
// One connection writes, in immediate transactions that are durable when they
// end (write-ahead log, synchronous=FULL); a pool of connections reads, and the
// log keeps the two out of each other's way. Several processes of one machine
// may share the file: a writer waits for the other's transaction.
//
// An edge and its counters change in one transaction, so counters are wrong
// only between an import and its recount.
//
// Times are whole milliseconds since the Unix epoch, ids are rowids, and what
// nothing is asked about (media, links, topics) is JSON in one column.
package sqlite
