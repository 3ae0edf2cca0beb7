package analyse

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

//go:embed everyday
var everydayFiles embed.FS

// Everyday returns the words of languages that people ask with where documents say
// others: a file everyday/LANGUAGE.txt for each, in the form of a community's file. They are
// read once: each start, and each command that opens the operator's documents, asks twice.
func Everyday() *Synonyms { return everyday() }

var everyday = sync.OnceValue(func() *Synonyms {
	s, _ := readEveryday() // compiled in, and read by a test
	return s
})

// Concepts returns the everyday words with the lexicon of everyday/concepts, whose lines
// have a column for each language. The lexicon is for judging whether a passage that was
// found answers, and not for finding: found by it, more passages were wrong (ADR 0272).
func Concepts() *Synonyms {
	s, _ := readConcepts() // compiled in, and read by a test
	return s
}

func readEveryday() (*Synonyms, error) {
	s := &Synonyms{rules: make(map[string][]synonymRule)}
	for _, language := range Languages() {
		err := s.readFile("everyday/"+string(language)+".txt", language)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
	}
	return s, nil
}

func readConcepts() (*Synonyms, error) {
	s, err := readEveryday()
	if err != nil {
		return s, err
	}
	s.concepts = true
	files, err := fs.Glob(everydayFiles, "everyday/concepts/*.txt")
	for _, name := range files {
		if err := s.readFile(name, English, French, Swahili, Arabic, Spanish, Portuguese, Hindi); err != nil {
			return s, err
		}
	}
	return s, err
}

func (s *Synonyms) readFile(name string, languages ...Language) error {
	text, err := everydayFiles.ReadFile(name)
	if err == nil {
		err = s.read(bytes.NewReader(text), languages...)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// With returns the rules of both; either may be nil.
func (s *Synonyms) With(other *Synonyms) *Synonyms {
	switch {
	case s == nil:
		return other
	case other == nil:
		return s
	}
	both := &Synonyms{rules: maps.Clone(s.rules), lines: s.lines + other.lines, concepts: s.concepts || other.concepts}
	for form, rules := range other.rules {
		all := slices.Concat(both.rules[form], rules)
		slices.SortStableFunc(all, func(a, b synonymRule) int { return len(b.words) - len(a.words) })
		both.rules[form] = all
	}
	return both
}
