package sqlite

import (
	"context"
	"database/sql"
	"math"
	"slices"

	"feedgate/feed"
	"feedgate/feed/geo"
)

// nowhere fills a statement up: no geohash has an "a".
const nowhere = "a"

// cellArms is arms for cells: each arm takes the newest posts of one cell from
// the index.
func cellArms(cells int) string {
	return merged(cells, "at, id, author, latitude, longitude, precision", "p.place_cell = ?%d AND p.place_cell <> ''")
}

// EntriesInCells implements [feed.PlaceRecord].
func (r *Record) EntriesInCells(ctx context.Context, cells []geo.Cell, below feed.Position, limit int) ([]feed.CellEntry, error) {
	if limit <= 0 {
		return nil, nil
	}
	var found []feed.CellEntry
	least := int64(math.MinInt64) // what is older cannot be among the newest any more
	for part := range slices.Chunk(distinctCells(cells), authorsAtOnce) {
		size := sizeFor(len(part))
		args := make([]any, 4+size)
		args[0], args[1], args[2], args[3] = below.At, below.ID, least, limit
		for i := range size {
			args[4+i] = nowhere
			if i < len(part) {
				args[4+i] = string(part[i])
			}
		}
		some, err := list(ctx, r, "EntriesInCells", scanCellEntry, r.cellArms[size], args...)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
		slices.SortFunc(found, func(a, b feed.CellEntry) int { return a.Position().Compare(b.Position()) })
		found = found[:min(limit, len(found))]
		if len(found) == limit {
			least = found[limit-1].At
		}
	}
	return found, nil
}

// distinctCells gives cells sorted and without repeats, "" left out, and leaves
// the argument alone.
func distinctCells(cells []geo.Cell) []geo.Cell {
	own := slices.DeleteFunc(slices.Clone(cells), func(c geo.Cell) bool { return c == "" })
	slices.Sort(own)
	return slices.Compact(own)
}

func scanCellEntry(rows *sql.Rows) (e feed.CellEntry, err error) {
	var place feed.Place
	if err := rows.Scan(&e.At, &e.ID, &e.Author, &place.Latitude, &place.Longitude, &place.Precision); err != nil {
		return e, err
	}
	e.Point, _ = (&feed.Post{Place: &place}).Point()
	return e, nil
}
