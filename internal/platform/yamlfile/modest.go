package yamlfile

import (
	"errors"
	"fmt"
)

// The bounds of what the library's scanner takes time by the square of.
const (
	// MaxBlank is how many ends of lines may follow each other, with nothing but blanks between: of
	// a block of text it cuts off those at its end one by one, and copies the block for each.
	MaxBlank = 200
	// MaxAngles is how many < may stand in a row: behind each it counts those that follow.
	MaxAngles = 200
	// MaxTabs is how many letters may stand behind tabs on their lines, for each tab: within
	// quotes it looks for the end of the line behind each.
	MaxTabs = 64 << 20
)

var (
	errBlank  = fmt.Errorf("more than %d empty lines in a row", MaxBlank)
	errAngles = fmt.Errorf("more than %d < in a row", MaxAngles)
	errTabs   = errors.New("too many tabs on long lines")
)

// run is what is counted of a text, letter by letter, before the library sees it.
type run struct {
	line          int // the number of the line
	began         int // where it begins
	tabs          int // on this line
	behind        int // the letters behind tabs, on all lines before
	blank, angles int // in a row
	before        byte
}

// scannable refuses a text that the scanner would take long for.
func scannable(source []byte) error {
	r := run{line: 1}
	for i, c := range source {
		if err := r.add(i, c); err != nil {
			return fmt.Errorf("line %d: %w", r.line, err)
		}
		r.before = c
	}
	if r.endLine(len(source)); r.behind > MaxTabs {
		return fmt.Errorf("line %d: %w", r.line, errTabs)
	}
	return nil
}

func (r *run) add(at int, c byte) error {
	if c != '<' {
		r.angles = 0
	}
	switch c {
	case '\n', '\r':
		if r.endLine(at); r.behind > MaxTabs {
			return errTabs
		}
		r.began = at + 1
		if r.before != '\r' || c != '\n' { // \r\n ends one line
			r.line++
			r.blank++
		}
		if r.blank > MaxBlank {
			return errBlank
		}
	case '\t':
		r.tabs++
	case ' ':
	case '<':
		r.blank = 0
		if r.angles++; r.angles > MaxAngles {
			return errAngles
		}
	default:
		r.blank = 0
	}
	return nil
}

// endLine counts each tab of a line as if it were the first letter of it.
func (r *run) endLine(at int) {
	r.behind += r.tabs * (at - r.began)
	r.tabs = 0
}
