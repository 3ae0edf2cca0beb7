package pdffile

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// cell is a piece of a line, apart from the others.
type cell struct {
	text       string
	start, end float64
}

// line is what stands on one height, from left to right.
type line struct {
	page  int
	y     float64
	size  float64
	bold  bool
	cells []cell
}

func (l *line) text() string {
	if len(l.cells) == 1 {
		return l.cells[0].text
	}
	var b strings.Builder
	for i, c := range l.cells {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.text)
	}
	return b.String()
}

func (l *line) left() float64  { return l.cells[0].start }
func (l *line) right() float64 { return l.cells[len(l.cells)-1].end }

// ligatures are letters that fonts draw as one.
var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st",
	"ﬆ", "st", "\u00a0", " ")

// makeLines joins the runs of a page into lines, in the order in which they came.
func makeLines(runs []run) []line {
	var (
		lines  []line
		open   *line
		chars  float64 // of the line, weighted for its size
		sizes  float64
		strong int
	)
	closeLine := func() {
		if open == nil {
			return
		}
		if chars > 0 {
			open.size = sizes / chars
			open.bold = float64(strong) > 0.6*chars
		}
		for i := range open.cells {
			open.cells[i].text = document.Clean(leaders(ligatures.Replace(open.cells[i].text)))
		}
		open.cells = slices.DeleteFunc(open.cells, func(c cell) bool { return c.text == "" })
		if len(open.cells) > 0 {
			lines = append(lines, *open)
		}
		open, chars, sizes, strong = nil, 0, 0, 0
	}
	for i := range runs {
		r := &runs[i]
		if r.text == "" || math.IsNaN(r.x+r.y+r.size+r.end) || r.size <= 0 {
			continue
		}
		if open != nil && !joins(open, r) {
			closeLine()
		}
		if open == nil {
			open = &line{y: r.y, size: r.size}
		}
		n := float64(utf8.RuneCountInString(r.text))
		chars, sizes = chars+n, sizes+n*r.size
		if r.bold {
			strong += int(n)
		}
		addRun(open, r)
	}
	closeLine()
	return lines
}

// joins reports whether a run goes on with a line: about as high, and not before
// its end; where widths are wrong, as high and behind its last beginning.
func joins(l *line, r *run) bool {
	size := max(l.size, r.size)
	apart := math.Abs(l.y - r.y)
	return apart < 0.45*size && r.x > l.right()-0.6*size || apart < 0.1*size && r.x > l.cells[len(l.cells)-1].start
}

// leader is what stands for the dots between a title and its page number.
const leader = " … "

// leaders makes one sign of such dots.
func leaders(text string) string {
	if !strings.Contains(text, "....") && !strings.Contains(text, "::::") && !strings.Contains(text, ". . . .") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		rest := strings.TrimLeft(text[i:], ".: ")
		if n := len(text) - i - len(rest); n >= 4 {
			b.WriteString(leader)
			i += n
			continue
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// addRun puts a run into the last cell of a line, or into one of its own.
func addRun(l *line, r *run) {
	n := len(l.cells) - 1
	if n < 0 || r.x-l.cells[n].end > cellGap*r.size {
		l.cells = append(l.cells, cell{r.text, r.x, r.end})
		return
	}
	c := &l.cells[n]
	if r.x-c.end > spaceGap*r.size {
		c.text += " "
	}
	c.text += r.text
	c.end = max(c.end, r.end)
}

// layOut makes blocks of all lines.
func layOut(lines []line, titles map[string]int, to *document.Builder) error {
	lines = withoutMargins(lines)
	body, levels := headingSizes(lines)
	w := writer{to: to, titles: titles, body: body, levels: levels}
	for i := 0; i < len(lines); {
		n := tableLength(lines[i:])
		var err error
		if n > 0 {
			err = w.table(lines[i : i+n])
		} else {
			n = 1
			err = w.line(lines, i)
		}
		if err != nil {
			return err
		}
		i += n
	}
	return w.flush()
}

// withoutMargins leaves out the lines that stand at the top or the bottom of most
// pages, and page numbers there.
func withoutMargins(lines []line) []line {
	edges := map[string]int{} // how many pages have such a line at an edge
	pages := 0
	edge := make([]bool, len(lines))
	for i := 0; i < len(lines); {
		j := i
		for j < len(lines) && lines[j].page == lines[i].page {
			j++
		}
		pages++
		high, low := i, i
		for k := i; k < j; k++ {
			if lines[k].y > lines[high].y {
				high = k
			}
			if lines[k].y < lines[low].y {
				low = k
			}
		}
		seen := map[string]bool{}
		for k := i; k < j; k++ {
			near := lines[k].y > lines[high].y-2.5*lines[k].size || lines[k].y < lines[low].y+2.5*lines[k].size
			if edge[k] = near && j-i > 2; edge[k] {
				if key := marginKey(lines[k].text()); !seen[key] {
					seen[key] = true
					edges[key]++
				}
			}
		}
		i = j
	}
	var kept []line
	for i := range lines {
		key := marginKey(lines[i].text())
		if edge[i] && (key == "#" || pages >= 3 && edges[key] >= max(3, pages/3)) {
			continue
		}
		kept = append(kept, lines[i])
	}
	return kept
}

// marginKey is a line with its numbers made alike.
func marginKey(text string) string {
	var b strings.Builder
	digit := false
	for _, r := range text {
		if unicode.IsDigit(r) {
			if !digit {
				b.WriteByte('#')
			}
			digit = true
			continue
		}
		digit = false
		b.WriteRune(r)
	}
	return strings.Trim(b.String(), " -–|.")
}

// headingSizes finds the size of most text, and the levels of those above it.
func headingSizes(lines []line) (body float64, levels map[int]int) {
	weight := map[int]int{}
	for i := range lines {
		weight[halfPoints(lines[i].size)] += len(lines[i].text())
	}
	most, common := 0, 0
	for size, n := range weight {
		if n > most || n == most && size > common {
			most, common = n, size
		}
	}
	var above []int
	for size := range weight {
		if float64(size) > 1.12*float64(common) {
			above = append(above, size)
		}
	}
	slices.Sort(above)
	slices.Reverse(above)
	levels = map[int]int{}
	for i, size := range above {
		levels[size] = min(i+1, 5)
	}
	return float64(common) / 2, levels
}

func halfPoints(size float64) int { return int(math.Round(min(size, 10_000) * 2)) }

// tableLength is how many lines from the first on are the rows of one table; 0
// when they are none.
func tableLength(lines []line) int {
	first := &lines[0]
	if len(first.cells) < 2 {
		return 0
	}
	n := 1
	for n < len(lines) && len(lines[n].cells) == len(first.cells) && lines[n].page == first.page &&
		aligned(&lines[n-1], &lines[n]) {
		n++
	}
	if n < 2 || n < 3 && len(first.cells) < 3 {
		return 0
	}
	return n
}

// aligned reports whether the cells of two lines stand below each other.
func aligned(a, b *line) bool {
	for i := range a.cells {
		if a.cells[i].end < b.cells[i].start || b.cells[i].end < a.cells[i].start {
			return false
		}
	}
	return b.y < a.y
}

// writer makes blocks of lines.
type writer struct {
	to     *document.Builder
	titles map[string]int
	body   float64
	levels map[int]int

	open    []string // the lines of what is open
	heading int      // its level, when it is a heading
	item    bool
	items   []document.Item
	at      document.Place
	from    document.Place // of the items
	last    *line
	gap     float64 // between the lines of the paragraph
}

// line adds one line.
func (w *writer) line(lines []line, i int) error {
	l := &lines[i]
	text := l.text()
	level := w.level(lines, i, text)
	mark, isItem := itemText(text)
	isItem = isItem && level == 0
	if w.begins(l, text, level, isItem) {
		if err := w.endBlock(isItem); err != nil {
			return err
		}
		w.heading, w.item, w.at, w.gap = level, isItem, document.Place{Page: l.page}, 0
		if isItem {
			text = mark
		}
	} else if w.last != nil && w.last.page == l.page {
		w.gap = w.last.y - l.y
	}
	w.open = append(w.open, text)
	w.last = l
	return nil
}

// level is that of a heading; 0 for other lines.
func (w *writer) level(lines []line, i int, text string) int {
	l := &lines[i]
	letters := strings.IndexFunc(text, unicode.IsLetter) >= 0
	if !letters || len(l.cells) > 2 || len(strings.Fields(text)) > 20 || strings.Contains(text, leader) {
		return 0
	}
	if len(w.titles) > 0 && (l.bold || l.size >= w.body) {
		if level := w.titles[outlineKey(text)]; level > 0 {
			return level
		}
	}
	if level := w.levels[halfPoints(l.size)]; level > 0 {
		return level
	}
	// Bold words alone on a line, apart from what stands above, are a heading too.
	words := len(strings.Fields(text))
	if !l.bold || words > 12 || strings.ContainsAny(text[len(text)-1:], ".,;") || l.size < 0.9*w.body {
		return 0
	}
	if i+1 < len(lines) && lines[i+1].page == l.page && lines[i+1].bold && math.Abs(lines[i+1].y-l.y) < 1.5*l.size {
		return 0 // bold text of several lines
	}
	if i > 0 && lines[i-1].page == l.page && lines[i-1].bold && lines[i-1].y-l.y < 1.5*l.size && lines[i-1].y > l.y {
		return 0
	}
	return min(6, len(w.levels)+1)
}

// begins reports whether a line begins a new block.
func (w *writer) begins(l *line, text string, level int, isItem bool) bool {
	if w.last == nil || len(w.open) == 0 || isItem {
		return true
	}
	drop := w.last.y - l.y
	near := w.last.page == l.page && drop > 0 && drop < 1.9*max(l.size, w.last.size)
	if level != w.heading {
		return true
	}
	if level > 0 {
		return !near // a heading of two lines
	}
	before := w.open[len(w.open)-1]
	if w.last.page != l.page || drop <= 0 { // the next column or page
		return endsSentence(before) || startsUpper(text)
	}
	switch {
	case !near, w.gap > 0 && drop > 1.35*w.gap:
		return true
	case math.Abs(l.size-w.last.size) > 0.15*w.last.size:
		return true
	case endsSentence(before) && l.left() > w.last.left()+0.8*l.size: // an indented first line
		return true
	}
	// A line that ends long before the margin ends its paragraph, if the next could begin one.
	width := max(w.last.right(), l.right()) - min(w.last.left(), l.left())
	return endsSentence(before) && startsUpper(text) && w.last.right() < l.right()-0.2*width
}

// endBlock adds what is open; a list stays open when another item follows.
func (w *writer) endBlock(itemFollows bool) error {
	text := joinLines(w.open)
	w.open = nil
	if w.item && text != "" {
		if len(w.items) == 0 {
			w.from = w.at
		}
		w.items = append(w.items, document.Item{Text: text})
		text = ""
	}
	if !itemFollows || text != "" {
		items := w.items
		w.items = nil
		if err := w.to.List(items, w.from); err != nil {
			return err
		}
	}
	if w.heading > 0 {
		return w.to.Heading(w.heading, text, w.at)
	}
	return w.to.Paragraph(text, w.at)
}

func (w *writer) flush() error { return w.endBlock(false) }

// table adds the rows of a table.
func (w *writer) table(lines []line) error {
	if err := w.flush(); err != nil {
		return err
	}
	w.last, w.item, w.heading = nil, false, 0
	rows := make([][]string, len(lines))
	for i := range lines {
		for _, c := range lines[i].cells {
			rows[i] = append(rows[i], c.text)
		}
	}
	header := 0
	if !strings.ContainsFunc(lines[0].text(), unicode.IsDigit) {
		header = 1
	}
	return w.to.Table(header, rows, document.Place{Page: lines[0].page})
}

// joinLines joins lines; a word that was cut at the end of one becomes whole.
func joinLines(lines []string) string {
	var b strings.Builder
	for i, text := range lines {
		if i+1 < len(lines) && cutWord(text, lines[i+1]) {
			b.WriteString(text[:len(text)-1])
			continue
		}
		b.WriteString(text)
		if i+1 < len(lines) {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// cutWord reports whether a line ends within a word.
func cutWord(text, next string) bool {
	if len(text) < 2 || text[len(text)-1] != '-' {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:len(text)-1])
	after, _ := utf8.DecodeRuneInString(next)
	return unicode.IsLetter(before) && unicode.IsLower(after)
}

func endsSentence(text string) bool {
	text = strings.TrimRight(text, `"')]»”’`)
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(".!?:;…。！？।۔؟", last)
}

func startsUpper(text string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(text, `"'([«“‘`))
	return !unicode.IsLower(first)
}

// itemText reads a line that begins with a bullet or a number in brackets.
func itemText(text string) (string, bool) {
	mark, rest, ok := strings.Cut(text, " ")
	if !ok || rest == "" {
		return text, false
	}
	switch mark {
	case "•", "–", "-", "·", "◦", "▪", "●", "○", "■", "□", "‣", "∙", "*", "\uf0b7", "\uf0a7", "o":
		return rest, mark != "o"
	}
	digits := strings.TrimRight(strings.TrimLeft(mark, "("), ").")
	if n := len(digits); n > 0 && n < len(mark) && n <= 2 && strings.Trim(digits, "0123456789") == "" {
		return text, true
	}
	return text, false
}
