// Package qrcode draws short texts as QR codes (ISO/IEC 18004), for addresses and keys that
// telephones read from screens and paper.
//
// It promises the smallest code that holds the text as bytes, at error correction
// level M (about 15% of it may be unreadable), with the mask that the standard's rules
// like best, and the same code for the same text. It refuses texts of more than
// MaxBytes: denser codes are hard to read. It knows no other modes or levels.
package qrcode

import (
	"errors"
	"fmt"
	"strings"
)

// MaxBytes is the longest text: what version 20 holds.
const MaxBytes = 666

// ErrTooLong is for texts of more than MaxBytes.
var ErrTooLong = errors.New("text is too long for a QR code")

// quiet is how many modules around a code are left light, so that readers find it.
const quiet = 4

// Code is a square of dark and light modules.
type Code struct {
	Size    int // of a side, in modules, without the light margin
	dark    []bool
	isFixed []bool // modules that carry no data
}

// Encode makes the code of a text.
func Encode(text string) (*Code, error) {
	version := 1
	for version <= len(layouts) && len(text) > capacity(version) {
		version++
	}
	if version > len(layouts) {
		return nil, ErrTooLong
	}
	size := 17 + 4*version
	c := &Code{Size: size, dark: make([]bool, size*size), isFixed: make([]bool, size*size)}
	c.drawPatterns(version)
	c.drawData(interleave(dataWords(text, version), version))
	c.chooseMask()
	return c, nil
}

// Dark reports whether a module is dark. What lies outside is light.
func (c *Code) Dark(x, y int) bool {
	return x >= 0 && y >= 0 && x < c.Size && y < c.Size && c.dark[y*c.Size+x]
}

// SVG draws the code as a picture that scales, with its margin. It has no styles and
// no scripts, so that every policy of a page allows it.
func (c *Code) SVG(label string) string {
	var path strings.Builder
	for y := range c.Size {
		for x := 0; x < c.Size; x++ {
			run := 0
			for c.Dark(x+run, y) {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x+quiet, y+quiet, run, run)
				x += run
			}
		}
	}
	side := c.Size + 2*quiet
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s" shape-rendering="crispEdges">`+
		`<path fill="#fff" d="M0 0h%dv%dH0z"/><path fill="#000" d="%s"/></svg>`, side, side, side*4, side*4, escape.Replace(label), side, side, path.String())
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// Text draws the code for terminals, two modules to a character. It is drawn light on
// dark, as most terminals are; readers take both.
func (c *Code) Text() string {
	var b strings.Builder
	for y := -quiet / 2; y < c.Size+quiet/2; y += 2 {
		for x := -quiet / 2; x < c.Size+quiet/2; x++ {
			switch upper, lower := !c.Dark(x, y), !c.Dark(x, y+1); {
			case upper && lower:
				b.WriteRune('█')
			case upper:
				b.WriteRune('▀')
			case lower:
				b.WriteRune('▄')
			default:
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// layout is how the words of a version are shared out: blocks, and how many words of
// each correct errors.
type layout struct{ blocks, correction int }

// layouts are those of level M, from version 1 on.
var layouts = [20]layout{
	{1, 10},
	{1, 16},
	{1, 26},
	{2, 18},
	{2, 24},
	{4, 16},
	{4, 18},
	{4, 22},
	{5, 22},
	{5, 26},
	{5, 30},
	{8, 22},
	{9, 22},
	{9, 24},
	{10, 24},
	{10, 28},
	{11, 28},
	{13, 26},
	{14, 26},
	{16, 26},
}

// words is how many words a version has, data and correction.
func words(version int) int {
	modules := (16*version+128)*version + 64
	if version >= 2 {
		aligned := version/7 + 2
		modules -= (25*aligned-10)*aligned - 55
		if version >= 7 {
			modules -= 36
		}
	}
	return modules / 8
}

func dataSize(version int) int {
	l := layouts[version-1]
	return words(version) - l.blocks*l.correction
}

// lengthBits is how long the length of a text is written.
func lengthBits(version int) int {
	if version < 10 {
		return 8
	}
	return 16
}

// capacity is how many bytes of text fit.
func capacity(version int) int { return (dataSize(version)*8 - 4 - lengthBits(version)) / 8 }

// dataWords writes mode, length and text, and fills up.
func dataWords(text string, version int) []byte {
	out := make([]byte, 0, dataSize(version))
	var bits, n uint
	put := func(value, width uint) {
		bits, n = bits<<width|value, n+width
		for n >= 8 {
			n -= 8
			out = append(out, byte(bits>>n)) //nolint:gosec // eight bits are meant
			bits &= 1<<n - 1
		}
	}
	put(4, 4) // bytes
	put(uint(len(text)), uint(lengthBits(version)))
	for i := range len(text) {
		put(uint(text[i]), 8)
	}
	put(0, 4) // the end: a text that fits leaves at least these
	if n > 0 {
		put(0, 8-n)
	}
	for fill := byte(0xEC); len(out) < cap(out); fill ^= 0xEC ^ 0x11 {
		out = append(out, fill)
	}
	return out
}

// interleave cuts data into blocks, adds correction, and mixes them, so that a stain
// hits each block a little.
func interleave(data []byte, version int) []byte {
	l := layouts[version-1]
	short, long := len(data)/l.blocks, len(data)%l.blocks
	g := generator(l.correction)
	var blocks, corrections [][]byte
	for i := range l.blocks {
		size := short
		if i >= l.blocks-long {
			size++
		}
		blocks, corrections = append(blocks, data[:size]), append(corrections, remainder(data[:size], g))
		data = data[size:]
	}
	var out []byte
	for i := range short + 1 {
		for _, b := range blocks {
			if i < len(b) {
				out = append(out, b[i])
			}
		}
	}
	for i := range l.correction {
		for _, c := range corrections {
			out = append(out, c[i])
		}
	}
	return out
}

// multiply is the product in the field of 256 elements that the standard uses.
func multiply(a, b byte) byte {
	var p byte
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			p ^= a
		}
		carry := a >> 7
		a = a<<1 ^ carry*0x1D
	}
	return p
}

// generator is the product of (x - 2^i) for the first n powers, highest power first,
// without its leading 1.
func generator(n int) []byte {
	g := make([]byte, n)
	g[n-1] = 1
	root := byte(1)
	for range n {
		for j := range g {
			g[j] = multiply(g[j], root)
			if j+1 < n {
				g[j] ^= g[j+1]
			}
		}
		root = multiply(root, 2)
	}
	return g
}

// remainder are the words that correct errors in data.
func remainder(data, g []byte) []byte {
	r := make([]byte, len(g))
	for _, d := range data {
		factor := d ^ r[0]
		copy(r, r[1:])
		r[len(r)-1] = 0
		for i := range r {
			r[i] ^= multiply(g[i], factor)
		}
	}
	return r
}
