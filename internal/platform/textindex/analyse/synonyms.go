package analyse

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of a synonym file.
const (
	MaxSynonymBytes = 1 << 20
	maxSynonymLine  = 4096
	maxSynonymGroup = 32
	maxSynonymWords = 5
	maxSynonymRules = 10_000
)

// ErrSynonyms says that a synonym file is not well formed.
var ErrSynonyms = errors.New("synonym file")

// Synonyms is what a community says that words mean to it. It is read-only once
// parsed and safe for concurrent use.
type Synonyms struct {
	// rules are found by their first word; longer phrases come first.
	rules map[string][]synonymRule
	lines int
}

type synonymRule struct {
	phrase []Word
	means  []string
	// language is that of an everyday rule; a community's holds in all.
	language Language
}

// ParseSynonyms reads a synonym file. A line "clinic, health centre, dispensary"
// says that the phrases mean the same; "MP => member of parliament, deputy" adds
// the right side to questions that have the left, and not the other way round.
// Blank lines and lines that begin with # are skipped.
func ParseSynonyms(r io.Reader) (*Synonyms, error) {
	s := &Synonyms{rules: make(map[string][]synonymRule)}
	if err := s.read(r, Undetermined); err != nil {
		return nil, err
	}
	return s, nil
}

// read adds the rules of a file, in one language or in all.
func (s *Synonyms) read(r io.Reader, language Language) error {
	limited := &io.LimitedReader{R: r, N: MaxSynonymBytes + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(make([]byte, 0, maxSynonymLine), maxSynonymLine)
	number := 0
	analyser := NewAnalyser()
	for lines.Scan() {
		number++
		if err := s.addLine(analyser, lines.Text(), language); err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrSynonyms, number, err)
		}
	}
	if limited.N <= 0 {
		return fmt.Errorf("%w: longer than %d bytes", ErrSynonyms, MaxSynonymBytes)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%w: line %d is longer than %d bytes", ErrSynonyms, number+1, maxSynonymLine)
	} else if err != nil {
		return fmt.Errorf("read synonym file: %w", err)
	}
	for _, rules := range s.rules {
		slices.SortStableFunc(rules, func(a, b synonymRule) int { return len(b.phrase) - len(a.phrase) })
	}
	return nil
}

func (s *Synonyms) addLine(analyser *Analyser, line string, language Language) error {
	line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	if !utf8.ValidString(line) {
		return errors.New("is not UTF-8")
	}
	if s.lines >= maxSynonymRules {
		return fmt.Errorf("is beyond the %d rules that a file may have", maxSynonymRules)
	}
	left, right, directed := strings.Cut(line, "=>")
	from, err := parsePhrases(analyser, left, language)
	if err != nil {
		return err
	}
	to := from
	if directed {
		if to, err = parsePhrases(analyser, right, language); err != nil {
			return err
		}
	} else if len(from) < 2 {
		return errors.New("needs two phrases, with a comma between them")
	}
	for i, phrase := range from {
		rule := synonymRule{phrase: phrase.words, language: language}
		for j, other := range to {
			if (directed || i != j) && other.text != phrase.text {
				rule.means = append(rule.means, other.text)
			}
		}
		if len(rule.means) == 0 {
			continue
		}
		for _, form := range phrase.words[0].Forms {
			s.rules[form] = append(s.rules[form], rule)
		}
	}
	s.lines++
	return nil
}

type synonymPhrase struct {
	text  string
	words []Word
}

func parsePhrases(analyser *Analyser, list string, language Language) ([]synonymPhrase, error) {
	var out []synonymPhrase
	languages := []Language{language}
	if language == Undetermined {
		languages = Languages()
	}
	for phrase := range strings.SplitSeq(list, ",") {
		words := analyser.Words(languages, phrase)
		switch {
		case len(words) == 0:
			return nil, errors.New("has an empty phrase")
		case len(words) > maxSynonymWords:
			return nil, fmt.Errorf("has a phrase of more than %d words", maxSynonymWords)
		}
		out = append(out, synonymPhrase{strings.TrimSpace(phrase), words})
		if len(out) > maxSynonymGroup {
			return nil, fmt.Errorf("has more than %d phrases", maxSynonymGroup)
		}
	}
	return out, nil
}

// Lines returns how many rules the file has.
func (s *Synonyms) Lines() int {
	if s == nil {
		return 0
	}
	return s.lines
}

// Match is a phrase of a query for which the file has others.
type Match struct {
	// First and Last are places in the words that were looked at.
	First, Last int
	// Means has the other phrases as they were written.
	Means []string
	// Everyday says that it is the language's, not the community's.
	Everyday bool
}

// Find returns what the file says about a query's words, which are compared by
// their stems. Everyday words count in the languages that the query is read in.
func (s *Synonyms) Find(words []Word, readings []Language) []Match {
	if s == nil {
		return nil
	}
	var out []Match
	for i, w := range words {
		seen := make(map[*Word]bool) // a rule is filed under each stem of its first word
		for _, form := range w.Forms {
			for _, rule := range s.rules[form] {
				everyday := rule.language != Undetermined
				if seen[&rule.phrase[0]] || everyday && !slices.Contains(readings, rule.language) ||
					!beginsWith(words[i:], rule.phrase) {
					continue
				}
				seen[&rule.phrase[0]] = true
				out = append(out, Match{i, i + len(rule.phrase) - 1, rule.means, everyday})
			}
		}
	}
	return out
}

func beginsWith(words, phrase []Word) bool {
	if len(phrase) > len(words) {
		return false
	}
	for i, want := range phrase {
		if !slices.ContainsFunc(want.Forms, func(form string) bool { return slices.Contains(words[i].Forms, form) }) {
			return false
		}
	}
	return true
}
