package textfile

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/castalia-org/castalia/internal/service/knowledge/document"
)

// sniffed is how much of a file decides about its encoding when nothing else does.
const sniffed = 64 << 10

// Decode makes UTF-8 of a text: by its byte order mark; UTF-8 if it is that; UTF-16
// if every second byte of most characters is zero; else windows-1252, which is what
// old programs wrote for English, French, Spanish, Portuguese and Swahili. It fails
// with ErrUnknown when the bytes are no text at all.
func Decode(data []byte) (string, error) {
	if bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}) {
		data = data[3:]
		if utf8.Valid(data) {
			return string(data), nil
		}
	}
	if order, ok := utf16(data); ok {
		out, err := unicode.UTF16(order, unicode.UseBOM).NewDecoder().Bytes(data)
		if err != nil {
			return "", document.ErrDamaged
		}
		return string(out), nil
	}
	if isBinary(data) {
		return "", document.ErrUnknown
	}
	if utf8.Valid(data) {
		return string(data), nil
	}
	// A few broken characters do not make another encoding of a long text.
	if broken, foreign := countForeign(data); broken*20 < foreign {
		return string(bytes.ToValidUTF8(data, nil)), nil
	}
	out, err := charmap.Windows1252.NewDecoder().Bytes(data)
	if err != nil {
		return "", document.ErrDamaged
	}
	return string(out), nil
}

// LooksLikeText guesses whether bytes are text in an encoding that Decode knows.
func LooksLikeText(data []byte) bool {
	if _, ok := utf16(data); ok {
		return true
	}
	return len(data) > 0 && !isBinary(data)
}

// utf16 tells the byte order of UTF-16.
func utf16(data []byte) (unicode.Endianness, bool) {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return unicode.LittleEndian, true
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return unicode.BigEndian, true
	}
	head := data[:min(len(data), sniffed)&^1]
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i&1]++
		}
	}
	switch half := len(head) / 2; {
	case half < 4:
	case zeros[1] > half*7/10 && zeros[0] < half/20:
		return unicode.LittleEndian, true
	case zeros[0] > half*7/10 && zeros[1] < half/20:
		return unicode.BigEndian, true
	}
	return unicode.LittleEndian, false
}

// isBinary reports whether bytes have what no text has: zeros, or many control
// characters.
func isBinary(data []byte) bool {
	head := data[:min(len(data), sniffed)]
	strange := 0
	for _, c := range head {
		if c == 0 {
			return true
		}
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b && c != 0x1a && c != '\v' && c != '\b' {
			strange++
		}
	}
	return strange*50 > len(head)
}

// countForeign counts bytes that are no UTF-8 and characters beyond ASCII that are.
func countForeign(data []byte) (broken, foreign int) {
	for len(data) > 0 {
		if data[0] < utf8.RuneSelf {
			data = data[1:]
			continue
		}
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			broken++
		} else {
			foreign++
		}
		data = data[size:]
	}
	return broken, foreign
}
