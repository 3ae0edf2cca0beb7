// Package ussdlist reads the lists that telephone menus show, such as prices and
// opening hours, from CSV files in one folder, or from spreadsheets among the documents
// that everybody may read.
//
// It promises that a file is read again within a second of its change, a document within
// two, that the last good one stays while the newer one cannot be read, and that rows are
// found by the beginnings of words in any case. It refuses files outside of the folder,
// files that are no CSV in UTF-8 with a line of column names, and larger tables than a
// menu has use for. A document that is gone, or not for everybody any more, is shown to
// nobody: for that the last good one does not count.
//
// Decision: ADR 0255.
package ussdlist

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// The bounds of a file.
const (
	maxFile    = 2 << 20
	maxRows    = 20_000
	maxColumns = 32
	// MaxShown is how many rows one search returns.
	MaxShown = 40
)

// List is a list as a menu declares it.
type List struct {
	// File is the name of the CSV file in the folder of lists.
	File string `yaml:"file"`
	// Document is, in the place of a file, the path of a spreadsheet below the folder of
	// a collection, Collection the id of that, and Sheet one of the spreadsheet's sheets;
	// none is the first that holds a table.
	Document   string `yaml:"document"`
	Collection string `yaml:"collection"`
	Sheet      string `yaml:"sheet"`
	// Show is how a row looks in each language, with {{column}} in it.
	Show map[string]string `yaml:"show"`
	// Search names the columns in which a word is looked for; none are all.
	Search []string `yaml:"search"`
}

// Columns lists the columns that a text names as {{column}}.
func Columns(show string) (names []string, err error) {
	for {
		_, rest, open := strings.Cut(show, "{{")
		if !open {
			return names, nil
		}
		name, after, closed := strings.Cut(rest, "}}")
		if name = strings.TrimSpace(name); !closed || name == "" {
			return nil, errors.New("{{ without a column and }}")
		}
		names, show = append(names, name), after
	}
}

// Folder is a folder of CSV files. It is safe for concurrent use.
type Folder struct {
	dir string
	now func() time.Time

	mu    sync.Mutex
	files map[string]*file
}

// file is the last good table of a file, and what is known of its newest state.
type file struct {
	table   *Table
	err     error // of the newest state
	size    int64
	changed time.Time
	looked  time.Time
}

// Table is what a list reads: rows of texts under names.
type Table struct {
	Columns []string
	Rows    [][]string
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
	return t, nil
}

// NewFolder returns the folder at a path. now is the clock.
func NewFolder(dir string, now func() time.Time) *Folder {
	return &Folder{dir: dir, now: now, files: map[string]*file{}}
}

// lookEvery is how often a file is looked at.
const lookEvery = time.Second

// FindRows returns the rows of a list that have every word of the text, as they are
// shown in the language, at most MaxShown of them, and how many there are. The rows of
// a document are those of a file of its name: so a menu is tried without a server.
func (f *Folder) FindRows(_ context.Context, l List, language, text string) (rows []string, found int, err error) {
	name := l.File
	if l.Document != "" {
		name = strings.TrimSuffix(path.Base(l.Document), path.Ext(l.Document)) + ".csv"
	}
	t, err := f.table(name)
	if err != nil {
		return nil, 0, fmt.Errorf("list %s: %w", name, err)
	}
	return t.find(l, language, text)
}

// find looks for the rows of a list in its table.
func (t *Table) find(l List, language, text string) (rows []string, found int, err error) {
	search, err := t.indexes(l.Search)
	if err != nil {
		return nil, 0, fmt.Errorf("list %s%s: %w", l.File, l.Document, err)
	}
	names, err := Columns(l.Show[language])
	if err != nil {
		return nil, 0, err
	}
	if _, err := t.indexes(names); err != nil {
		return nil, 0, fmt.Errorf("list %s%s: %w", l.File, l.Document, err)
	}
	wanted := words(text)
	for _, row := range t.Rows {
		if !matches(row, search, wanted) {
			continue
		}
		if found++; found <= MaxShown {
			rows = append(rows, t.show(row, l.Show[language]))
		}
	}
	return rows, found, nil
}

// table returns the last good state of a file.
func (f *Folder) table(name string) (*Table, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	known := f.files[name]
	if known == nil {
		known = &file{}
		f.files[name] = known // names are those of menus: there are few
	}
	if known.looked.IsZero() || now.Sub(known.looked) >= lookEvery || now.Before(known.looked) {
		known.looked = now
		f.look(name, known)
	}
	if known.table == nil {
		return nil, known.err
	}
	return known.table, nil
}

// look reads the file if it is not the one that was read last.
func (f *Folder) look(name string, known *file) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		known.err = err
		return
	}
	defer func() { _ = root.Close() }()
	in, err := root.Open(name)
	if err != nil {
		known.err = err
		return
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	switch {
	case err != nil:
		known.err = err
		return
	case info.Size() == known.size && info.ModTime().Equal(known.changed):
		return
	}
	read, err := readTable(in)
	known.err, known.size, known.changed = err, info.Size(), info.ModTime()
	if err == nil {
		known.table = read
	}
}

func readTable(in io.Reader) (*Table, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxFile:
		return nil, errors.New("the file is larger than 2 MiB")
	case !utf8.Valid(text):
		return nil, errors.New("the file is not UTF-8")
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // spreadsheets put it there
	r := csv.NewReader(bytes.NewReader(text))
	head, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.Count(head, []byte(";")) > bytes.Count(head, []byte(",")) {
		r.Comma = ';' // as spreadsheets write where the comma is in numbers
	}
	r.FieldsPerRecord = -1
	r.TrimLeadingSpace = true
	var columns []string
	var rows [][]string
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return NewTable(columns, rows)
		}
		if err != nil {
			return nil, err
		}
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		switch {
		case columns == nil:
			columns = row
		case len(rows) > maxRows || len(row) > maxColumns:
			return nil, fmt.Errorf("the file has more than %d rows, or a row of more than %d cells", maxRows, maxColumns)
		default:
			rows = append(rows, row)
		}
	}
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
		if i := slices.Index(t.Columns, strings.TrimSpace(name)); i >= 0 && i < len(row) {
			b.WriteString(strings.Join(strings.Fields(row[i]), " "))
		}
		text = after
	}
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// matches reports whether every wanted word begins a word of the row.
func matches(row []string, search []int, wanted []string) bool {
	if len(wanted) == 0 {
		return true
	}
	var all []string
	if len(search) == 0 {
		all = words(strings.Join(row, " "))
	}
	for _, i := range search {
		if i < len(row) {
			all = append(all, words(row[i])...)
		}
	}
	for _, word := range wanted {
		if !slices.ContainsFunc(all, func(has string) bool { return strings.HasPrefix(has, word) }) {
			return false
		}
	}
	return true
}
