package importer

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// keptRejects is how many refused lines a report names.
const keptRejects = 20

// ignoredNames is how many unknown fields a report tells apart.
const ignoredNames = 50

// Count is what became of the rows of one type.
type Count struct {
	Added int64 // new
	Same  int64 // there already
}

// Report is what a run did.
type Report struct {
	Files   int64
	Counts  map[string]*Count // by "users", "follows", "posts", "likes"
	Refused int64
	Rejects []Reject         // the first refused lines
	Redated int64            // posts that were dated in the future
	Ignored map[string]int64 // unknown fields, and how often they were left out
	Trimmed int64            // topics that were left out of their posts
}

func (r *Report) count(what string) *Count {
	c := r.Counts[what]
	if c == nil {
		c = &Count{}
		r.Counts[what] = c
	}
	return c
}

func (r *Report) refuse(reject Reject) {
	r.Refused++
	if len(r.Rejects) < keptRejects {
		r.Rejects = append(r.Rejects, reject)
	}
}

func (r *Report) ignore(field string) {
	if _, known := r.Ignored[field]; !known && len(r.Ignored) >= ignoredNames {
		field = "(others)"
	}
	r.Ignored[field]++
}

// Changed reports whether the run wrote anything.
func (r *Report) Changed() bool {
	for _, c := range r.Counts {
		if c.Added > 0 {
			return true
		}
	}
	return false
}

// taken is how many lines are on the record, new or there already.
func (r *Report) taken() (n int64) {
	for _, c := range r.Counts {
		n += c.Added + c.Same
	}
	return n
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	for _, what := range []string{"users", "follows", "posts", "likes"} {
		if c := r.Counts[what]; c != nil {
			fmt.Fprintf(&b, "%-8s %9d new  %9d there already\n", what, c.Added, c.Same)
		}
	}
	if r.Redated > 0 {
		fmt.Fprintf(&b, "warning: %d posts were dated in the future and got the time of their import\n", r.Redated)
	}
	if r.Trimmed > 0 {
		fmt.Fprintf(&b, "warning: %d topics were left out: a post has at most 10, of 1 to 50 characters\n", r.Trimmed)
	}
	for _, field := range slices.Sorted(maps.Keys(r.Ignored)) {
		fmt.Fprintf(&b, "warning: unknown field %q was left out %d times\n", field, r.Ignored[field])
	}
	fmt.Fprintf(&b, "refused  %9d lines\n", r.Refused)
	for _, reject := range r.Rejects {
		fmt.Fprintf(&b, "  %s line %d: %s\n", reject.File, reject.Line, reject.Reason)
	}
	if more := r.Refused - int64(len(r.Rejects)); more > 0 {
		fmt.Fprintf(&b, "  and %d more; -rejects FILE writes them all\n", more)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
