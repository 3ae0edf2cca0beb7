package analyse

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

//go:embed everyday/*.txt
var everydayFiles embed.FS

// Everyday returns the words of languages that people ask with where documents say
// others: a file everyday/LANGUAGE.txt for each, in the form of a community's file.
func Everyday() *Synonyms {
	s, _ := readEveryday() // compiled in, and read by a test
	return s
}

func readEveryday() (*Synonyms, error) {
	s := &Synonyms{rules: make(map[string][]synonymRule)}
	for _, language := range Languages() {
		text, err := everydayFiles.ReadFile("everyday/" + string(language) + ".txt")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = s.read(bytes.NewReader(text), language)
		}
		if err != nil {
			return s, fmt.Errorf("everyday words of %s: %w", language, err)
		}
	}
	return s, nil
}

// With returns the rules of both; either may be nil.
func (s *Synonyms) With(other *Synonyms) *Synonyms {
	switch {
	case s == nil:
		return other
	case other == nil:
		return s
	}
	both := &Synonyms{rules: maps.Clone(s.rules), lines: s.lines + other.lines}
	for form, rules := range other.rules {
		all := slices.Concat(both.rules[form], rules)
		slices.SortStableFunc(all, func(a, b synonymRule) int { return len(b.phrase) - len(a.phrase) })
		both.rules[form] = all
	}
	return both
}
