// Package ussdlist reads the lists that telephone menus show, such as prices and
// opening hours, from CSV files in one folder, or from spreadsheets among the documents
// that everybody may read.
//
// It promises that a file is read again within a second of its change, a document within
// two, that the last good one stays while the newer one cannot be read, and that rows are
// found by the beginnings of words in any case. A row that was shown and chosen is that row
// or none: what changed or is gone meanwhile is said to be. It refuses files outside of the folder,
// files that are no CSV in UTF-8 with a line of column names, and larger tables than a
// menu has use for. A document that is gone, or not for everybody any more, is shown to
// nobody: for that the last good one does not count.
//
// Decision: ADR 0255, ADR 0297.
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
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// The bounds of a file.
const (
	maxFile    = 2 << 20
	maxText    = 4 << 20 // of the cells: spreadsheets are compressed
	maxRows    = 20_000
	maxColumns = 32
)

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

// NewFolder returns the folder at a path. now is the clock.
func NewFolder(dir string, now func() time.Time) *Folder {
	return &Folder{dir: dir, now: now, files: map[string]*file{}}
}

// lookEvery is how often a file is looked at.
const lookEvery = time.Second

// Table returns the rows of a list. Those of a document are those of a file of its name: so a
// menu is tried without a server.
func (f *Folder) Table(_ context.Context, l List) (*Table, error) {
	if l.Document != "" {
		return f.table(strings.TrimSuffix(path.Base(l.Document), path.Ext(l.Document)) + ".csv")
	}
	return f.table(l.File)
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
