package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"

	"feedgate/feed"
)

// authorsAtOnce is how many authors one statement is asked about.
const authorsAtOnce = 100

// nobody fills a statement up. It is neither 0 nor 1, because SQLite plans a
// statement anew when a parameter in an equation goes from or to one of them.
const nobody = feed.ID(-1)

// armSizes are the numbers of authors that there are statements for; a chunk
// is filled up to the next one.
func armSizes() []int { return []int{1, 4, 16, 40, authorsAtOnce} }

// arms gives the statement for a number of authors. Each arm takes the newest
// posts of one author from the index, so that it costs limit rows, however
// much the author has written. ?1 and ?2 are the position to stay below, ?3 a
// time to stay at or above, ?4 the limit; the authors follow.
func arms(authors int) string {
	return merged(authors, "at, id, author", "p.author = ?%d")
}

// merged gives a statement that takes the newest posts of each arm, by an index
// that begins with what the arm's condition compares with a parameter, and
// merges them. The limit is an expression, because SQLite plans a statement
// anew for each value of a bare one.
func merged(count int, columns, condition string) string {
	const arm = `SELECT * FROM (SELECT %s FROM posts AS p
		WHERE %s AND p.deleted_at = 0 AND p.at >= ?3 AND (p.at, p.id) < (?1, ?2)
		ORDER BY p.at DESC, p.id DESC LIMIT ?4 + 0)`
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf(arm, columns, fmt.Sprintf(condition, 5+i))
	}
	return "WITH merged AS MATERIALIZED (\n" + strings.Join(all, "\nUNION ALL\n") + ")\n" +
		"SELECT " + columns + " FROM merged ORDER BY at DESC, id DESC LIMIT ?4 + 0"
}

// Entries implements [feed.PostRecord].
func (r *Record) Entries(ctx context.Context, authors []feed.ID, below feed.Position, limit int) ([]feed.Entry, error) {
	if limit <= 0 {
		return nil, nil
	}
	var found []feed.Entry
	least := int64(math.MinInt64) // what is older cannot be among the newest any more
	for part := range slices.Chunk(distinct(authors), authorsAtOnce) {
		size := sizeFor(len(part))
		args := make([]any, 4+size)
		args[0], args[1], args[2], args[3] = below.At, below.ID, least, limit
		for i := range size {
			args[4+i] = nobody
			if i < len(part) {
				args[4+i] = part[i]
			}
		}
		some, err := list(ctx, r, "Entries", scanEntry, r.arms[size], args...)
		if err != nil {
			return nil, err
		}
		found = newest(append(found, some...), limit)
		if len(found) == limit {
			least = found[limit-1].At
		}
	}
	return found, nil
}

// sizeFor gives the size of the smallest statement for a number of authors, at
// most authorsAtOnce.
func sizeFor(authors int) int {
	for _, size := range armSizes() {
		if authors <= size {
			return size
		}
	}
	return authorsAtOnce
}

func scanEntry(rows *sql.Rows) (e feed.Entry, err error) {
	return e, rows.Scan(&e.At, &e.ID, &e.Author)
}

// newest sorts entries newest first and keeps the first limit of them.
func newest(entries []feed.Entry, limit int) []feed.Entry {
	slices.SortFunc(entries, func(a, b feed.Entry) int { return a.Position().Compare(b.Position()) })
	return entries[:min(limit, len(entries))]
}
