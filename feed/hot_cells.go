package feed

import "feedgate/feed/geo"

// ----- cells: the nearby index -----

// CellEntry is one post in a cell, with the position that others may know.
type CellEntry struct {
	Entry // Author is 0 when it came from the hot data
	Point geo.Point
}

// CellTTL is how long a cell lives after it was last read, in milliseconds.
// Cells that nobody reads are not kept at all.
const CellTTL = 24 * 3600_000

// ReadCell reads a cell's floor and a page strictly below a position, and
// lets the cell live for [CellTTL]. The floor is that of the moment of the page
// or a higher one. Entries below the floor are left out.
type ReadCell struct {
	Cell  geo.Cell
	Below Position
	Limit int
	// answers
	Found   bool  // false: the cell is missing (no floor, or another generation)
	Floor   int64 // complete for entries at or above it
	Entries []CellEntry
}

// OpenCell prepares the filling of a cell: it puts a mark into the cell that is
// lost with it. From then on [AddToCells] adds to the cell, so that nothing that
// is published while the record is read can be missing after [MergeCell].
// Another filler's mark stands beside ours: both may merge.
type OpenCell struct {
	Cell  geo.Cell
	Token Token
	// answer
	Generation int64 // in force when this was asked
}

// MergeCell adds entries that were read from the record after OpenCell, sets
// the floor and removes the mark, if the mark of Token still stands, and lets
// the cell live for [CellTTL]. A floor of the same generation that stands
// already and is lower is kept. Atomic.
type MergeCell struct {
	Cell       geo.Cell
	Token      Token
	Entries    []CellEntry
	Floor      int64
	Generation int64 // of OpenCell; the floor carries it
	// answer
	Merged bool
}

// AddToCells adds one post to those of the cells that exist, be they filled or
// being filled; the others are left absent. A cell that has more than Keep +
// Slack entries is cut to its newest Keep, and entries older than Oldest (ms) go,
// once there is an entry that is older by a sixteenth of the way from Oldest to
// the newest; the floor rises to just above what was cut. Each cell is atomic.
type AddToCells struct {
	Cells       []geo.Cell
	Entry       CellEntry
	Keep, Slack int
	Oldest      int64
}

// RemoveFromCell removes entries whose posts are gone.
type RemoveFromCell struct {
	Cell    geo.Cell
	Entries []CellEntry
}

func (*ReadCell) op()       {}
func (*OpenCell) op()       {}
func (*MergeCell) op()      {}
func (*AddToCells) op()     {}
func (*RemoveFromCell) op() {}
