// Package sheet makes tables of the rows of a spreadsheet.
//
// The sheet's name is a heading above what it holds.
//
// A sheet is often more than one table: a title in a row of its own, a table with
// its header, an empty row, another table. Rows that hold one cell become
// paragraphs, an empty row ends a table, and the first row of a table is its header
// when it holds words and no numbers. The package keeps the limits on rows.
package sheet

import (
	"errors"
	"strconv"
	"strings"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// Sheet collects the rows of one sheet.
type Sheet struct {
	to    *document.Builder
	name  string
	rows  [][]string
	first int // the number of the first of the rows
	last  int
	seen  int // rows that held something
	bytes int
	named bool
}

// maxCell is what spreadsheets themselves allow, in bytes of the longest characters.
const maxCell = 128 << 10

// New begins a sheet; name is empty where a file has only one.
func New(to *document.Builder, name string) *Sheet { return &Sheet{to: to, name: name} }

// Row adds a row with its number, from 1. It fails with document.ErrFull when the
// document is full, and with ErrRows when the sheet has too many rows. The cells are
// copied.
func (s *Sheet) Row(number int, cells []string) error {
	limits := s.to.Limits()
	cells = s.to.Columns(cells)
	row := make([]string, len(cells))
	filled, width := 0, 0
	for i, cell := range cells {
		if s.bytes > limits.Text {
			break
		}
		if row[i] = document.Clean(cell[:min(len(cell), maxCell)]); row[i] != "" {
			filled, width = filled+1, i+1
			s.bytes += len(row[i])
		}
	}
	row = row[:width]
	if len(s.rows) > 0 && (filled == 0 || number != s.last+1) {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if filled == 0 {
		return nil
	}
	if s.seen++; s.seen > limits.Rows {
		s.to.TooManyRows(document.Place{Part: s.name})
		return ErrRows
	}
	if s.bytes > limits.Text { // more than can be kept
		if err := s.flush(); err != nil {
			return err
		}
	}
	if len(s.rows) == 0 {
		if filled == 1 {
			return s.alone(number, row[width-1])
		}
		s.first = number
	}
	s.rows = append(s.rows, row)
	s.last = number
	return nil
}

// ErrRows ends a sheet that has too many rows; the next one may follow.
var ErrRows = errors.New("the sheet has too many rows")

// Close ends the sheet.
func (s *Sheet) Close() error { return s.flush() }

func (s *Sheet) place(row int) document.Place { return document.Place{Part: s.name, Line: row} }

// title adds the sheet's name before the first thing that it holds.
func (s *Sheet) title() error {
	if s.named || s.name == "" {
		return nil
	}
	s.named = true
	return s.to.Heading(1, s.name, document.Place{Part: s.name})
}

// alone adds a row of one cell.
func (s *Sheet) alone(number int, text string) error {
	if err := s.title(); err != nil {
		return err
	}
	return s.to.Paragraph(text, s.place(number))
}

// flush adds the table that was collected.
func (s *Sheet) flush() error {
	rows := s.rows
	s.rows, s.bytes = nil, 0
	if len(rows) == 0 {
		return nil
	}
	if err := s.title(); err != nil {
		return err
	}
	header := 0
	if len(rows) > 1 && words(rows[0]) {
		header = 1
	}
	return s.to.Table(header, rows, s.place(s.first))
}

// words reports whether no cell of a row is a number.
func words(row []string) bool {
	for _, cell := range row {
		if _, err := strconv.ParseFloat(strings.TrimRight(strings.ReplaceAll(cell, ",", ""), "%"), 64); err == nil {
			return false
		}
	}
	return true
}
