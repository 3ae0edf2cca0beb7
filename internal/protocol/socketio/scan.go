package socketio

import "encoding/json"

// maxDepth bounds the nesting of a peer's JSON.
const maxDepth = 128

// scanner is a strict JSON reader that only finds where values end. It exists
// because every packet is checked, and encoding/json costs several times more
// than the rest of the packet's way.
type scanner struct {
	data []byte
	i    int
}

// validJSON reports whether data is one JSON value of bounded depth.
func validJSON(data []byte) bool {
	s := scanner{data: data}
	s.space()
	if !s.value(0) {
		return false
	}
	s.space()
	return s.i == len(data)
}

// splitArray checks a JSON array of at most so many elements and returns them. They
// alias data.
func splitArray(data []byte, most int) ([]json.RawMessage, bool) {
	s := scanner{data: data}
	s.space()
	if !s.take('[') {
		return nil, false
	}
	var elements []json.RawMessage
	s.space()
	if !s.take(']') {
		elements = make([]json.RawMessage, 0, 4)
		for {
			s.space()
			start := s.i
			if !s.value(1) {
				return nil, false
			}
			if len(elements) == most {
				return nil, false
			}
			elements = append(elements, data[start:s.i:s.i])
			s.space()
			if s.take(']') {
				break
			}
			if !s.take(',') {
				return nil, false
			}
		}
	}
	s.space()
	return elements, s.i == len(data)
}

func (s *scanner) space() {
	for s.i < len(s.data) {
		switch s.data[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) take(c byte) bool {
	if s.i < len(s.data) && s.data[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) value(depth int) bool {
	if depth > maxDepth || s.i >= len(s.data) {
		return false
	}
	switch c := s.data[s.i]; {
	case c == '"':
		return s.text()
	case c == '{':
		return s.object(depth)
	case c == '[':
		return s.array(depth)
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return false
}

func (s *scanner) word(w string) bool {
	if len(s.data)-s.i < len(w) || string(s.data[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

func (s *scanner) text() bool {
	for s.i++; s.i < len(s.data); s.i++ {
		switch c := s.data[s.i]; {
		case c == '"':
			s.i++
			return true
		case c < ' ':
			return false
		case c == '\\':
			s.i++
			if s.i >= len(s.data) {
				return false
			}
			switch s.data[s.i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if !s.hex4() {
					return false
				}
			default:
				return false
			}
		}
	}
	return false
}

// hex4 checks the digits after \u, leaving s.i on the last of them.
func (s *scanner) hex4() bool {
	if len(s.data)-s.i < 5 {
		return false
	}
	for _, c := range s.data[s.i+1 : s.i+5] {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
			return false
		}
	}
	s.i += 4
	return true
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.data) && s.data[s.i] >= '0' && s.data[s.i] <= '9' {
		s.i++
	}
	return s.i > start
}

func (s *scanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		return s.digits()
	}
	return true
}

func (s *scanner) array(depth int) bool {
	s.i++
	s.space()
	if s.take(']') {
		return true
	}
	for {
		s.space()
		if !s.value(depth + 1) {
			return false
		}
		s.space()
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) object(depth int) bool {
	s.i++
	s.space()
	if s.take('}') {
		return true
	}
	for {
		s.space()
		if s.i >= len(s.data) || s.data[s.i] != '"' || !s.text() {
			return false
		}
		s.space()
		if !s.take(':') {
			return false
		}
		s.space()
		if !s.value(depth + 1) {
			return false
		}
		s.space()
		if s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}
