package wirejson

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// plainByte says which bytes stand for themselves in a JSON string.
var plainByte = func() (table [256]bool) {
	for c := 0x20; c < 0x80; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// Words of eight bytes, for looking at eight of them at a time.
const (
	everyByte = 0x0101010101010101
	highBits  = 0x8080808080808080
)

// plainPrefix returns how many bytes at the beginning of s are known to stand
// for themselves: whole words of them.
func plainPrefix(s []byte) int {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		w := binary.LittleEndian.Uint64(s[i:])
		quotes, slashes := w^everyByte*'"', w^everyByte*'\\'
		// The high bit of a byte is set where it is not ASCII, below a blank, or
		// equal to one of the two; a borrow may set it above such a byte, which
		// does not matter to the word.
		if (w|(w-everyByte*' ')|(quotes-everyByte)|(slashes-everyByte))&highBits != 0 {
			break
		}
	}
	return i
}

// AppendString writes a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for i := plainPrefix(s); i < len(s); {
		c := s[i]
		if plainByte[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += size
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

func appendBase64(dst, b []byte) []byte {
	dst = append(dst, '"')
	return append(base64.StdEncoding.AppendEncode(dst, b), '"')
}

// appendHex writes upper-case hexadecimal digits.
func appendHex(dst, b []byte) []byte {
	const upper = "0123456789ABCDEF"
	dst = append(dst, '"')
	for _, c := range b {
		dst = append(dst, upper[c>>4], upper[c&15])
	}
	return append(dst, '"')
}

// appendRawJSON writes bytes that are JSON already; what is not comes out as
// base64, so that one bad contract cannot break a whole reply.
func appendRawJSON(dst, b []byte) []byte {
	if len(b) == 0 {
		return append(dst, "null"...)
	}
	if !json.Valid(b) || !utf8.Valid(b) {
		return appendBase64(dst, b)
	}
	return append(dst, b...)
}

// decimalPlaces is the scale of a Cosmos decimal.
const decimalPlaces = 18

// appendDecimal writes "500000000000000000" as "0.500000000000000000". What is
// not such a number is written as it is.
func appendDecimal(dst, b []byte) []byte {
	digits := b
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 {
		return AppendString(dst, b)
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return AppendString(dst, b)
		}
	}
	dst = append(dst, '"')
	if len(digits) < len(b) {
		dst = append(dst, '-')
	}
	if len(digits) <= decimalPlaces {
		dst = append(dst, '0', '.')
		for range decimalPlaces - len(digits) {
			dst = append(dst, '0')
		}
		return append(append(dst, digits...), '"')
	}
	point := len(digits) - decimalPlaces
	dst = append(append(dst, digits[:point]...), '.')
	return append(append(dst, digits[point:]...), '"')
}

// appendFloat writes a number as encoding/json and protojson do.
func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 {
		if bits == 64 && (abs < 1e-6 || abs >= 1e21) ||
			bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21) {
			format = 'e'
		}
	}
	dst = strconv.AppendFloat(dst, v, format, -1, bits)
	if format == 'e' { // e-09 becomes e-9
		if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
			dst[n-2] = dst[n-1]
			dst = dst[:n-1]
		}
	}
	return dst
}
