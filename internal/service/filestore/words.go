package filestore

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// Caps of the index: what lies beyond is not found by search, only by grep.
const (
	maxIndexed   = 4 << 20 // bytes of a file
	maxTerms     = 20_000  // distinct words of a file
	maxTermLines = 64      // lines kept for a word
	maxWord      = 40      // characters
	minWord      = 2
	termSize     = 16
)

// words calls fn for every word of a text: runs of letters and digits, folded.
func words(text string, fn func(word string)) {
	text = norm.NFKC.String(text)
	start := -1
	flush := func(end int) {
		if start < 0 {
			return
		}
		w := strings.ToLower(text[start:end])
		start = -1
		if n := utf8.RuneCountInString(w); n >= minWord && n <= maxWord {
			fn(w)
		}
	}
	for i, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		flush(i)
	}
	flush(len(text))
}

// hashTerm is how a word is known to the index: by a keyed hash.
func hashTerm(key seal.Key, word string) []byte {
	m := hmac.New(sha256.New, key[:])
	m.Write([]byte(word))
	return m.Sum(nil)[:termSize]
}

// termIndex collects the words of one file.
type termIndex struct {
	words int
	terms map[string]*termLines
}

type termLines struct {
	count int
	lines []int
}

// add takes a line; 0 is the file's name.
func (t *termIndex) add(number int, line string) {
	words(line, func(w string) {
		t.words++
		l, ok := t.terms[w]
		if !ok {
			if len(t.terms) == maxTerms {
				return
			}
			l = &termLines{}
			t.terms[w] = l
		}
		l.count++
		if n := len(l.lines); n < maxTermLines && (n == 0 || l.lines[n-1] != number) {
			l.lines = append(l.lines, number)
		}
	})
}

// postings hashes the words. Their order says nothing.
func (t *termIndex) postings(key seal.Key) []Posting {
	out := make([]Posting, 0, len(t.terms))
	for w, l := range t.terms {
		out = append(out, Posting{Term: hashTerm(key, w), Count: l.count, Lines: packLines(l.lines)})
	}
	slices.SortFunc(out, func(a, b Posting) int { return slices.Compare(a.Term, b.Term) })
	return out
}

func packLines(lines []int) []byte {
	out := []byte{}
	before := 0
	for _, n := range lines {
		out = binary.AppendUvarint(out, uint64(n-before)) //nolint:gosec // lines ascend
		before = n
	}
	return out
}

func unpackLines(b []byte) []int {
	var lines []int
	at := 0
	for len(b) > 0 {
		d, n := binary.Uvarint(b)
		if n <= 0 || d > 1<<31 {
			return lines
		}
		at += int(d)
		lines = append(lines, at)
		b = b[n:]
	}
	return lines
}
