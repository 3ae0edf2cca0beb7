package filestoresql

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// query is SQL text with its arguments. Values only ever become arguments.
type query struct {
	sql  strings.Builder
	args []any
}

func newQuery(text string) *query {
	q := &query{args: make([]any, 0, 8)}
	q.sql.Grow(len(text) + 256) // most texts need no more
	q.sql.WriteString(text)
	return q
}

func (q *query) text() string { return q.sql.String() }

// add appends text in which every ? is the next argument.
func (q *query) add(text string, args ...any) *query {
	for {
		before, after, found := strings.Cut(text, "?")
		q.sql.WriteString(before)
		if !found {
			return q
		}
		q.args = append(q.args, args[0])
		q.sql.WriteString("$" + strconv.Itoa(len(q.args)))
		args, text = args[1:], after
	}
}

// beyond returns the first string after all that begin with a prefix, and nothing
// when there is none.
func beyond(prefix string) string {
	for prefix != "" {
		r, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch r {
		case utf8.MaxRune:
			continue
		case 0xD7FF:
			r = 0xE000 // what lies between is no character
		default:
			r++
		}
		return prefix + string(r)
	}
	return ""
}

// columns names what a scope looks at.
type columns struct{ ns, path, hidden, cid string }

var fileColumns = columns{"f.ns", "f.path", "f.hidden", "f.cid"}

// scope adds the conditions of a scope.
func (q *query) scope(s filestore.Scope, c columns) *query {
	q.add(c.ns+" = ?", s.Namespace)
	if s.Limited {
		q.in(c.cid, s.CIDs)
	}
	if len(s.Areas) == 1 {
		if root := s.Areas[0].Root; root != vfspath.Everything {
			from := strings.TrimSuffix(string(root), "/")
			q.add(" AND "+c.path+" >= ? AND "+c.path+" < ?", from, from+"0") // lets the index narrow; the exact test follows
		}
	}
	q.add(" AND (")
	for i, a := range s.Areas {
		if i > 0 {
			q.add(" OR ")
		}
		q.add("(")
		q.under(c.path, a.Root)
		q.reveal(a, c)
		q.add(")")
	}
	if len(s.Areas) == 0 {
		q.add("1 = 0")
	}
	return q.add(")")
}

// under adds the condition that a path lies in a subtree: it is Root.Contains as
// SQL.
func (q *query) under(column string, subtree vfspath.Root) *query {
	root := string(subtree)
	folder, below := strings.CutSuffix(root, "/")
	switch {
	case root == "":
		return q.add("1 = 0")
	case folder == "":
		return q.add("1 = 1")
	case below:
		return q.add("("+column+" >= ? AND "+column+" < ?)", root, folder+"0")
	default:
		return q.add("("+column+" = ? OR ("+column+" >= ? AND "+column+" < ?))", root, root+"/", root+"0")
	}
}

// reveal adds the condition that a dot-file may be seen.
func (q *query) reveal(a vfspath.Area, c columns) {
	if a.RevealsAll() {
		return
	}
	q.add(" AND (" + c.hidden + " = 0")
	for _, f := range a.Reveal {
		q.add(" OR ")
		q.under(c.path, f)
	}
	if len(a.Named) > 0 {
		q.add(" OR (1 = 1")
		q.in(c.cid, a.Named)
		q.add(")")
	}
	q.add(")")
}

// in adds that a column is one of the values.
func (q *query) in(column string, values []string) {
	if len(values) == 0 {
		q.add(" AND 1 = 0")
		return
	}
	q.add(" AND " + column + " IN (")
	for i, v := range values {
		if i > 0 {
			q.add(", ")
		}
		q.add("?", v)
	}
	q.add(")")
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
