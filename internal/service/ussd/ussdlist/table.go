package ussdlist

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/castalia-org/castalia/internal/platform/fault"
)

// MaxShown is how many rows one search returns.
const MaxShown = 40

// Table is what a list reads: rows of texts under names. It does not change.
type Table struct {
	Columns []string
	Rows    [][]string

	// words are those of each cell, from the first search on: hops come by the thousand, and
	// taking the largest table apart for each would cost a tenth of a second.
	once  sync.Once
	words [][][]string
}

// NewTable returns the table of a first row, which names the columns, and the others.
func NewTable(columns []string, rows [][]string) (*Table, error) {
	t := &Table{Columns: columns, Rows: rows}
	switch {
	case len(columns) == 0:
		return nil, errors.New("there is no line of column names")
	case len(columns) > maxColumns:
		return nil, fmt.Errorf("there are more than %d columns", maxColumns)
	case len(rows) > maxRows:
		return nil, fmt.Errorf("there are more than %d rows", maxRows)
	}
	text := 0
	for _, row := range rows {
		for _, cell := range row {
			text += len(cell)
		}
	}
	if text > maxText {
		return nil, fmt.Errorf("there are more than %d bytes of text", maxText)
	}
	return t, nil
}

// Page is what a search found.
type Page struct {
	// Rows are the first of them, as they are shown, IDs what tells each from others.
	Rows, IDs []string
	Found     int
}

// Find returns the rows of a list that are what its variables say and have every word that was
// typed, at most MaxShown of them, and how many there are.
func (t *Table) Find(l List, language string, vars map[string]string) (p Page, err error) {
	search, err := t.indexes(l.Search)
	if err != nil {
		return p, err
	}
	names, err := Columns(l.Show[language])
	if err != nil {
		return p, err
	}
	names = slices.Concat(names, slices.Sorted(maps.Values(l.Take)), slices.Sorted(maps.Keys(l.Where)))
	if _, err := t.indexes(names); err != nil {
		return p, err
	}
	key, err := t.indexes(l.Key)
	if err != nil {
		return p, err
	}
	wanted := words(vars[varWord])
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	narrow := t.narrowing(l.Where, vars)
	for i, row := range t.Rows {
		if !narrow.fits(row) || len(wanted) > 0 && !matches(t.wordsOfCells()[i], search, wanted) {
			continue
		}
		if p.Found++; p.Found <= MaxShown {
			p.Rows, p.IDs = append(p.Rows, t.show(row, l.Show[language])), append(p.IDs, rowID(row, key))
		}
	}
	return p, nil
}

// narrowing is what columns have to say, in one line each.
type narrowing []struct {
	column int
	says   string
}

func (t *Table) narrowing(where, vars map[string]string) (n narrowing) {
	for column, variable := range where {
		n = append(n, struct {
			column int
			says   string
		}{slices.Index(t.Columns, column), oneLine(vars[variable])})
	}
	return n
}

// fits reports whether the row's columns are what the variables are. What is not known is
// in no row.
func (n narrowing) fits(row []string) bool {
	for _, one := range n {
		if one.column < 0 || one.column >= len(row) {
			return false
		}
		if has := oneLine(row[one.column]); has == "" || !strings.EqualFold(has, one.says) {
			return false
		}
	}
	return true
}

// wordsOfCells are the words of each cell, split once.
func (t *Table) wordsOfCells() [][][]string {
	t.once.Do(func() {
		t.words = make([][][]string, len(t.Rows))
		for i, row := range t.Rows {
			t.words[i] = make([][]string, len(row))
			for at, cell := range row {
				t.words[i][at] = words(cell)
			}
		}
	})
	return t.words
}

// errGone says that a row is not in the list any more.
var errGone = fault.New(fault.NotFound, "the row is not in the list any more")

// row returns the one row of an id.
func (t *Table) row(l List, id string) ([]string, error) {
	key, err := t.indexes(l.Key)
	if err != nil {
		return nil, err
	}
	at := -1
	for i, row := range t.Rows {
		if rowID(row, key) != id {
			continue
		}
		if at >= 0 && len(key) > 0 {
			return nil, fmt.Errorf("the rows %d and %d have the same key", at+1, i+1)
		}
		at = i
	}
	if at < 0 {
		return nil, errGone
	}
	return t.Rows[at], nil
}

// rowID names a row by its key, or by all of it. Every node makes the same one.
func rowID(row []string, key []int) string {
	text := make([]byte, 0, 512)
	add := func(cell string) {
		text = append(append(strconv.AppendInt(text, int64(len(cell)), 10), ':'), cell...)
	}
	for _, i := range key {
		if i < len(row) {
			add(row[i])
		} else {
			add("")
		}
	}
	if len(key) == 0 {
		for _, cell := range row {
			add(cell)
		}
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// indexes finds columns by their names.
func (t *Table) indexes(names []string) ([]int, error) {
	out := make([]int, 0, len(names))
	for _, name := range names {
		i := slices.Index(t.Columns, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no column %q", name)
		}
		out = append(out, i)
	}
	return out, nil
}

// cell is what a row has in a column.
func (t *Table) cell(row []string, column string) string {
	if i := slices.Index(t.Columns, column); i >= 0 && i < len(row) {
		return oneLine(row[i])
	}
	return ""
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// show writes a row. What is in a cell is data, and never read as a column's name.
func (t *Table) show(row []string, text string) string {
	var b strings.Builder
	for {
		before, rest, open := strings.Cut(text, "{{")
		b.WriteString(before)
		if !open {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}}")
		b.WriteString(t.cell(row, strings.TrimSpace(name)))
		text = after
	}
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// matches reports whether every wanted word begins a word of the row.
func matches(row [][]string, search []int, wanted []string) bool {
	for _, word := range wanted {
		begins := func(cell []string) bool {
			return slices.ContainsFunc(cell, func(has string) bool { return strings.HasPrefix(has, word) })
		}
		found := len(search) == 0 && slices.ContainsFunc(row, begins)
		for _, i := range search {
			found = found || i < len(row) && begins(row[i])
		}
		if !found {
			return false
		}
	}
	return true
}
