package pdffile

import (
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
)

// matrix is [a b c d e f] of the formats' books.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// over returns m applied before n.
func (m matrix) over(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// run is text that was shown at one place.
type run struct {
	text    string
	x, y    float64
	end     float64 // the x where it ends
	size    float64
	bold    bool
	spoiled bool // in a font without a way to text
}

// state is what operators change.
type state struct {
	ctm                  matrix
	font                 *font
	size                 float64
	charSpace, wordSpace float64
	scale, leading, rise float64
}

// page is the work on one page.
type page struct {
	fonts  func(pdf.Value) *font
	tables func(pdf.Value) map[string]*font // what was read before of a table of fonts
	read   func(pdf.Value) []byte
	budget *int // operators that the document may still have
	runs   []run
	forms  int // forms that are open, one inside the other
}

// maxForms bounds forms inside forms, maxStates saved states.
const (
	maxForms  = 6
	maxStates = 256
	maxRuns   = 200_000
	// lookUp is what an operator costs more that has an object read from the file.
	lookUp = 200
)

// interpret goes over a stream with its resources.
func (p *page) interpret(data []byte, resources pdf.Value, g state) {
	var (
		operands  []token
		saved     []state
		text      = identity
		line      = identity
		fontTable = resources.Key("Font")
		fonts     = p.tables(fontTable)
	)
	num := func(i int) float64 {
		if i = len(operands) - 1 - i; i < 0 {
			return 0
		}
		return operands[i].num
	}
	last := func() token {
		if len(operands) == 0 {
			return token{}
		}
		return operands[len(operands)-1]
	}
	move := func(tx, ty float64) {
		line = matrix{1, 0, 0, 1, tx, ty}.over(line)
		text = line
	}
	for l := (lexer{data: data, reuse: true}); *p.budget > 0 && len(p.runs) < maxRuns; {
		t, ok := l.next(0)
		if !ok {
			return
		}
		if t.kind != operatorToken {
			if len(operands) < 64 {
				operands = append(operands, t)
			}
			continue
		}
		*p.budget--
		switch t.text {
		case "q":
			if len(saved) < maxStates {
				saved = append(saved, g)
			}
		case "Q":
			if n := len(saved); n > 0 {
				g, saved = saved[n-1], saved[:n-1]
			}
		case "cm":
			g.ctm = matrix{num(5), num(4), num(3), num(2), num(1), num(0)}.over(g.ctm)
		case "BT":
			text, line = identity, identity
		case "Tf":
			g.size = num(0)
			if len(operands) >= 2 {
				name := operands[len(operands)-2].text
				if fonts[name] == nil {
					*p.budget -= lookUp
					fonts[name] = p.fonts(fontTable.Key(name))
				}
				g.font = fonts[name]
			}
		case "Tc":
			g.charSpace = num(0)
		case "Tw":
			g.wordSpace = num(0)
		case "Tz":
			g.scale = num(0) / 100
		case "TL":
			g.leading = num(0)
		case "Ts":
			g.rise = num(0)
		case "Td":
			move(num(1), num(0))
		case "TD":
			g.leading = -num(0)
			move(num(1), num(0))
		case "Tm":
			line = matrix{num(5), num(4), num(3), num(2), num(1), num(0)}
			text = line
		case "T*":
			move(0, -g.leading)
		case "Tj":
			text = p.show(g, text, []token{last()})
		case "TJ":
			text = p.show(g, text, last().array)
		case "'":
			move(0, -g.leading)
			text = p.show(g, text, []token{last()})
		case "\"":
			g.wordSpace, g.charSpace = num(2), num(1)
			move(0, -g.leading)
			text = p.show(g, text, []token{last()})
		case "Do":
			*p.budget -= lookUp
			p.form(resources.Key("XObject").Key(last().text), resources, g)
		case "ID":
			l.skipImage()
		}
		operands = operands[:0]
	}
}

// form goes over a stream that a page shows as a part of itself.
func (p *page) form(v, resources pdf.Value, g state) {
	if v.Kind() != pdf.Stream || v.Key("Subtype").Name() != "Form" || p.forms >= maxForms {
		return
	}
	if own := v.Key("Resources"); own.Kind() == pdf.Dict {
		resources = own
	}
	if m := v.Key("Matrix"); m.Len() == 6 {
		var of matrix
		for i := range of {
			of[i] = m.Index(i).Float64()
		}
		g.ctm = of.over(g.ctm)
	}
	p.forms++
	defer func() { p.forms-- }()
	p.interpret(p.read(v), resources, g)
}

// spaceGap is how much of the size two pieces of a line are apart for a space
// between words, cellGap for a column between cells.
const (
	spaceGap = 0.17
	cellGap  = 1.6
)

// show adds the text of an operator and returns the matrix after it.
func (p *page) show(g state, text matrix, parts []token) matrix {
	if g.font == nil {
		return text
	}
	var b strings.Builder
	begin := text
	spoiled := !g.font.mapped
	flush := func() {
		if b.Len() == 0 && !spoiled {
			begin = text
			return
		}
		from := matrix{1, 0, 0, 1, 0, g.rise}.over(begin).over(g.ctm)
		to := matrix{1, 0, 0, 1, 0, g.rise}.over(text).over(g.ctm)
		size := math.Abs(g.size) * math.Hypot(from[2], from[3])
		p.runs = append(p.runs, run{
			text: b.String(), x: from[4], y: from[5], end: to[4], size: size, bold: g.font.bold, spoiled: spoiled,
		})
		b.Reset()
		begin = text
	}
	for _, part := range parts {
		if part.kind == numberToken {
			shift := -part.num / 1000 * g.size * g.scale
			switch gap := -part.num / 1000; {
			case gap > cellGap:
				flush()
				text = matrix{1, 0, 0, 1, shift, 0}.over(text)
				begin = text
				continue
			case gap > spaceGap && b.Len() > 0:
				b.WriteByte(' ')
			}
			text = matrix{1, 0, 0, 1, shift, 0}.over(text)
			continue
		}
		advance := 0.0
		g.font.each(part.text, func(c glyph) {
			b.WriteString(c.text)
			step := c.width/1000*g.size + g.charSpace
			if c.space {
				step += g.wordSpace
			}
			advance += step * g.scale
		})
		text = matrix{1, 0, 0, 1, advance, 0}.over(text)
	}
	flush()
	return text
}
