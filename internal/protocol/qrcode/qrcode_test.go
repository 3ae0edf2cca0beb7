package qrcode_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/qrcode"
)

// reading takes a code apart as a reader does, by tables of the standard that the
// encoder does not use, and checks that no word needs correction.
type reading struct {
	*qrcode.Code
	version int
}

// Annex E: where the small squares are. Table 9, level M: blocks as {how many, words, data words}.
var (
	squares = [][]int{
		nil,
		{6, 18},
		{6, 22},
		{6, 26},
		{6, 30},
		{6, 34},
		{6, 22, 38},
		{6, 24, 42},
		{6, 26, 46},
		{6, 28, 50},
		{6, 30, 54},
		{6, 32, 58},
		{6, 34, 62},
		{6, 26, 46, 66},
		{6, 26, 48, 70},
		{6, 26, 50, 74},
		{6, 30, 54, 78},
		{6, 30, 56, 82},
		{6, 30, 58, 86},
		{6, 34, 62, 90},
	}
	blocks = [][][3]int{
		{{1, 26, 16}},
		{{1, 44, 28}},
		{{1, 70, 44}},
		{{2, 50, 32}},
		{{2, 67, 43}},
		{{4, 43, 27}},
		{{4, 49, 31}},
		{{2, 60, 38}, {2, 61, 39}},
		{{3, 58, 36}, {2, 59, 37}},
		{{4, 69, 43}, {1, 70, 44}},
		{{1, 80, 50}, {4, 81, 51}},
		{{6, 58, 36}, {2, 59, 37}},
		{{8, 59, 37}, {1, 60, 38}},
		{{4, 64, 40}, {5, 65, 41}},
		{{5, 65, 41}, {5, 66, 42}},
		{{7, 73, 45}, {3, 74, 46}},
		{{10, 74, 46}, {1, 75, 47}},
		{{9, 69, 43}, {4, 70, 44}},
		{{3, 70, 44}, {11, 71, 45}},
		{{3, 67, 41}, {13, 68, 42}},
	}
)

func (r reading) carriesData(x, y int) bool {
	n := r.Size
	switch {
	case x == 6 || y == 6, x <= 8 && y <= 8, x >= n-8 && y <= 8, x <= 8 && y >= n-8:
		return false
	case r.version >= 7 && (x >= n-11 && y <= 5 || y >= n-11 && x <= 5):
		return false
	}
	at := squares[r.version-1]
	for i, a := range at {
		for j, b := range at {
			if last := len(at) - 1; i == 0 && (j == 0 || j == last) || i == last && j == 0 {
				continue
			}
			if x >= a-2 && x <= a+2 && y >= b-2 && y <= b+2 {
				return false
			}
		}
	}
	return true
}

var masks = []func(i, j int) bool{ // i is the row, as in the standard
	func(i, j int) bool { return (i+j)%2 == 0 }, func(i, _ int) bool { return i%2 == 0 },
	func(_, j int) bool { return j%3 == 0 }, func(i, j int) bool { return (i+j)%3 == 0 },
	func(i, j int) bool { return (i/2+j/3)%2 == 0 }, func(i, j int) bool { return i*j%2+i*j%3 == 0 },
	func(i, j int) bool { return (i*j%2+i*j%3)%2 == 0 }, func(i, j int) bool { return ((i+j)%2+i*j%3)%2 == 0 },
}

// formats are the fifteen bits of level M for each mask, of Annex C.
var formats = []int{0x5412, 0x5125, 0x5E7C, 0x5B4B, 0x45F9, 0x40CE, 0x4F97, 0x4AA0}

func (r reading) mask(t *testing.T) int {
	t.Helper()
	got := 0
	for i := range 15 { // the copy in the corner, highest bit first
		x, y := []int{0, 1, 2, 3, 4, 5, 7, 8, 8, 8, 8, 8, 8, 8, 8}[i], []int{8, 8, 8, 8, 8, 8, 8, 8, 7, 5, 4, 3, 2, 1, 0}[i]
		got <<= 1
		if r.Dark(x, y) {
			got |= 1
		}
	}
	for mask, bits := range formats {
		if bits == got {
			return mask
		}
	}
	t.Fatalf("format %015b is none of level M", got)
	return 0
}

func (r reading) words(t *testing.T) []byte {
	t.Helper()
	mask := masks[r.mask(t)]
	var out []byte
	bits, n, up := 0, 0, true
	for x := r.Size - 1; x > 0; x, up = x-2, !up {
		if x == 6 {
			x--
		}
		for step := range r.Size {
			y := step
			if up {
				y = r.Size - 1 - step
			}
			for _, at := range []int{x, x - 1} {
				if !r.carriesData(at, y) {
					continue
				}
				bits <<= 1
				if r.Dark(at, y) != mask(y, at) {
					bits |= 1
				}
				if n++; n%8 == 0 {
					out = append(out, byte(bits))
				}
			}
		}
	}
	return out
}

func (r reading) text(t *testing.T) string {
	t.Helper()
	words := r.words(t)
	var parts [][]byte
	var sizes [][3]int
	longest := 0
	for _, b := range blocks[r.version-1] {
		for range b[0] {
			parts, sizes, longest = append(parts, nil), append(sizes, b), max(longest, b[2])
		}
	}
	take := func(i int) { parts[i], words = append(parts[i], words[0]), words[1:] }
	for k := range longest {
		for i, s := range sizes {
			if k < s[2] {
				take(i)
			}
		}
	}
	for range sizes[0][1] - sizes[0][2] {
		for i := range parts {
			take(i)
		}
	}
	var data []byte
	for i, p := range parts {
		checkWords(t, p, sizes[i][1]-sizes[i][2])
		data = append(data, p[:sizes[i][2]]...)
	}
	bit := 0
	next := func(n int) (v int) {
		for range n {
			v = v<<1 | int(data[bit/8]>>(7-bit%8)&1)
			bit++
		}
		return v
	}
	if mode := next(4); mode != 4 {
		t.Fatalf("mode %d", mode)
	}
	width := 8
	if r.version > 9 {
		width = 16
	}
	text := make([]byte, next(width))
	for i := range text {
		text[i] = byte(next(8))
	}
	return string(text)
}

// checkWords fails unless a block, as a polynomial, is zero at every root.
func checkWords(t *testing.T, block []byte, roots int) {
	t.Helper()
	var exp [255]int
	log := map[int]int{}
	for i, v := 0, 1; i < 255; i++ {
		exp[i], log[v] = v, i
		if v *= 2; v > 255 {
			v ^= 0x11D
		}
	}
	for root := range roots {
		sum := 0
		for _, w := range block {
			if sum != 0 {
				sum = exp[(log[sum]+root)%255]
			}
			sum ^= int(w)
		}
		if sum != 0 {
			t.Fatalf("a block is not zero at root %d", root)
		}
	}
}

func TestEveryLengthIsRead(t *testing.T) {
	t.Parallel()
	for n := 0; n <= qrcode.MaxBytes; n += 9 { // the last one is MaxBytes itself
		text := strings.Repeat("https://oracle.example/s/\xc3\xbc~", 30)[:n]
		c, err := qrcode.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		r := reading{c, (c.Size - 17) / 4}
		if got := r.text(t); got != text {
			t.Fatalf("%d bytes are read as %q", n, got)
		}
	}
	if _, err := qrcode.Encode(strings.Repeat("a", qrcode.MaxBytes+1)); !errors.Is(err, qrcode.ErrTooLong) {
		t.Errorf("one byte more: %v", err)
	}
}

func TestDrawings(t *testing.T) {
	t.Parallel()
	c, err := qrcode.Encode("a")
	if err != nil {
		t.Fatal(err)
	}
	if svg := c.SVG(`"<&>`); !strings.HasPrefix(svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 29 29"`) || !strings.Contains(svg, `aria-label="&quot;&lt;&amp;&gt;"`) ||
		!strings.Contains(svg, "M4 4h7v1h-7z") || strings.Contains(svg, "style") {
		t.Error(svg)
	}
	if lines := strings.Split(strings.TrimSpace(c.Text()), "\n"); len(lines) != 13 || len([]rune(lines[0])) != 25 {
		t.Errorf("%d lines:\n%s", len(lines), c.Text())
	}
}
