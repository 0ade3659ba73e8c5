// Package plan reads from a query what is to be loaded along with a list, and
// writes lists whose data is loaded straight as JSON.
//
// gqlgen resolves each field by itself and each element of a list in a
// goroutine of its own: about ten allocations a field. A feed that was primed
// has nothing left to resolve, so [Writer] writes it in one pass. It takes
// only what is whole: whenever a field needs more than was loaded, or failed,
// it leaves the object to gqlgen, which writes the same JSON and reports the
// errors with their paths.
package plan

import (
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"feedgate/feed"
	"feedgate/graph/model"
)

// Selection is what a query asks of the objects of one type.
type Selection struct {
	Type Type
	Need model.Part // what must be loaded for them, and for what hangs below
	// Changing tells that something is asked that may be another value tomorrow
	// though the object's id is the same, and that no part of Need stands for.
	Changing bool
	fields   []field
	direct   bool // the writer knows all of them
}

type field struct {
	key   []byte // the alias, quoted, with the colon
	op    op
	sub   *Selection
	first int // of comments
}

// RedDot gives what is asked of a red dot within the object; nil for nothing.
func (s *Selection) RedDot() *Selection {
	for i := range s.fields {
		if s.fields[i].op == opRedDot {
			return s.fields[i].sub
		}
	}
	return nil
}

// AsksForNodes reports whether a connection's objects are asked for, not only
// its cursors and its page info.
func (s *Selection) AsksForNodes() bool {
	for i := range s.fields {
		f := &s.fields[i]
		if f.op == opNodes || f.op == opEdges && f.sub.asks(opNode) {
			return true
		}
	}
	return false
}

func (s *Selection) asks(o op) bool {
	for i := range s.fields {
		if s.fields[i].op == o {
			return true
		}
	}
	return false
}

// reading makes selections of one operation.
type reading struct {
	op       *graphql.OperationContext
	fields   int
	constant bool // nothing read so far depends on variables
}

func (r *reading) compile(set ast.SelectionSet, t Type) *Selection {
	r.constant = r.constant && unconditional(set)
	collected := graphql.CollectFields(r.op, set, t.satisfies())
	s := &Selection{Type: t, fields: make([]field, len(collected)), direct: true}
	r.fields += len(collected)
	for i := range collected {
		c := &collected[i]
		f := &s.fields[i]
		d := t.field(c.Name)
		f.op = d.op
		f.key = append(append(append(make([]byte, 0, len(c.Alias)+3), '"'), c.Alias...), '"', ':')
		s.Need |= d.need
		if d.sub != noType {
			f.sub = r.compile(c.Selections, d.sub)
			if !d.apart {
				s.Need |= f.sub.Need
			}
			s.Changing = s.Changing || f.sub.Changing
		}
		s.Changing = s.Changing || d.op == opName || d.op == opAvatarURL || d.op == opBio
		switch {
		case d.op == opLoaded:
			s.direct = false
		case d.op == opComments:
			var ok bool
			f.first, ok = r.firstComments(c.Field)
			s.direct = s.direct && ok && f.sub.direct
		case f.sub != nil:
			s.direct = s.direct && f.sub.direct
		}
	}
	return s
}

// unconditional reports whether no directive decides what of a set is asked.
func unconditional(set ast.SelectionSet) bool {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			if len(sel.Directives) > 0 {
				return false
			}
		case *ast.InlineFragment:
			if len(sel.Directives) > 0 || !unconditional(sel.SelectionSet) {
				return false
			}
		case *ast.FragmentSpread:
			if len(sel.Directives) > 0 || !unconditional(sel.Definition.SelectionSet) {
				return false
			}
		}
	}
	return true
}

// firstComments gives how many comments are asked for, if it is a first page
// of a permitted size.
func (r *reading) firstComments(f *ast.Field) (int, bool) {
	var first *int
	for _, arg := range f.Arguments {
		r.constant = r.constant && arg.Value.Kind != ast.Variable
		v, err := arg.Value.Value(r.op.Variables)
		if err != nil {
			return 0, false
		}
		switch {
		case v == nil:
		case arg.Name == "first":
			n, err := graphql.UnmarshalInt(v)
			if err != nil {
				return 0, false
			}
			first = &n
		default:
			return 0, false
		}
	}
	n, err := feed.PageSize(first)
	return n, err == nil
}
