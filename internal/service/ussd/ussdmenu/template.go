package ussdmenu

import (
	"fmt"
	"strings"
)

// template is a text with {{name}} in it, cut into pieces once.
type template []piece

// piece is a literal or the name of a variable.
type piece struct {
	literal  string
	variable string
}

func parseTemplate(s string) (template, error) {
	s = strings.TrimRight(s, "\n")
	var t template
	for {
		before, rest, open := strings.Cut(s, "{{")
		if before != "" {
			t = append(t, piece{literal: before})
		}
		if !open {
			return t, nil
		}
		name, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, fmt.Errorf("{{ without }}")
		}
		t = append(t, piece{variable: strings.TrimSpace(name)})
		s = after
	}
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

// expand writes the template with its variables into b, and returns where the lines
// are that stay on one page.
func (t template) expand(b *strings.Builder, src *Source, vars map[string]string) (whole []span) {
	for _, p := range t {
		if p.variable == "" {
			b.WriteString(p.literal)
			continue
		}
		v, from := src.Variables[p.variable], b.Len()
		b.WriteString(v.show(vars[p.variable]))
		if v.Rows {
			whole = append(whole, span{from, b.Len()})
		}
	}
	return whole
}

// show makes a stored value fit to be seen: clean, in the declared alphabet, no
// longer than declared.
func (v Variable) show(value string) string {
	if v.Lines || v.Rows {
		value = CleanText(value)
	} else {
		value = Clean(value)
	}
	if v.Charset != CharsetAny {
		if plain, lost := transliterate(value); !lost || v.Charset != CharsetAuto {
			value = plain
		}
	}
	return clip(value, v.Max)
}

// worst returns the largest size that the template can take.
func (t template) worst(src *Source) Size {
	var z Size
	for _, p := range t {
		if p.variable == "" {
			z.add(p.literal)
			continue
		}
		v := src.Variables[p.variable]
		z.plus(Size{Septets: v.Max, Units: v.Max, UCS2: v.Charset == CharsetAny || v.Charset == CharsetAuto})
	}
	return z
}
