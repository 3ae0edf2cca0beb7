package ipld

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AppendJSON appends n as @ipld/dag-json writes it.
func AppendJSON(dst []byte, n Node) []byte {
	switch n.Kind {
	case Bool:
		return strconv.AppendBool(dst, n.Num == 1)
	case Int:
		return appendInt(dst, n)
	case Float:
		return appendFloat(dst, math.Float64frombits(n.Num))
	case Text:
		return AppendJSONText(dst, n.Str)
	case Bytes:
		dst = append(dst, `{"/":{"bytes":"`...)
		dst = base64.RawStdEncoding.AppendEncode(dst, []byte(n.Str))
		return append(dst, `"}}`...)
	case Link:
		dst = append(dst, `{"/":`...)
		return append(AppendJSONText(dst, CIDText(n.Str)), '}')
	case List:
		dst = append(dst, '[')
		for i, item := range n.List {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, item)
		}
		return append(dst, ']')
	case Map:
		dst = append(dst, '{')
		for i, e := range sorted(n.Entries, utf16Less) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendJSONText(dst, e.Key), ':')
			dst = AppendJSON(dst, e.Value)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

func appendInt(dst []byte, n Node) []byte {
	switch {
	case !n.Negative:
		return strconv.AppendUint(dst, n.Num, 10)
	case n.Num == math.MaxUint64:
		return append(dst, "-18446744073709551616"...)
	}
	return strconv.AppendUint(append(dst, '-'), n.Num+1, 10)
}

// appendFloat prints f as ECMAScript's String does, and marks a whole number
// with ".0" so that it stays a float.
func appendFloat(dst []byte, f float64) []byte {
	start := len(dst)
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 || f == 0 {
		dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	} else {
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
		// Go writes e-07 where ECMAScript writes e-7.
		if n := len(dst); n-start >= 4 && dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
			dst[n-2] = dst[n-1]
			dst = dst[:n-1]
		}
	}
	if !bytes.ContainsAny(dst[start:], ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// AppendJSONText appends s as JSON.stringify writes it: only quotes, the
// backslash and control characters are escaped.
func AppendJSONText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// utf16Less orders strings by UTF-16 code units, as JavaScript sorts. It
// differs from byte order only where a character outside the basic plane (a
// surrogate pair, D800-DFFF) meets one of U+E000 to U+FFFF.
func utf16Less(a, b string) bool {
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb {
			if (ra > 0xffff) != (rb > 0xffff) {
				return firstUnit(ra) < firstUnit(rb)
			}
			return ra < rb
		}
		a, b = a[na:], b[nb:]
	}
	return len(a) < len(b)
}

func firstUnit(r rune) rune {
	if r > 0xffff {
		return 0xd800 + (r-0x10000)>>10
	}
	return r
}

// DecodeJSON reads one dag-json value. It is lenient in spelling: whoever needs
// the canonical form writes the value again and compares.
func DecodeJSON(text []byte) (Node, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return Node{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Node{}, malformed("text after the value")
	}
	budget := MaxValues
	return fromJSON(v, 0, &budget)
}

func fromJSON(v any, depth int, budget *int) (Node, error) {
	if *budget--; *budget < 0 || depth > MaxDepth {
		return Node{}, malformed("too many values or nested too deep")
	}
	switch v := v.(type) {
	case bool:
		if v {
			return Node{Kind: Bool, Num: 1}, nil
		}
		return Node{Kind: Bool}, nil
	case json.Number:
		return numberFromJSON(string(v))
	case string:
		return TextNode(v), nil
	case []any:
		items := make([]Node, 0, len(v))
		for _, item := range v {
			n, err := fromJSON(item, depth+1, budget)
			if err != nil {
				return Node{}, err
			}
			items = append(items, n)
		}
		return ListNode(items...), nil
	case map[string]any:
		if slash, ok := v[slashKey]; ok {
			return slashFromJSON(slash, len(v))
		}
		entries := make([]Entry, 0, len(v))
		for key, item := range v {
			n, err := fromJSON(item, depth+1, budget)
			if err != nil {
				return Node{}, err
			}
			entries = append(entries, Entry{Key: key, Value: n})
		}
		return MapNode(sorted(entries, keyLess)...), nil
	}
	return Node{}, nil
}

func numberFromJSON(s string) (Node, error) {
	if !strings.ContainsAny(s, ".eE") {
		if negative, ok := strings.CutPrefix(s, "-"); ok {
			u, err := strconv.ParseUint(negative, 10, 64)
			if err == nil && u > 0 {
				return Node{Kind: Int, Negative: true, Num: u - 1}, nil
			}
		} else if u, err := strconv.ParseUint(s, 10, 64); err == nil {
			return Node{Kind: Int, Num: u}, nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return Node{}, malformed("number %q", s)
	}
	if f == math.Trunc(f) && math.Abs(f) <= maxSafe {
		return IntNode(int64(f)), nil
	}
	return Node{Kind: Float, Num: math.Float64bits(f)}, nil
}

func slashFromJSON(slash any, members int) (Node, error) {
	if members != 1 {
		return Node{}, malformed("reserved key / among others")
	}
	switch s := slash.(type) {
	case string:
		id, err := ParseCID(s)
		if err != nil {
			return Node{}, err
		}
		return LinkNode(id), nil
	case map[string]any:
		text, ok := s["bytes"].(string)
		if !ok || len(s) != 1 {
			break
		}
		raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
		if err != nil {
			return Node{}, fmt.Errorf("%w: bytes: %w", ErrMalformed, err)
		}
		return BytesNode(string(raw)), nil
	}
	return Node{}, malformed("reserved key /")
}
