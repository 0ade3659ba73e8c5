// Package mongo keeps feedgate's record in MongoDB.
//
// Writes are acknowledged by a majority and journaled; reads go to the primary.
// There are no transactions over several documents. Instead the writes of one
// mutation have an order in which stopping anywhere harms only what is derived:
//
//  1. mark the counters dirty    2. write the edge or post    3. count it
//
// Step 2 is one document, so a post and its duty are one atomic write, and who
// finds it done already stops there. Whatever a crash between the steps leaves
// wrong carries a mark, and [Record.Recount] puts it right once the mark is
// older than every mutation that may still be under way.
//
// Times are whole milliseconds since the Unix epoch, but for the marks' times,
// which are dates of the server's clock. The collections:
//
//	users      handle (unique), name, avatarUrl, bio, createdAt, counters, lastPostAt,
//	           seen {position {at, id}, at}, noticesSeenAt
//	posts      author, publishedAt, content, counters, first, deletedAt (0 while it stands),
//	           place {latitude, longitude, precision, cell (of the published position, "" for none)},
//	           delivery, duty (only while unfinished: nobody else takes it before)
//	follows    _id "follower:followee", at
//	bars       _id "kind:by:of", at: blocks and mutes
//	likes      _id "user:post", at, weight
//	comments   post, author, at, text, deletedAt (0 while it stands)
//	views      _id "user:post", user, post, at
//	claims     _id "author:kind:clientMutationId", object, hash
//	notices    to, kind, subject (unique), at, total, actors, v, last
//	noticeActors _id "notice:actor", notice, actor, at, in, v
//	dirty      _id "kind:id", at: counters that may be wrong
//	meta, heartbeats, processes
package mongo
