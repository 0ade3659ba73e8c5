package sqlite

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// plan gives how SQLite answers a query, a step a line.
func plan(t *testing.T, r *Record, text string, args ...any) string {
	t.Helper()
	rows, err := r.read.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var lines []string
	for rows.Next() {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func TestQueriesKeepToTheirIndexes(t *testing.T) {
	t.Parallel()
	r := open(t, filepath.Join(t.TempDir(), "feedgate.db"))
	page := []any{int64(1) << 50, 5, 0, 20}
	for _, q := range []struct {
		name, text string
		args       []any
		want       []string // lines that must be there, with how often
		times      int
		sorts      int // how often it sorts by itself, what an index has not in order
	}{
		{
			"cells", r.cellArms[4], append(slices.Clone(page), slices.Repeat([]any{"u33db"}, 4)...),
			[]string{"SEARCH p USING INDEX posts_by_cell (place_cell=? AND at>? AND at<?)"},
			4, 1,
		},
		{
			"authors", r.arms[4], append(slices.Clone(page), slices.Repeat([]any{7}, 4)...),
			[]string{"SEARCH p USING COVERING INDEX posts_by_author (author=? AND at>? AND at<?)"},
			4, 1,
		},
		{"recent posts", selectRecent, []any{1, 2, 3}, []string{"SEARCH posts USING INDEX posts_by_time (at<?)"}, 1, 0},
		{
			"engaged", selectEngaged, []any{1, 2}, []string{
				"SEARCH l USING COVERING INDEX", "SEARCH c USING COVERING INDEX comments_by_author (author>?)",
				"SEARCH p USING COVERING INDEX posts_by_reposter (author>?)",
			}, 1, 0,
		},
		{
			"tastes", selectTastes, []any{5, "[1,2]"}, []string{
				"SEARCH l USING COVERING INDEX likes_by_time (user=?)", "SEARCH c USING COVERING INDEX comments_by_author (author=?)",
				"SEARCH p USING COVERING INDEX posts_by_reposter (author=?)",
			}, 1, 2,
		},
		{
			"trimming views", trimViews, []any{1, 2}, []string{
				"SEARCH views USING COVERING INDEX views_by_time (user=?)",
			}, 1, 0,
		},
		{"views", selectViews, []any{1, 2, 3}, []string{"SEARCH views USING COVERING INDEX views_by_time (user=? AND at>?)"}, 1, 0},
	} {
		got := plan(t, r, q.text, q.args...)
		for _, want := range q.want {
			if n := strings.Count(got, want); n != q.times {
				t.Errorf("%s: %q is there %d times, want %d:\n%s", q.name, want, n, q.times, got)
			}
		}
		if n := strings.Count(got, "USE TEMP B-TREE FOR ORDER BY"); n != q.sorts {
			t.Errorf("%s: it sorts %d times, want %d:\n%s", q.name, n, q.sorts, got)
		}
		for _, table := range []string{"p", "posts", "l", "c", "views"} {
			if strings.Contains(got+"\n", "SCAN "+table+"\n") || strings.Contains(got, "SCAN "+table+" ") {
				t.Errorf("%s: it reads all of %s:\n%s", q.name, table, got)
			}
		}
	}
}
