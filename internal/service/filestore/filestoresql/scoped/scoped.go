// Package scoped writes queries of which a scope is a part. It promises that values only
// ever become arguments, and that what a scope does not show is not selected.
package scoped

import (
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// Query is SQL text with its arguments. Values only ever become arguments.
type Query struct {
	sql strings.Builder

	// Args are the arguments, in their order.
	Args []any
}

// New begins a query.
func New(text string) *Query {
	q := &Query{Args: make([]any, 0, 8)}
	q.sql.Grow(len(text) + 256) // most texts need no more
	q.sql.WriteString(text)
	return q
}

// Text is the query so far.
func (q *Query) Text() string { return q.sql.String() }

// Add appends text in which every ? is the next argument.
func (q *Query) Add(text string, args ...any) *Query {
	for {
		before, after, found := strings.Cut(text, "?")
		q.sql.WriteString(before)
		if !found {
			return q
		}
		q.Args = append(q.Args, args[0])
		q.sql.WriteString("$" + strconv.Itoa(len(q.Args)))
		args, text = args[1:], after
	}
}

// Columns names what a scope looks at.
type Columns struct{ NS, Path, Hidden, CID string }

// Scope adds the conditions of a scope.
func (q *Query) Scope(s filestore.Scope, c Columns) *Query {
	q.Add(c.NS+" = ?", s.Namespace)
	if s.Limited {
		q.In(c.CID, s.CIDs)
	}
	if len(s.Areas) == 1 {
		if root := s.Areas[0].Root; root != vfspath.Everything {
			from := strings.TrimSuffix(string(root), "/")
			q.Add(" AND "+c.Path+" >= ? AND "+c.Path+" < ?", from, from+"0") // lets the index narrow; the exact test follows
		}
	}
	q.Add(" AND (")
	for i, a := range s.Areas {
		if i > 0 {
			q.Add(" OR ")
		}
		q.Add("(")
		q.Under(c.Path, a.Root)
		q.reveal(a, c)
		q.Add(")")
	}
	if len(s.Areas) == 0 {
		q.Add("1 = 0")
	}
	return q.Add(")")
}

// Under adds the condition that a path lies in a subtree: it is Root.Contains as
// SQL.
func (q *Query) Under(column string, subtree vfspath.Root) *Query {
	root := string(subtree)
	folder, below := strings.CutSuffix(root, "/")
	switch {
	case root == "":
		return q.Add("1 = 0")
	case folder == "":
		return q.Add("1 = 1")
	case below:
		return q.Add("("+column+" >= ? AND "+column+" < ?)", root, folder+"0")
	default:
		return q.Add("("+column+" = ? OR ("+column+" >= ? AND "+column+" < ?))", root, root+"/", root+"0")
	}
}

// reveal adds the condition that a dot-file may be seen.
func (q *Query) reveal(a vfspath.Area, c Columns) {
	if a.RevealsAll() {
		return
	}
	q.Add(" AND (" + c.Hidden + " = 0")
	for _, f := range a.Reveal {
		q.Add(" OR ")
		q.Under(c.Path, f)
	}
	if len(a.Named) > 0 {
		q.Add(" OR (1 = 1")
		q.In(c.CID, a.Named)
		q.Add(")")
	}
	q.Add(")")
}

// In adds that a column is one of the values.
func (q *Query) In(column string, values []string) {
	if len(values) == 0 {
		q.Add(" AND 1 = 0")
		return
	}
	q.Add(" AND " + column + " IN (")
	for i, v := range values {
		if i > 0 {
			q.Add(", ")
		}
		q.Add("?", v)
	}
	q.Add(")")
}
