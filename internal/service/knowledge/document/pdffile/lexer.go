package pdffile

import (
	"strconv"
)

// token is an operand or an operator of a content stream or a CMap.
type token struct {
	kind  tokenKind
	num   float64
	text  string  // of strings, names and operators
	array []token // of arrays; dictionaries are not kept
}

type tokenKind uint8

const (
	noToken tokenKind = iota
	numberToken
	stringToken
	nameToken
	arrayToken
	operatorToken
)

// lexer reads the tokens of a stream. It never fails: what it does not understand
// it leaves out.
type lexer struct {
	data []byte
	at   int
	// reuse says that an array is not kept beyond the next one: most hold one line
	// of a page, and there are very many.
	reuse bool
	array []token
}

// maxArray and maxNested bound what a stream can make of brackets.
const (
	maxArray  = 100_000
	maxNested = 8
)

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

// next returns the next token; ok is false at the end.
func (l *lexer) next(depth int) (t token, ok bool) {
	for l.at < len(l.data) {
		c := l.data[l.at]
		switch {
		case isSpace(c):
			l.at++
		case c == '%':
			for l.at < len(l.data) && l.data[l.at] != '\n' && l.data[l.at] != '\r' {
				l.at++
			}
		case c == '(':
			return token{kind: stringToken, text: l.literal()}, true
		case c == '<' && l.at+1 < len(l.data) && l.data[l.at+1] == '<':
			l.at += 2
			l.dictionary()
			return token{}, true
		case c == '<':
			return token{kind: stringToken, text: l.hex()}, true
		case c == '[':
			l.at++
			return token{kind: arrayToken, array: l.elements(depth + 1)}, true
		case c == ']':
			l.at++
			return token{kind: operatorToken, text: "]"}, true
		case c == '/':
			l.at++
			return token{kind: nameToken, text: l.name()}, true
		case isDelimiter(c):
			l.at++
		default:
			return l.word(), true
		}
	}
	return token{}, false
}

// word reads a number or an operator.
func (l *lexer) word() token {
	from := l.at
	for l.at < len(l.data) && !isSpace(l.data[l.at]) && !isDelimiter(l.data[l.at]) {
		l.at++
	}
	text := l.data[from:l.at]
	if n, ok := number(text); ok {
		return token{kind: numberToken, num: n}
	}
	return token{kind: operatorToken, text: string(text)}
}

// number reads a decimal; most are short, so that the slow way is the exception.
func number(text []byte) (float64, bool) {
	if len(text) == 0 || (text[0] < '0' || text[0] > '9') && text[0] != '-' && text[0] != '+' && text[0] != '.' {
		return 0, false
	}
	negative, i := text[0] == '-', 0
	if negative || text[0] == '+' {
		i++
	}
	whole, scale, dot := 0.0, 1.0, false
	if len(text) > 18 {
		n, err := strconv.ParseFloat(string(text), 64)
		return n, err == nil
	}
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			whole = whole*10 + float64(c-'0')
			if dot {
				scale *= 10
			}
		case c == '.' && !dot:
			dot = true
		case c == '-': // some programs write 12-34 for what they do not know better
			i = len(text)
		default:
			return 0, false
		}
	}
	if negative {
		whole = -whole
	}
	return whole / scale, true
}

// literal reads (a string), with brackets inside and escapes.
func (l *lexer) literal() string {
	var out []byte
	depth := 0
	for l.at < len(l.data) {
		c := l.data[l.at]
		l.at++
		switch c {
		case '(':
			if depth++; depth == 1 {
				continue
			}
		case ')':
			if depth--; depth == 0 {
				return string(out)
			}
		case '\\':
			out = l.escape(out)
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

// escape reads what follows a backslash.
func (l *lexer) escape(out []byte) []byte {
	if l.at >= len(l.data) {
		return out
	}
	c := l.data[l.at]
	l.at++
	switch c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b':
		return append(out, '\b')
	case 'f':
		return append(out, '\f')
	case '\r':
		if l.at < len(l.data) && l.data[l.at] == '\n' {
			l.at++
		}
		return out
	case '\n':
		return out
	}
	if c < '0' || c > '7' {
		return append(out, c)
	}
	code := int(c - '0')
	for range 2 {
		if l.at < len(l.data) && l.data[l.at] >= '0' && l.data[l.at] <= '7' {
			code = code*8 + int(l.data[l.at]-'0')
			l.at++
		}
	}
	return append(out, byte(code))
}

// hex reads <68656C6C6F>.
func (l *lexer) hex() string {
	l.at++
	var (
		out  []byte
		high = -1
	)
	for l.at < len(l.data) {
		c := l.data[l.at]
		l.at++
		if c == '>' {
			break
		}
		digit := hexDigit(c)
		switch {
		case digit < 0:
		case high < 0:
			high = digit
		default:
			out = append(out, byte(high<<4|digit)) //nolint:gosec // two digits are a byte
			high = -1
		}
	}
	if high >= 0 {
		out = append(out, byte(high<<4)) //nolint:gosec // as above
	}
	return string(out)
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// name reads what follows a slash.
func (l *lexer) name() string {
	from, escaped := l.at, false
	for l.at < len(l.data) && !isSpace(l.data[l.at]) && !isDelimiter(l.data[l.at]) {
		escaped = escaped || l.data[l.at] == '#'
		l.at++
	}
	raw := l.data[from:l.at]
	if !escaped {
		return string(raw)
	}
	var out []byte
	for i := 0; i < len(raw); i++ {
		if raw[i] == '#' && i+2 < len(raw) && hexDigit(raw[i+1]) >= 0 && hexDigit(raw[i+2]) >= 0 {
			out = append(out, byte(hexDigit(raw[i+1])<<4|hexDigit(raw[i+2]))) //nolint:gosec // as above
			i += 2
			continue
		}
		out = append(out, raw[i])
	}
	return string(out)
}

// elements reads an array; those too deep inside others are read flat.
func (l *lexer) elements(depth int) []token {
	var out []token
	if l.reuse && depth == 1 {
		out = l.array[:0]
		defer func() { l.array = out }()
	}
	for len(out) < maxArray && depth < maxNested {
		t, ok := l.next(depth)
		if !ok || t.kind == operatorToken && t.text == "]" {
			break
		}
		out = append(out, t)
	}
	return out
}

// dictionary leaves a dictionary out.
func (l *lexer) dictionary() {
	for depth := 1; depth > 0 && l.at < len(l.data); {
		switch c := l.data[l.at]; {
		case c == '(':
			l.literal()
			continue
		case c == '<' && l.at+1 < len(l.data) && l.data[l.at+1] == '<':
			depth++
			l.at++
		case c == '>' && l.at+1 < len(l.data) && l.data[l.at+1] == '>':
			depth--
			l.at++
		}
		l.at++
	}
}

// skipImage leaves an inline picture out: everything up to EI between spaces.
func (l *lexer) skipImage() {
	for ; l.at+2 < len(l.data); l.at++ {
		if isSpace(l.data[l.at]) && l.data[l.at+1] == 'E' && l.data[l.at+2] == 'I' &&
			(l.at+3 == len(l.data) || isSpace(l.data[l.at+3])) {
			l.at += 3
			return
		}
	}
	l.at = len(l.data)
}
