package textfile

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// inline returns what a reader sees of a line of Markdown: without emphasis, with
// the words of links and pictures and without their addresses, without tags.
func inline(text string) string {
	if !strings.ContainsAny(text, "\\`*_[<&~!") {
		return text
	}
	var (
		b    strings.Builder
		last rune
	)
	b.Grow(len(text))
	for i := 0; i < len(text); {
		rest := text[i:]
		r, size := utf8.DecodeRuneInString(rest)
		shown, used := string(r), size
		switch r {
		case '\\':
			if len(rest) > 1 && rest[1] < utf8.RuneSelf && unicode.In(rune(rest[1]), unicode.Punct, unicode.Symbol) {
				shown, used = rest[1:2], 2
			}
		case '`':
			shown, used = codeSpan(rest)
		case '*', '~':
			if r == '*' || strings.HasPrefix(rest, "~~") {
				shown, used = "", len(rest)-len(strings.TrimLeft(rest, rest[:1]))
				if r == '*' && last == ' ' && used < len(rest) && rest[used] == ' ' {
					shown = rest[:used] // a star between spaces is itself
				}
			}
		case '_':
			run := len(rest) - len(strings.TrimLeft(rest, "_"))
			next, _ := utf8.DecodeRuneInString(rest[run:])
			if !isWord(last) || !isWord(next) { // inside a word it is a letter
				shown, used = "", run
			}
		case '!':
			if strings.HasPrefix(rest, "![") {
				shown = ""
			}
		case '[':
			if label, n := linkTarget(rest); n > 0 {
				shown, used = inline(label), n
			}
		case '<':
			if end := strings.IndexByte(rest[:min(len(rest), 2000)], '>'); end > 0 && isTag(rest[1:end]) {
				shown, used = tagText(rest[1:end]), end+1
			}
		}
		b.WriteString(shown)
		i += used
		last, _ = utf8.DecodeLastRuneInString(text[:i])
	}
	return html.UnescapeString(b.String())
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// codeSpan reads `code`.
func codeSpan(text string) (shown string, used int) {
	mark := text[:len(text)-len(strings.TrimLeft(text, "`"))]
	if len(mark) > 8 {
		return "", len(mark)
	}
	body, _, ok := strings.Cut(text[len(mark):], mark)
	if !ok {
		return "", len(mark)
	}
	return html.EscapeString(strings.TrimSpace(body)), 2*len(mark) + len(body)
}

// maxLabel bounds how far a bracket is looked for, so that brackets which never
// close cost no more than their line.
const maxLabel = 500

// linkTarget reads [label](address) and [label][reference]; used is 0 when it is none.
func linkTarget(text string) (label string, used int) {
	depth, end := 0, -1
	for i := range min(len(text), maxLabel) {
		switch text[i] {
		case '[':
			depth++
		case ']':
			depth--
		}
		if depth == 0 {
			end = i
			break
		}
	}
	if end < 0 || end+1 >= len(text) || depthOf(text[:end]) > 4 {
		return "", 0
	}
	label = text[1:end]
	rest := text[end+1:]
	closing := map[byte]string{'(': ")", '[': "]"}[rest[0]]
	if closing == "" {
		return "", 0
	}
	stop := strings.Index(rest[:min(len(rest), 4*maxLabel)], closing)
	if stop < 0 {
		return "", 0
	}
	return label, end + 1 + stop + 1
}

// depthOf counts opening brackets: labels inside labels are read one inside the other.
func depthOf(text string) int { return strings.Count(text, "[") }

// isTag reports whether what stands between < and > is a tag or an address.
func isTag(body string) bool {
	first := body[0]
	return first == '/' || first == '!' || first >= 'a' && first <= 'z' || first >= 'A' && first <= 'Z'
}

// tagText is what a tag shows: an address itself, a break a space.
func tagText(body string) string {
	switch {
	case strings.Contains(body, "://") && !strings.ContainsAny(body, " \""):
		return body
	case strings.HasPrefix(body, "br"), strings.HasPrefix(body, "/td"), strings.HasPrefix(body, "/p"),
		strings.HasPrefix(body, "/li"):
		return " "
	}
	return ""
}
