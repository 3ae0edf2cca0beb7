package words

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/number"
)

// maxNested bounds how deep forms stand in forms.
const maxNested = 4

// node is a piece of a text: words, a place, or forms that a value chooses from. The
// grammar is that of the console's language files, without tags.
type node struct {
	words string
	name  string
	kind  string // "plural" or "select" where there are forms
	forms map[string][]node
}

// parse reads a text: {name}, {n, plural, one {# file} other {# files}} and
// {kind, select, a {…} other {…}}. Nothing is escaped.
func parse(text string) ([]node, error) {
	switch {
	case text == "":
		return nil, errors.New("the text is empty")
	case len(text) > maxText:
		return nil, fmt.Errorf("the text has %d bytes, at most %d", len(text), maxText)
	case !utf8.ValidString(text):
		return nil, errors.New("the text is not UTF-8")
	}
	r := &reader{text: text}
	all, err := r.nodes(0)
	if err == nil && r.at < len(text) {
		err = r.refuse()
	}
	return all, err
}

type reader struct {
	text string
	at   int
}

func (r *reader) refuse() error { return fmt.Errorf("not well formed at %d: %s", r.at, r.text) }

func (r *reader) take(prefix string) bool {
	if strings.HasPrefix(r.text[r.at:], prefix) {
		r.at += len(prefix)
		return true
	}
	return false
}

// word takes letters and digits.
func (r *reader) word() string {
	rest := r.text[r.at:]
	end := strings.IndexFunc(rest, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_'
	})
	if end < 0 {
		end = len(rest)
	}
	r.at += end
	return rest[:end]
}

func (r *reader) spaces() {
	for r.take(" ") {
	}
}

func (r *reader) nodes(depth int) ([]node, error) {
	if depth > maxNested {
		return nil, fmt.Errorf("forms stand in forms more than %d deep: %s", maxNested, r.text)
	}
	var all []node
	for r.at < len(r.text) && r.text[r.at] != '}' {
		if r.text[r.at] != '{' {
			end := strings.IndexAny(r.text[r.at:], "{}")
			if end < 0 {
				end = len(r.text) - r.at
			}
			all = append(all, node{words: r.text[r.at : r.at+end]})
			r.at += end
			continue
		}
		n, err := r.place(depth)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func (r *reader) place(depth int) (node, error) {
	r.take("{")
	n := node{name: r.word()}
	switch {
	case n.name == "":
		return n, r.refuse()
	case r.take("}"):
		return n, nil
	case r.take(", plural,"):
		n.kind = "plural"
	case r.take(", select,"):
		n.kind = "select"
	default:
		return n, r.refuse()
	}
	n.forms = map[string][]node{}
	for r.spaces(); !r.take("}"); r.spaces() {
		form := r.word()
		r.spaces()
		if form == "" || !r.take("{") {
			return n, r.refuse()
		}
		inside, err := r.nodes(depth + 1)
		if err != nil {
			return n, err
		}
		if !r.take("}") {
			return n, r.refuse()
		}
		n.forms[form] = inside
	}
	if n.forms["other"] == nil {
		return n, r.refuse()
	}
	return n, nil
}

// Has reports whether there is a text of this name, for names that are put together.
func (l *Language) Has(key string) bool { return l.texts[key] != nil }

// Say is the text of a key with its places filled. In a language from right to left a
// value does not turn the sentence around it.
func (l *Language) Say(key string, values Values) string { return l.said(key, values, false) }

// SayPlain is Say for telephones. It has no marks that keep values apart: old telephones
// draw them as boxes, and each costs a character. Between thousands it has no other space
// than the plain one: the alphabet of networks has no other.
func (l *Language) SayPlain(key string, values Values) string { return l.said(key, values, true) }

func (l *Language) said(key string, values Values, plain bool) string {
	text := l.texts[key]
	if text == nil {
		return key
	}
	var b strings.Builder
	l.write(&b, text, values, plain, "")
	return b.String()
}

func (l *Language) write(b *strings.Builder, text []node, values Values, plain bool, count string) {
	for _, n := range text {
		switch {
		case n.name == "":
			b.WriteString(strings.ReplaceAll(n.words, "#", count))
		case n.kind == "":
			shown := l.shown(values[n.name], plain)
			if _, isText := values[n.name].(string); isText && !plain && l.Direction == "rtl" {
				shown = "\u2068" + shown + "\u2069"
			}
			b.WriteString(shown)
		default:
			form, counted := fmt.Sprint(values[n.name]), count
			if v, ok := values[n.name].(int64); ok && n.kind == "plural" {
				form, counted = l.form(v), l.number(v, plain)
			}
			inside, ok := n.forms[form]
			if !ok {
				inside = n.forms["other"]
			}
			l.write(b, inside, values, plain, counted)
		}
	}
}

func (l *Language) shown(value any, plain bool) string {
	if v, ok := value.(int64); ok {
		return l.number(v, plain)
	}
	return fmt.Sprint(value)
}

// pluralNames are the forms as files name them.
var pluralNames = map[plural.Form]string{
	plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many",
}

// form is the plural form of a count.
func (l *Language) form(n int64) string {
	// The rules look at no more than the last digits.
	const enough = 10_000_000
	if n = max(n, -n); n >= enough {
		n = n%enough + enough
	}
	return pluralNames[plural.Cardinal.MatchPlural(l.tag, int(n), 0, 0, 0, 0)]
}

// number writes a number as the language does; plain is without no-break spaces.
func (l *Language) number(n int64, plain bool) string {
	written := l.printer.Sprint(number.Decimal(n))
	if plain {
		return noBreak.Replace(written)
	}
	return written
}

// noBreak are the spaces that languages put between thousands.
var noBreak = strings.NewReplacer("\u00a0", " ", "\u202f", " ")
