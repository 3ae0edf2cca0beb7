package packed

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// Scanner goes over the elements and texts of XML. Names are without their
// prefix: the parts of offices are told apart by where they stand, not by names
// from elsewhere. encoding/xml makes values of all that it meets; with it, a document
// of an office cost two and a half times as much. A fuzz target holds the two
// together. It knows the five
// entities of XML and no others: a document that defines its own is damaged.
type Scanner struct {
	data  []byte
	at    int
	depth int
	most  int
	names map[string]string // each name once

	start, end string
	attributes []byte
	text       []byte
	closing    bool // the element that began is empty: its end comes next
}

// Scan begins to read XML that may be at most so deep.
func Scan(data []byte, depth int) *Scanner {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		if plain, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Bytes(data); err == nil {
			data = plain
		}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	return &Scanner{data: data, most: depth, names: map[string]string{}}
}

// Next goes on; false is the end. Damage ends it with an error.
func (s *Scanner) Next() (bool, error) {
	if s.closing {
		s.closing = false
		s.start, s.end, s.attributes = "", s.start, nil
		s.depth--
		return true, nil
	}
	s.start, s.end, s.attributes, s.text = "", "", nil, nil
	for s.at < len(s.data) {
		if s.data[s.at] != '<' {
			return s.readText()
		}
		rest := s.data[s.at:]
		var skipped bool
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			skipped = s.skipPast("-->", 4)
		case bytes.HasPrefix(rest, []byte("<![CDATA[")):
			from := s.at + len("<![CDATA[")
			if !s.skipPast("]]>", len("<![CDATA[")) {
				return false, document.ErrDamaged
			}
			s.text = s.data[from : s.at-len("]]>")]
			return true, nil
		case bytes.HasPrefix(rest, []byte("<?")):
			skipped = s.skipPast("?>", 2)
		case bytes.HasPrefix(rest, []byte("<!")):
			skipped = s.skipDirective()
		case bytes.HasPrefix(rest, []byte("</")):
			return s.readEnd()
		default:
			return s.readStart()
		}
		if !skipped {
			return false, document.ErrDamaged
		}
	}
	if s.depth != 0 {
		return false, document.ErrDamaged
	}
	return false, nil
}

// skipPast goes behind a mark; false when there is none.
func (s *Scanner) skipPast(mark string, from int) bool {
	at := bytes.Index(s.data[min(s.at+from, len(s.data)):], []byte(mark))
	if at < 0 {
		return false
	}
	s.at += from + at + len(mark)
	return true
}

// skipDirective goes behind a <!DOCTYPE>, whatever it defines.
func (s *Scanner) skipDirective() bool {
	depth, quote := 0, byte(0)
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '<':
			depth++
		case c == '>':
			if depth--; depth == 0 {
				s.at++
				return true
			}
		}
	}
	return false
}

func (s *Scanner) readText() (bool, error) {
	end := bytes.IndexByte(s.data[s.at:], '<')
	if end < 0 {
		end = len(s.data) - s.at
	}
	text, ok := unescape(s.data[s.at : s.at+end])
	s.at += end
	if !ok {
		return false, document.ErrDamaged
	}
	s.text = text
	return true, nil
}

func (s *Scanner) readEnd() (bool, error) {
	end := bytes.IndexByte(s.data[s.at:], '>')
	if end < 0 {
		return false, document.ErrDamaged
	}
	name := bytes.TrimRight(s.data[s.at+2:s.at+end], " \t\r\n")
	s.at += end + 1
	if s.depth--; s.depth < 0 || len(name) == 0 {
		return false, document.ErrDamaged
	}
	s.end = s.local(name)
	return true, nil
}

func (s *Scanner) readStart() (bool, error) {
	from := s.at + 1
	at, quote := from, byte(0)
	for ; at < len(s.data); at++ {
		c := s.data[at]
		if quote != 0 {
			// A value is long more often than a tag: the quote is looked for at once.
			next := bytes.IndexByte(s.data[at:], quote)
			if next < 0 {
				return false, document.ErrDamaged
			}
			at, quote = at+next, 0
			continue
		}
		if c == '>' || c == '<' {
			break
		}
		if c == '"' || c == '\'' {
			quote = c
		}
	}
	if at >= len(s.data) || s.data[at] != '>' {
		return false, document.ErrDamaged
	}
	body := s.data[from:at]
	s.at = at + 1
	if n := len(body); n > 0 && body[n-1] == '/' {
		body, s.closing = body[:n-1], true
	}
	name := body
	if space := bytes.IndexAny(body, " \t\r\n"); space >= 0 {
		name, s.attributes = body[:space], body[space:]
	}
	if len(name) == 0 {
		return false, document.ErrDamaged
	}
	if s.depth++; s.depth > s.most {
		return false, ErrTooDeep
	}
	s.start = s.local(name)
	return true, nil
}

// local is a name without its prefix.
func (s *Scanner) local(name []byte) string {
	if known, ok := s.names[string(name)]; ok {
		return known
	}
	short := string(name)
	if prefix, rest, ok := strings.Cut(short, ":"); ok && prefix != "" && rest != "" {
		short = rest
	}
	if len(s.names) < 10_000 {
		s.names[string(name)] = short
	}
	return short
}

// Start is the name of the element that begins here; empty when none does.
func (s *Scanner) Start() string { return s.start }

// End is the name of the element that ends here; empty when none does.
func (s *Scanner) End() string { return s.end }

// Text is the text here.
func (s *Scanner) Text() string { return string(s.text) }

// Attr is an attribute of the element that begins here; empty when it has none.
func (s *Scanner) Attr(name string) string {
	for rest := s.attributes; len(rest) > 0; {
		equals := bytes.IndexByte(rest, '=')
		if equals < 0 {
			return ""
		}
		key := bytes.TrimSpace(rest[:equals])
		rest = bytes.TrimLeft(rest[equals+1:], " \t\r\n")
		if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
			return ""
		}
		end := bytes.IndexByte(rest[1:], rest[0])
		if end < 0 {
			return ""
		}
		value := rest[1 : end+1]
		rest = rest[end+2:]
		if colon := bytes.IndexByte(key, ':'); string(key) == name || colon > 0 && string(key[colon+1:]) == name {
			plain, _ := unescape(value)
			return string(plain)
		}
	}
	return ""
}

// unescape resolves entities; ok is false when one is not XML's.
func unescape(text []byte) (plain []byte, ok bool) {
	amp := bytes.IndexByte(text, '&')
	if amp < 0 {
		return text, true
	}
	plain = make([]byte, 0, len(text))
	for amp >= 0 {
		plain = append(plain, text[:amp]...)
		text = text[amp:]
		end := bytes.IndexByte(text[:min(len(text), 16)], ';')
		if end < 0 {
			return nil, false
		}
		r, known := entity(string(text[1:end]))
		if !known {
			return nil, false
		}
		plain = utf8.AppendRune(plain, r)
		text = text[end+1:]
		amp = bytes.IndexByte(text, '&')
	}
	return append(plain, text...), true
}

// entity is the character that a name stands for.
func entity(name string) (rune, bool) {
	switch name {
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "amp":
		return '&', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	digits, ok := strings.CutPrefix(name, "#")
	if !ok {
		return 0, false
	}
	base := 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > utf8.MaxRune {
		return 0, false
	}
	return rune(n), true
}

// Skip leaves out the element that begins here.
func (s *Scanner) Skip() error {
	for depth := s.depth; s.depth >= depth; {
		if more, err := s.Next(); err != nil || !more {
			return err
		}
	}
	return nil
}

// Inner is the text inside the element that begins here, without that of others.
func (s *Scanner) Inner() (string, error) {
	var b []byte
	for depth := s.depth; s.depth >= depth; {
		more, err := s.Next()
		if err != nil || !more {
			return string(b), err
		}
		if s.depth == depth {
			b = append(b, s.text...)
		}
	}
	return string(b), nil
}

// Property reads the texts of elements by their names from a small part, such as
// the title; parts that are not there have none.
func (a *Archive) Property(part string, depth int, names ...string) map[string]string {
	found := map[string]string{}
	data, err := a.Read(part)
	if err != nil {
		return found
	}
	for s := Scan(data, depth); ; {
		more, err := s.Next()
		if err != nil || !more {
			return found
		}
		for _, name := range names {
			if s.Start() == name && found[name] == "" {
				found[name], _ = s.Inner()
			}
		}
	}
}
