package analyse

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Span is a piece of a text by its bytes.
type Span struct{ Start, End int }

// Sentences cuts a text at the ends of sentences and at line breaks that end a
// list's item, a table's row or a paragraph. The spans lie in the text in order
// and hold no blanks at their ends.
func Sentences(text string) []Span {
	var out []Span
	start := 0
	emit := func(end int) {
		piece := text[start:end]
		left := len(piece) - len(strings.TrimLeftFunc(piece, unicode.IsSpace))
		piece = strings.TrimSpace(piece)
		if piece != "" {
			out = append(out, Span{start + left, start + left + len(piece)})
		}
		start = end
	}
	for i := 0; i < len(text); {
		r, size := decode(text, i)
		next := i + size
		switch r {
		case '\n':
			if next < len(text) && endsLine(text, start, next) {
				emit(next)
			}
		case '!', '?', '؟', '।', '。', '！', '？', '…', '۔', '፡':
			next = closeSentence(text, next)
			emit(next)
		case '.':
			closed := closeSentence(text, next)
			if isFullStop(text, start, i, closed) {
				next = closed
				emit(next)
			}
		}
		i = next
	}
	emit(len(text))
	return out
}

// closeSentence steps over what belongs to the end of a sentence.
func closeSentence(text string, i int) int {
	for i < len(text) {
		r, size := decode(text, i)
		if !strings.ContainsRune(`.!?"')]»”’*_`, r) {
			break
		}
		i += size
	}
	return i
}

// isFullStop tells the end of a sentence from the point of an abbreviation, a
// number or an address.
func isFullStop(text string, start, point, after int) bool {
	if after >= len(text) {
		return true
	}
	r, _ := decode(text, after)
	if !unicode.IsSpace(r) {
		return false
	}
	next := strings.TrimLeftFunc(text[after:], unicode.IsSpace)
	first, _ := utf8.DecodeRuneInString(next)
	if unicode.IsLower(first) {
		return false
	}
	last := text[start:point]
	last = last[strings.LastIndexFunc(last, unicode.IsSpace)+1:]
	last = strings.TrimLeft(last, `("'[*_`)
	if utf8.RuneCountInString(last) == 1 && last != "" && unicode.IsUpper([]rune(last)[0]) {
		return false // the initial of a name
	}
	switch strings.ToLower(last) {
	case "dr", "mr", "mrs", "ms", "prof", "st", "no", "nr", "vs", "etc", "e.g", "i.e", "art", "sr", "sra", "dra", "núm",
		"mme", "m", "bw", "bi", "fig", "p":
		return false
	}
	if strings.Trim(last, "0123456789") == "" && strings.TrimSpace(text[start:point]) == last {
		return false // the number of a list's item
	}
	return true
}

// endsLine reports whether a line break is more than the wrapping of a text: a
// blank line, a list or a table follows, or the line before was one's part.
func endsLine(text string, start, next int) bool {
	line := text[next:]
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	line = strings.TrimSpace(line)
	if line == "" || isItem(line) {
		return true
	}
	before := strings.TrimSpace(text[start:next])
	return strings.HasPrefix(before, "|") || strings.HasPrefix(before, "#")
}

func isItem(line string) bool {
	if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "+ ") ||
		strings.HasPrefix(line, "• ") || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") {
		return true
	}
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	return digits > 0 && digits < 4 && len(line) > digits+1 && (line[digits] == '.' || line[digits] == ')') &&
		line[digits+1] == ' '
}
