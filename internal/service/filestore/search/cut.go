package search

import (
	"strings"
	"unicode/utf8"
)

// Passages of a file are cut to about one size, since ranking compares them.
const (
	pieceSize  = 1200 // bytes, after which the next line begins another
	pieceLeast = 500  // after which an empty line does
	// lineSize cuts a line that is longer.
	lineSize = 2 * pieceSize
)

// piece is a run of lines, or a part of a long one.
type piece struct {
	line int // the number of the first
	text string
}

// cutter cuts the lines of a text into pieces.
type cutter struct {
	pieces []piece
	open   strings.Builder
	line   int // where the open piece began; 0 when there is none
}

func (c *cutter) add(number int, line string) {
	if strings.TrimSpace(line) == "" {
		if c.open.Len() >= pieceLeast {
			c.close()
		}
		if c.line == 0 {
			return // no piece begins with an empty line
		}
	}
	if c.open.Len()+len(line) > pieceSize {
		c.close()
	}
	for len(line) > lineSize {
		at := cutPlace(line, pieceSize)
		c.pieces = append(c.pieces, piece{number, line[:at]})
		line = line[at:]
	}
	if c.line == 0 {
		c.line = number
	} else {
		c.open.WriteByte('\n')
	}
	c.open.WriteString(line)
}

func (c *cutter) close() {
	if c.line > 0 {
		c.pieces = append(c.pieces, piece{c.line, c.open.String()})
	}
	c.line = 0
	c.open.Reset()
}

// end returns all pieces.
func (c *cutter) end() []piece {
	c.close()
	return c.pieces
}

// cutPlace is where a long line is cut: after a blank near the size, or else between
// characters.
func cutPlace(line string, size int) int {
	if at := strings.LastIndexByte(line[:size], ' '); at > size/2 {
		return at + 1
	}
	for size > 0 && !utf8.RuneStart(line[size]) {
		size--
	}
	return size
}

// lastPart is the end of a text that has at most so many bytes.
func lastPart(text string, most int) string {
	if len(text) <= most {
		return text
	}
	from := len(text) - most
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}
