// Package textfile reads files that are text themselves: plain text, Markdown and
// tables with separators (CSV).
//
// All of them go once over their lines, and understand only what every writer
// means the same: an unusual construct becomes a paragraph, and nothing is lost.
// HTML inside Markdown is left out.
package textfile

import (
	"strings"
	"unicode"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// Plain reads plain text.
type Plain struct{}

// Format describes plain text.
func (p Plain) Format() document.Format {
	return document.Format{
		Name: "text", MediaTypes: []string{"text/plain"}, Extensions: []string{".txt", ".text", ".log", ".asc"},
		Guess: LooksLikeText, Parser: p,
	}
}

// Parse makes paragraphs of lines between empty ones, and lists of lines that
// begin like items. A short line that is numbered like a section, or in capitals,
// with empty lines around it is a heading.
func (Plain) Parse(src document.Source, to *document.Builder) error {
	text, err := Decode(src.Data)
	if err != nil {
		return err
	}
	var (
		open          []string
		number, start int
		page          int
	)
	flush := func() error {
		lines := open
		open = nil
		return plainBlock(to, lines, document.Place{Line: start, Page: page})
	}
	if strings.Contains(text, "\f") {
		if page, err = to.Page(); err != nil {
			return err
		}
	}
	for line := range strings.Lines(text) {
		number++
		for strings.HasPrefix(line, "\f") {
			if err := flush(); err != nil {
				return err
			}
			if page, err = to.Page(); err != nil {
				return err
			}
			line = line[1:]
		}
		line = strings.TrimRight(line, "\r\n\f \t")
		switch {
		case line == "":
			if err := flush(); err != nil {
				return err
			}
		case len(open) == 0:
			start = number
			fallthrough
		default:
			open = append(open, line)
		}
	}
	return flush()
}

// plainBlock adds the lines between two empty ones.
func plainBlock(to *document.Builder, lines []string, at document.Place) error {
	if len(lines) == 0 {
		return nil
	}
	if level, text, ok := plainHeading(lines); ok {
		return to.Heading(level, text, at)
	}
	if columns(lines) {
		return to.Code(strings.Join(lines, "\n"), at)
	}
	var (
		items []document.Item
		body  []string
		left  int
	)
	for _, line := range lines {
		if item, ok := plainItem(line); ok {
			if len(items) == 0 {
				left = indent(line)
			}
			item.Depth = max(0, indent(line)-left) / 2
			items = append(items, item)
		} else if len(items) > 0 {
			items[len(items)-1].Text += " " + line
		} else {
			body = append(body, line)
		}
	}
	if err := to.Paragraph(strings.Join(body, " "), at); err != nil {
		return err
	}
	if len(items) > 0 && at.Line > 0 {
		at.Line += len(body)
	}
	return to.List(items, at)
}

// plainHeading tells a heading from a short paragraph: underlined, numbered like a
// section, or in capitals.
func plainHeading(lines []string) (level int, text string, ok bool) {
	line := strings.TrimSpace(lines[0])
	if len(lines) == 2 {
		if under := strings.TrimSpace(lines[1]); len(under) >= 3 && len(line) <= 100 {
			switch {
			case strings.Trim(under, "=") == "":
				return 1, line, true
			case strings.Trim(under, "-") == "":
				return 2, line, true
			}
		}
	}
	words := len(strings.Fields(line))
	if len(lines) != 1 || words == 0 || words > 10 || len(line) > 90 || strings.ContainsAny(line[len(line)-1:], ".,;:!?") {
		return 0, "", false
	}
	if number, rest, cut := strings.Cut(line, " "); cut && isSectionNumber(number) && startsUpper(rest) {
		return min(6, 1+strings.Count(strings.Trim(number, "."), ".")), line, true
	}
	letters, upper := 0, 0
	for _, r := range line {
		if unicode.IsLetter(r) {
			letters++
			if unicode.IsUpper(r) {
				upper++
			}
		}
	}
	return 1, line, letters >= 3 && upper == letters
}

// isSectionNumber reports whether a word is 1. or 2.3 or 2.3.1.
func isSectionNumber(word string) bool {
	digits := strings.ReplaceAll(word, ".", "")
	return strings.Contains(word, ".") && digits != "" && len(digits) <= 6 && strings.Trim(digits, "0123456789") == ""
}

func startsUpper(text string) bool {
	for _, r := range text {
		return unicode.IsUpper(r)
	}
	return false
}

// plainItem reads "- text", "* text", "• text", "1) text" and the like.
func plainItem(line string) (document.Item, bool) {
	body := strings.TrimLeft(line, " \t")
	mark, rest, ok := strings.Cut(body, " ")
	if !ok || !isMark(mark) {
		return document.Item{}, false
	}
	return document.Item{Text: rest}, true
}

// isMark reports whether a word begins an item.
func isMark(word string) bool {
	switch word {
	case "-", "*", "+", "•", "–", "·", "◦", "▪":
		return true
	}
	digits := strings.TrimRight(word, ").")
	return len(digits)+1 == len(word) && len(digits) > 0 && len(digits) <= 3 && strings.Trim(digits, "0123456789") == ""
}

// indent is the width of the space before a line.
func indent(line string) int {
	width := 0
	for _, c := range line {
		switch c {
		case ' ':
			width++
		case '\t':
			width += 4
		default:
			return width
		}
	}
	return width
}

// columns reports whether lines are laid out with spaces, so that joining them
// would make nonsense: most have a gap of three spaces or a tab within.
func columns(lines []string) bool {
	gaps := 0
	for _, line := range lines {
		if body := strings.TrimSpace(line); strings.Contains(body, "   ") || strings.Contains(body, "\t") {
			gaps++
		}
	}
	return len(lines) >= 2 && gaps*3 >= len(lines)*2
}
