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
	fonts := resources.Key("Font")
	in := interpreter{
		page: p, lexer: lexer{data: data, reuse: true}, state: g,
		text: identity, line: identity, fontTable: fonts, known: p.tables(fonts),
	}
	for *p.budget > 0 && len(p.runs) < maxRuns {
		t, ok := in.lexer.next(0)
		if !ok {
			return
		}
		if t.kind != operatorToken {
			if len(in.operands) < 64 {
				in.operands = append(in.operands, t)
			}
			continue
		}
		*p.budget--
		switch act := operators[t.text]; {
		case act != nil:
			act(&in)
		case t.text == "Do":
			*p.budget -= lookUp
			p.form(resources.Key("XObject").Key(in.last().text), resources, in.state)
		}
		in.operands = in.operands[:0]
	}
}

// interpreter is where a stream stands.
type interpreter struct {
	page      *page
	lexer     lexer
	operands  []token
	state     state
	saved     []state
	text      matrix
	line      matrix
	fontTable pdf.Value
	known     map[string]*font
}

// num is an operand, the last of them 0.
func (in *interpreter) num(i int) float64 {
	if i = len(in.operands) - 1 - i; i < 0 {
		return 0
	}
	return in.operands[i].num
}

func (in *interpreter) last() token {
	if len(in.operands) == 0 {
		return token{}
	}
	return in.operands[len(in.operands)-1]
}

// matrix is what six operands say.
func (in *interpreter) matrix() matrix {
	return matrix{in.num(5), in.num(4), in.num(3), in.num(2), in.num(1), in.num(0)}
}

func (in *interpreter) move(tx, ty float64) {
	in.line = matrix{1, 0, 0, 1, tx, ty}.over(in.line)
	in.text = in.line
}

// operators are those that concern text.
var operators = map[string]func(in *interpreter){
	"q": func(in *interpreter) {
		if len(in.saved) < maxStates {
			in.saved = append(in.saved, in.state)
		}
	},
	"Q": func(in *interpreter) {
		if n := len(in.saved); n > 0 {
			in.state, in.saved = in.saved[n-1], in.saved[:n-1]
		}
	},
	"cm": func(in *interpreter) { in.state.ctm = in.matrix().over(in.state.ctm) },
	"BT": func(in *interpreter) { in.text, in.line = identity, identity },
	"Tf": (*interpreter).setFont,
	"Tc": func(in *interpreter) { in.state.charSpace = in.num(0) },
	"Tw": func(in *interpreter) { in.state.wordSpace = in.num(0) },
	"Tz": func(in *interpreter) { in.state.scale = in.num(0) / 100 },
	"TL": func(in *interpreter) { in.state.leading = in.num(0) },
	"Ts": func(in *interpreter) { in.state.rise = in.num(0) },
	"Td": func(in *interpreter) { in.move(in.num(1), in.num(0)) },
	"TD": func(in *interpreter) {
		in.state.leading = -in.num(0)
		in.move(in.num(1), in.num(0))
	},
	"Tm": func(in *interpreter) { in.line = in.matrix(); in.text = in.line },
	"T*": (*interpreter).nextLine,
	"Tj": func(in *interpreter) { in.show([]token{in.last()}) },
	"TJ": func(in *interpreter) { in.show(in.last().array) },
	"'": func(in *interpreter) {
		in.nextLine()
		in.show([]token{in.last()})
	},
	"\"": func(in *interpreter) {
		in.state.wordSpace, in.state.charSpace = in.num(2), in.num(1)
		in.nextLine()
		in.show([]token{in.last()})
	},
	"ID": func(in *interpreter) { in.lexer.skipImage() },
}

func (in *interpreter) nextLine() { in.move(0, -in.state.leading) }

func (in *interpreter) setFont() {
	in.state.size = in.num(0)
	if len(in.operands) < 2 {
		return
	}
	name := in.operands[len(in.operands)-2].text
	if in.known[name] == nil {
		*in.page.budget -= lookUp
		in.known[name] = in.page.fonts(in.fontTable.Key(name))
	}
	in.state.font = in.known[name]
}

func (in *interpreter) show(parts []token) { in.text = in.page.show(in.state, in.text, parts) }

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
