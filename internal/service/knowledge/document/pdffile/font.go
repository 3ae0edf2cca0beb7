package pdffile

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
)

// font turns the codes of a string into text and widths.
type font struct {
	wide    bool              // codes have two bytes
	runes   map[uint32]string // by the document's own table
	simple  [256]string       // by the encoding, for codes of one byte
	widths  map[uint32]float64
	missing float64 // the width of codes that have none
	bold    bool
	ucs2    bool // codes are UTF-16 themselves
	mapped  bool // there is a way from codes to text
}

// glyph is one code of a string.
type glyph struct {
	text  string
	width float64 // in thousandths of the size
	space bool    // the single byte 32, to which word spacing is added
}

// maxMapped bounds the tables of a font.
const maxMapped = 70_000

// loadFont reads a font. It is called once for each.
func loadFont(v pdf.Value, read func(pdf.Value) []byte) *font {
	f := &font{runes: map[uint32]string{}, widths: map[uint32]float64{}, missing: 500}
	f.wide = v.Key("Subtype").Name() == "Type0"
	name := strings.ToLower(v.Key("BaseFont").Name())
	f.bold = strings.Contains(name, "bold") || strings.Contains(name, "black") || strings.Contains(name, "heavy")
	if m := v.Key("ToUnicode"); m.Kind() == pdf.Stream {
		f.readMap(read(m))
	}
	if f.wide {
		encoding := v.Key("Encoding").Name()
		f.ucs2 = strings.Contains(encoding, "UCS2") || strings.Contains(encoding, "UTF16")
		f.mapped = f.ucs2 || len(f.runes) > 0
		f.wideWidths(v.Key("DescendantFonts").Index(0))
		return f
	}
	f.mapped = true
	encoder := (&pdf.Font{V: v}).Encoder()
	for code := range f.simple {
		if text := f.runes[uint32(code)]; text != "" {
			f.simple[code] = text
			continue
		}
		if text := encoder.Decode(string([]byte{byte(code)})); utf8.ValidString(text) {
			f.simple[code] = text
		}
	}
	first := v.Key("FirstChar").Int64()
	widths := v.Key("Widths")
	scale := 1.0
	if v.Key("Subtype").Name() == "Type3" { // widths in units of the font's own
		if unit := v.Key("FontMatrix").Index(0).Float64(); unit > 0 && unit < 1 {
			scale = unit * 1000
		}
	}
	for i := range min(widths.Len(), 256) {
		//nolint:gosec // codes beyond a byte are never asked for
		f.widths[uint32(first)+uint32(i)] = widths.Index(i).Float64() * scale
	}
	if w := v.Key("FontDescriptor").Key("MissingWidth").Float64(); w > 0 {
		f.missing = w
	}
	return f
}

// wideWidths reads the widths of a font with codes of two bytes: runs of
// "first [w w w]" and "first last w".
func (f *font) wideWidths(v pdf.Value) {
	f.missing = 1000
	if w := v.Key("DW"); w.Kind() == pdf.Integer || w.Kind() == pdf.Real {
		f.missing = w.Float64()
	}
	table := v.Key("W")
	for i := 0; i+1 < table.Len() && len(f.widths) < maxMapped; {
		first, second := table.Index(i).Int64(), table.Index(i+1)
		if second.Kind() == pdf.Array {
			for j := range min(second.Len(), maxMapped) {
				f.widths[uint32(first)+uint32(j)] = second.Index(j).Float64() //nolint:gosec // what does not fit is never asked for
			}
			i += 2
			continue
		}
		width := table.Index(i + 2).Float64()
		for code := first; code <= min(second.Int64(), first+0xffff) && len(f.widths) < maxMapped; code++ {
			f.widths[uint32(code)] = width //nolint:gosec // as above
		}
		i += 3
	}
}

// readMap reads the table from codes to text.
func (f *font) readMap(data []byte) {
	var operands []token
	for l := (lexer{data: data}); len(f.runes) < maxMapped; {
		t, ok := l.next(0)
		if !ok {
			return
		}
		if t.kind != operatorToken {
			if len(operands) < maxArray {
				operands = append(operands, t)
			}
			continue
		}
		switch t.text {
		case "beginbfchar", "beginbfrange", "begincodespacerange":
			operands = operands[:0]
		case "endbfchar":
			for i := 0; i+1 < len(operands); i += 2 {
				f.runes[code(operands[i].text)] = decodeUTF16(operands[i+1].text)
			}
		case "endbfrange":
			for i := 0; i+2 < len(operands) && len(f.runes) < maxMapped; i += 3 {
				f.addRange(code(operands[i].text), code(operands[i+1].text), operands[i+2])
			}
		}
	}
}

// addRange maps the codes of a range: each to its own text, or to those that
// follow the first.
func (f *font) addRange(low, high uint32, to token) {
	if high < low || high-low > 0xffff {
		return
	}
	if to.kind == arrayToken {
		for i, t := range to.array {
			if low+uint32(i) <= high {
				f.runes[low+uint32(i)] = decodeUTF16(t.text)
			}
		}
		return
	}
	first := []rune(decodeUTF16(to.text))
	if len(first) == 0 {
		return
	}
	last := len(first) - 1
	begin := first[last]
	for c := low; c <= high; c++ {
		first[last] = begin + rune(c-low) //nolint:gosec // a range has at most 65,536 codes
		f.runes[c] = string(first)
	}
}

// code is a string of bytes as a number.
func code(text string) uint32 {
	var n uint32
	for i := range min(len(text), 4) {
		n = n<<8 | uint32(text[i])
	}
	return n
}

func decodeUTF16(text string) string {
	units := make([]uint16, 0, len(text)/2)
	if len(text) == 1 {
		return text
	}
	for i := 0; i+1 < len(text) && i < 64; i += 2 {
		units = append(units, uint16(text[i])<<8|uint16(text[i+1]))
	}
	return string(utf16.Decode(units))
}

// each calls a function for the codes of a string.
func (f *font) each(text string, do func(glyph)) {
	if !f.wide {
		for i := range len(text) {
			c := text[i]
			width, ok := f.widths[uint32(c)]
			if !ok {
				width = f.missing
			}
			do(glyph{f.simple[c], width, c == ' '})
		}
		return
	}
	for i := 0; i+1 < len(text); i += 2 {
		c := code(text[i : i+2])
		width, ok := f.widths[c]
		if !ok {
			width = f.missing
		}
		shown := f.runes[c]
		if shown == "" && f.ucs2 {
			shown = decodeUTF16(text[i : i+2])
		}
		do(glyph{shown, width, false})
	}
}
