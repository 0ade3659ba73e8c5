// Package importer reads bundles of people, follows, posts and likes in
// feedgate's import format, one JSON object a line, and writes them to the
// record in batches. A line that cannot be taken is refused with its number
// and the reason, and the run goes on. To repeat a run changes nothing.
//
// Rows wait in one batch a type. Before a batch is written, the batches that
// its rows may refer to are: users, then follows and posts, then likes. So the
// types may come mixed, as long as what a line names came before it.
//
// Memory is bounded by the longest line and the four batches, whatever the
// size of the bundle.
package importer
