package textfile

import (
	"strings"
	"unicode"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// Markdown reads Markdown as GitHub means it.
type Markdown struct{}

// Format describes Markdown.
func (m Markdown) Format() document.Format {
	return document.Format{
		Name: "markdown", MediaTypes: []string{"text/markdown", "text/x-markdown"}, Extensions: []string{".md", ".markdown", ".mdown", ".mkd"}, Parser: m,
	}
}

// Parse goes over the lines once.
func (Markdown) Parse(src document.Source, to *document.Builder) error {
	text, err := Decode(src.Data)
	if err != nil {
		return err
	}
	m := markdown{to: to, lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
	m.frontMatter()
	for m.next < len(m.lines) {
		if err := m.line(); err != nil {
			return err
		}
	}
	return m.flush()
}

// markdown is the work on one text.
type markdown struct {
	to    *document.Builder
	lines []string
	next  int
	// paragraph and items are what is open, since the line start (from 1).
	paragraph []string
	items     []document.Item
	start     int
	blank     bool // the line before is empty
}

// frontMatter reads a title and a language from the lines between two "---".
func (m *markdown) frontMatter() {
	if strings.TrimRight(m.lines[0], " ") != "---" {
		return
	}
	for i, line := range m.lines[1:min(len(m.lines), 100)] {
		if line == "---" || line == "..." {
			m.next = i + 2
			break
		}
	}
	for _, line := range m.lines[1:max(1, m.next)] {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.Trim(strings.TrimSpace(value), `"'`); key {
		case "title":
			m.to.Title(value)
		case "lang", "language":
			m.to.Language(value)
		}
	}
}

// line reads one line, or the block that begins with it.
func (m *markdown) line() error {
	raw := m.lines[m.next]
	line := strings.TrimRight(raw, " \t")
	body := strings.TrimLeft(line, " \t")
	wide := indent(line)
	wasBlank := m.blank
	m.blank = body == ""
	switch {
	case body == "":
		m.next++
		if len(m.items) > 0 {
			return nil // a list goes on after an empty line if an item follows
		}
		return m.flush()
	case strings.HasPrefix(body, "```"), strings.HasPrefix(body, "~~~"):
		return m.fence(body)
	case strings.HasPrefix(body, "<!--"):
		return m.comment()
	}
	for strings.HasPrefix(body, ">") { // a quotation is read like what it quotes
		body = strings.TrimLeft(body[1:], " ")
	}
	if level, text, ok := atxHeading(body); ok && wide < 4 {
		return m.heading(level, text)
	}
	if len(m.paragraph) > 0 && wide < 4 {
		if level := setext(body); level > 0 {
			text := strings.Join(m.paragraph, " ")
			m.paragraph = nil
			return m.heading(level, text)
		}
	}
	if isRule(body) {
		m.next++
		return m.flush()
	}
	if m.next+1 < len(m.lines) && strings.Contains(body, "|") && isTableRule(m.lines[m.next+1]) {
		return m.table()
	}
	if item, ok := plainItem(body); ok && (wide < 4 || len(m.items) > 0) && (len(m.paragraph) == 0 || !isNumbered(body)) {
		if len(m.items) == 0 {
			if err := m.flush(); err != nil {
				return err
			}
			m.start = m.next + 1
		}
		item.Depth = wide / 2
		m.items = append(m.items, item)
		m.next++
		return nil
	}
	if n := len(m.items); n > 0 && (!wasBlank || wide >= 2) {
		m.items[n-1].Text += " " + body
		m.next++
		return nil
	}
	if wide >= 4 && len(m.paragraph) == 0 {
		return m.indented()
	}
	if len(m.items) > 0 || len(m.paragraph) == 0 {
		if err := m.flush(); err != nil {
			return err
		}
		m.start = m.next + 1
	}
	m.paragraph = append(m.paragraph, body)
	m.next++
	return nil
}

// flush adds what is open.
func (m *markdown) flush() error {
	paragraph, items, at := m.paragraph, m.items, document.Place{Line: m.start}
	m.paragraph, m.items = nil, nil
	for i := range items {
		items[i].Text = inline(items[i].Text)
		items[i].Text = strings.TrimPrefix(strings.TrimPrefix(items[i].Text, "[ ] "), "[x] ")
	}
	if err := m.to.List(items, at); err != nil {
		return err
	}
	return m.to.Paragraph(inline(strings.Join(paragraph, " ")), at)
}

func (m *markdown) heading(level int, text string) error {
	if err := m.flush(); err != nil {
		return err
	}
	m.next++
	text = inline(text)
	return m.to.Heading(level, text, document.Place{Line: m.next, Anchor: Slug(text)})
}

// fence reads code until its end, or the text's.
func (m *markdown) fence(opening string) error {
	if err := m.flush(); err != nil {
		return err
	}
	mark := opening[:len(opening)-len(strings.TrimLeft(opening, opening[:1]))]
	from := m.next + 1
	end := from
	for end < len(m.lines) {
		if line := strings.TrimSpace(m.lines[end]); strings.HasPrefix(line, mark) && strings.Trim(line, mark[:1]) == "" {
			break
		}
		end++
	}
	m.next = min(end+1, len(m.lines))
	return m.to.Code(strings.Join(m.lines[min(from, end):end], "\n"), document.Place{Line: from + 1})
}

// indented reads code that is indented.
func (m *markdown) indented() error {
	if err := m.flush(); err != nil {
		return err
	}
	from := m.next
	for m.next < len(m.lines) && (indent(m.lines[m.next]) >= 4 || strings.TrimSpace(m.lines[m.next]) == "") {
		m.next++
	}
	return m.to.Code(strings.Join(m.lines[from:m.next], "\n"), document.Place{Line: from + 1})
}

// comment leaves a comment out.
func (m *markdown) comment() error {
	for m.next < len(m.lines) {
		m.next++
		if strings.Contains(m.lines[m.next-1], "-->") {
			break
		}
	}
	return nil
}

// table reads a table with its header.
func (m *markdown) table() error {
	if err := m.flush(); err != nil {
		return err
	}
	at := document.Place{Line: m.next + 1}
	rows := [][]string{cells(m.lines[m.next])}
	m.next += 2
	for m.next < len(m.lines) && strings.Contains(m.lines[m.next], "|") {
		rows = append(rows, cells(m.lines[m.next]))
		m.next++
	}
	return m.to.Table(1, rows, at)
}

func cells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	line = strings.ReplaceAll(line, `\|`, "\x00")
	row := strings.Split(line, "|")
	for i := range row {
		row[i] = inline(strings.ReplaceAll(row[i], "\x00", "|"))
	}
	return row
}

func atxHeading(line string) (level int, text string, ok bool) {
	text = strings.TrimLeft(line, "#")
	level = len(line) - len(text)
	if level == 0 || level > 6 || text != "" && text[0] != ' ' && text[0] != '\t' {
		return 0, "", false
	}
	text = strings.TrimSpace(text)
	if trimmed := strings.TrimRight(text, "#"); trimmed == "" || strings.HasSuffix(trimmed, " ") {
		text = strings.TrimSpace(trimmed)
	}
	return level, text, true
}

// setext is the level of the heading that a line underlines.
func setext(line string) int {
	switch {
	case line != "" && strings.Trim(line, "=") == "":
		return 1
	case len(line) > 1 && strings.Trim(line, "-") == "":
		return 2
	}
	return 0
}

func isRule(line string) bool {
	packed := strings.ReplaceAll(line, " ", "")
	return len(packed) >= 3 && strings.Contains("-*_", packed[:1]) && strings.Trim(packed, packed[:1]) == ""
}

func isNumbered(line string) bool { return line[0] >= '0' && line[0] <= '9' }

func isTableRule(line string) bool {
	line = strings.TrimSpace(line)
	return strings.Contains(line, "-") && strings.Trim(line, "|-: \t") == ""
}

// Slug is the fragment by which GitHub and most others reach a heading.
func Slug(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.In(r, unicode.Letter, unicode.Digit, unicode.Mark):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
