// Package ussdlist reads the lists that telephone menus show, such as prices and
// opening hours, from CSV files in one folder.
//
// It promises that a file is read again within a second of its change, that the last
// good one stays while the newer one cannot be read, and that rows are found by the
// beginnings of words in any case. It refuses files outside of the folder, files that
// are no CSV in UTF-8 with a line of column names, and larger ones than a menu has
// use for.
package ussdlist

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
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
	table   *table
	err     error // of the newest state
	size    int64
	changed time.Time
	looked  time.Time
}

type table struct {
	columns []string
	rows    [][]string
}

// NewFolder returns the folder at a path. now is the clock.
func NewFolder(dir string, now func() time.Time) *Folder {
	return &Folder{dir: dir, now: now, files: map[string]*file{}}
}

// lookEvery is how often a file is looked at.
const lookEvery = time.Second

// FindRows returns the rows of a list that have every word of the text, as they are
// shown in the language, at most MaxShown of them, and how many there are.
func (f *Folder) FindRows(l List, language, text string) (rows []string, found int, err error) {
	t, err := f.table(l.File)
	if err != nil {
		return nil, 0, fmt.Errorf("list %s: %w", l.File, err)
	}
	search, err := t.indexes(l.Search)
	if err != nil {
		return nil, 0, fmt.Errorf("list %s: %w", l.File, err)
	}
	names, err := Columns(l.Show[language])
	if err != nil {
		return nil, 0, err
	}
	if _, err := t.indexes(names); err != nil {
		return nil, 0, fmt.Errorf("list %s: %w", l.File, err)
	}
	wanted := words(text)
	for _, row := range t.rows {
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
func (f *Folder) table(name string) (*table, error) {
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

func readTable(in io.Reader) (*table, error) {
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
	t := &table{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		switch {
		case len(row) > maxColumns:
			return nil, fmt.Errorf("the file has more than %d columns", maxColumns)
		case t.columns == nil:
			t.columns = row
		case len(t.rows) == maxRows:
			return nil, fmt.Errorf("the file has more than %d rows", maxRows)
		default:
			t.rows = append(t.rows, row)
		}
	}
	if t.columns == nil {
		return nil, errors.New("the file has no line of column names")
	}
	return t, nil
}

// indexes finds columns by their names.
func (t *table) indexes(names []string) ([]int, error) {
	out := make([]int, 0, len(names))
	for _, name := range names {
		i := slices.Index(t.columns, name)
		if i < 0 {
			return nil, fmt.Errorf("the file has no column %q", name)
		}
		out = append(out, i)
	}
	return out, nil
}

// show writes a row. What is in a cell is data, and never read as a column's name.
func (t *table) show(row []string, text string) string {
	var b strings.Builder
	for {
		before, rest, open := strings.Cut(text, "{{")
		b.WriteString(before)
		if !open {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}}")
		if i := slices.Index(t.columns, strings.TrimSpace(name)); i >= 0 && i < len(row) {
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
