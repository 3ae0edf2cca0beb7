// Package termmark shows Markdown in a terminal while it arrives: headings,
// emphasis, code, lists, quotations and links become the terminal's own.
//
// It promises that what is no Markdown stays as it was written, that a style ends
// with its line at the latest, and that no more is held back than a marker or a
// link of 512 bytes. Control characters are the caller's affair: they are passed on.
package termmark

import (
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The styles, and the end of all.
const (
	bold   = "\x1b[1m"
	italic = "\x1b[3m"
	under  = "\x1b[4m"
	code   = "\x1b[36m"
	plain  = "\x1b[0m"
)

// maxHeld is the longest piece that waits for its end.
const maxHeld = 512

// Writer shows one text.
type Writer struct {
	to   io.Writer
	held string          // arrived, and not decided yet
	tail string          // the beginning of a character whose rest is not there yet
	out  strings.Builder // decided, and not written yet
	last rune            // the last character that was shown, 0 at the start of a line

	started bool // the beginning of the line has been looked at
	fenced  bool // between the lines of a block of code
	styles  []string
}

// New returns a writer to a terminal.
func New(to io.Writer) *Writer { return &Writer{to: to} }

// WriteString shows the next piece of the text.
func (w *Writer) WriteString(piece string) error {
	piece = w.tail + piece
	whole := len(piece)
	for i := whole - 1; i >= 0 && i >= whole-utf8.UTFMax; i-- {
		if utf8.RuneStart(piece[i]) {
			if !utf8.FullRuneInString(piece[i:]) {
				whole = i
			}
			break
		}
	}
	w.held, w.tail = w.held+piece[:whole], piece[whole:]
	return w.show(false)
}

// Close shows what is still held, and ends all styles. The writer can be used
// for another text then.
func (w *Writer) Close() error {
	w.held += w.tail
	err := w.show(true)
	*w = Writer{to: w.to}
	return err
}

// show decides about as much as can be decided; at the end that is all.
func (w *Writer) show(end bool) error {
	for w.held != "" {
		step := w.inline
		switch {
		case !w.started:
			step = w.lineStart
		case w.fenced:
			step = w.verbatim
		}
		if !step(end) {
			break
		}
	}
	if end {
		w.endStyles()
	}
	_, err := io.WriteString(w.to, w.out.String())
	w.out.Reset()
	return err
}

// put shows text and remembers where it ended.
func (w *Writer) put(text string) {
	if text == "" {
		return
	}
	w.out.WriteString(text)
	w.last, _ = utf8.DecodeLastRuneInString(text)
}

// drop takes n bytes from what is held.
func (w *Writer) drop(n int) { w.held = w.held[n:] }

func (w *Writer) newLine() {
	w.endStyles()
	w.out.WriteByte('\n')
	w.last, w.started = 0, false
}

func (w *Writer) endStyles() {
	if len(w.styles) > 0 {
		w.out.WriteString(plain)
	}
	w.styles = w.styles[:0]
}

// on reports whether a style is in force.
func (w *Writer) on(style string) bool { return slices.Contains(w.styles, style) }

// toggle begins a style, or ends it and begins the others again.
func (w *Writer) toggle(style string) {
	if !w.on(style) {
		w.styles = append(w.styles, style)
		w.out.WriteString(style)
		return
	}
	w.styles = slices.DeleteFunc(w.styles, func(s string) bool { return s == style })
	w.out.WriteString(plain + strings.Join(w.styles, ""))
}

// lineStart looks at what a line begins with; false when that is not there yet.
func (w *Writer) lineStart(end bool) bool {
	text := strings.TrimLeft(w.held, " ")
	indent := w.held[:len(w.held)-len(text)]
	if undecided(text) && !end && len(w.held) < maxHeld {
		return false
	}
	if strings.HasPrefix(text, "```") {
		line, _, whole := strings.Cut(text, "\n")
		if !whole && !end && len(line) < maxHeld {
			return false
		}
		w.fenced = !w.fenced
		w.drop(len(indent) + min(len(line)+1, len(text)))
		return true
	}
	w.started = true
	if w.fenced {
		w.toggle(code)
		return true
	}
	w.drop(len(indent))
	w.put(indent)
	marker, rest, spaced := strings.Cut(text, " ")
	switch {
	case !spaced || rest == "" && !end:
	case strings.Trim(marker, "#") == "" && marker != "" && len(marker) <= 6:
		w.drop(len(marker) + 1)
		w.toggle(bold)
		w.toggle(under)
	case marker == "-" || marker == "*" || marker == "+":
		w.drop(len(marker) + 1)
		w.put("• ")
	case marker == ">":
		w.drop(len(marker) + 1)
		w.put("│ ")
	}
	w.last = 0
	return true
}

// undecided reports whether more has to come before the beginning of a line says
// what the line is.
func undecided(text string) bool {
	marks := strings.TrimLeft(text, "#`-*+>")
	return marks == "" || marks == " " && text != " "
}

// verbatim shows a line of a block of code as it is.
func (w *Writer) verbatim(bool) bool {
	line, _, whole := strings.Cut(w.held, "\n")
	w.put(line)
	w.drop(len(line))
	if whole {
		w.drop(1)
		w.newLine()
	}
	return true
}

// inline shows text up to the next marker, or deals with that; false when it
// cannot be decided yet.
func (w *Writer) inline(end bool) bool {
	if at := strings.IndexAny(w.held, "\n\\`*_[!"); at != 0 {
		if at < 0 {
			at = len(w.held)
		}
		w.put(w.held[:at])
		w.drop(at)
		return true
	}
	if w.held[0] == '\n' {
		w.drop(1)
		w.newLine()
		return true
	}
	if w.held[0] == '`' {
		w.drop(1)
		w.toggle(code)
		return true
	}
	if w.on(code) {
		w.put(w.held[:1])
		w.drop(1)
		return true
	}
	switch w.held[0] {
	case '\\':
		return w.escape(end)
	case '*', '_':
		return w.emphasis(end)
	default:
		return w.link(end)
	}
}

func (w *Writer) escape(end bool) bool {
	if len(w.held) < 2 && !end {
		return false
	}
	if len(w.held) > 1 && isMark(w.held[1]) {
		w.drop(1)
	}
	w.put(w.held[:1])
	w.drop(1)
	return true
}

// emphasis begins or ends bold and italic where words begin and end.
func (w *Writer) emphasis(end bool) bool {
	mark := w.held[:1]
	run := len(w.held) - len(strings.TrimLeft(w.held, mark))
	if run == len(w.held) && !end && run < 3 {
		return false
	}
	run = min(run, 2)
	next, _ := utf8.DecodeRuneInString(w.held[run:])
	style := italic
	if run == 2 {
		style = bold
	}
	opens := !w.on(style) && len(w.held) > run && !unicode.IsSpace(next) && !isWord(w.last)
	closes := w.on(style) && !unicode.IsSpace(w.last) && (mark == "*" || !isWord(next))
	if opens || closes {
		w.toggle(style)
	} else {
		w.put(w.held[:run])
	}
	w.drop(run)
	return true
}

// isMark reports whether a backslash before c takes away what c means.
func isMark(c byte) bool {
	return c < utf8.RuneSelf && (unicode.IsPunct(rune(c)) || unicode.IsSymbol(rune(c)))
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// link shows the text of a link with its address behind it, and of a picture the
// words that stand for it.
func (w *Writer) link(end bool) bool {
	open := strings.TrimPrefix(w.held, "!")
	picture := len(open) < len(w.held)
	whole := strings.ContainsRune(w.held, '\n') || len(w.held) >= maxHeld || end
	if open == "" && !whole {
		return false
	}
	if !strings.HasPrefix(open, "[") {
		w.put(w.held[:1])
		w.drop(1)
		return true
	}
	line, _, _ := strings.Cut(open[1:], "\n")
	text, rest, named := strings.Cut(line, "]")
	target, _, closed := strings.Cut(strings.TrimPrefix(rest, "("), ")")
	isLink := named && strings.HasPrefix(rest, "(")
	switch {
	case isLink && closed:
		w.drop(len(w.held) - len(open) + 1 + len(text) + len("](") + len(target) + 1)
		w.toggle(under)
		w.put(text)
		w.toggle(under)
		if !picture && target != text {
			w.put(" (" + target + ")")
		}
	case !whole && (!named || rest == "" || isLink):
		return false
	default:
		w.put(w.held[:1])
		w.drop(1)
	}
	return true
}
