package calltext

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Progress keeps account of how much of an answer was told: which of its pieces sounded
// when, so that an answer that is interrupted can be cut to what was heard of it. Times
// are counted in samples of the voice. It may be used from several goroutines.
type Progress struct {
	mu     sync.Mutex
	text   string
	found  int // how much of the text has become pieces
	pieces []toldPiece
}

// toldPiece is a part of the text, from and to byte, with its sound.
type toldPiece struct {
	begin, end int
	from, to   int64
	shown      bool // there was nothing to hear of it: it was read
	whole      bool // to is the end of its sound
}

// Write takes more of the text.
func (t *Progress) Write(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text += text
}

// Begin says that a piece of the text, the next one, sounds from a moment on.
func (t *Progress) Begin(piece string, from int64) { t.add(piece, toldPiece{from: from, to: from}) }

// Sounds says that the sound of the last piece lasts until a moment at least, and
// whether it ends there.
func (t *Progress) Sounds(to int64, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.pieces); n > 0 {
		t.pieces[n-1].to, t.pieces[n-1].whole = to, whole
	}
}

// Shown says that the last piece, or another one after it, was only to be read.
func (t *Progress) Shown(piece string) { t.add(piece, toldPiece{shown: true}) }

func (t *Progress) add(piece string, p toldPiece) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.pieces); n > 0 && p.shown {
		if last := &t.pieces[n-1]; !last.whole && t.text[last.begin:last.end] == piece {
			last.shown = true // its voice broke off
			return
		}
	}
	at := strings.Index(t.text[t.found:], piece)
	if at < 0 {
		return // it is not of this text
	}
	p.begin = t.found + at
	p.end = p.begin + len(piece)
	t.found = p.end
	t.pieces = append(t.pieces, p)
}

// Heard is the beginning of the text that had been told at a moment: of the piece that
// sounded then, the words that were over.
func (t *Progress) Heard(at, samplesPerRune int64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := 0
	for _, p := range t.pieces {
		if p.shown || p.whole && at >= p.to {
			end = p.end
			continue
		}
		if words := p.words(t.text, at, samplesPerRune); words > 0 {
			end = p.begin + words
		}
		break
	}
	return t.text[:end]
}

// words is how many bytes of the piece were told: whole words, or letters where
// words have no spaces. A sound that is still coming is taken to be as long as such
// texts usually are.
func (p toldPiece) words(text string, at, samplesPerRune int64) int {
	piece := text[p.begin:p.end]
	runes := int64(utf8.RuneCountInString(piece))
	length := p.to - p.from
	if !p.whole {
		length = max(length, runes*samplesPerRune)
	}
	if at <= p.from || length == 0 {
		return 0
	}
	left := min(runes, runes*(at-p.from)/length)
	told, word := 0, 0
	spaced := strings.ContainsFunc(piece, unicode.IsSpace)
	for i, c := range piece {
		if left--; left < 0 {
			break
		}
		if unicode.IsSpace(c) {
			word = i
		}
		told = i + utf8.RuneLen(c)
	}
	if spaced && told < len(piece) {
		if next, _ := utf8.DecodeRuneInString(piece[told:]); !unicode.IsSpace(next) {
			return word
		}
	}
	return told
}
