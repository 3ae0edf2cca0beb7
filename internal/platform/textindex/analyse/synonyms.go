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
	// concepts says that the everyday concepts are among them.
	concepts bool
}

type synonymRule struct {
	synonymPhrase
	means []Meaning
	// concept says that the rule is of the lexicon.
	concept bool
}

// Meaning is a phrase that may stand for one of a question.
type Meaning struct {
	Text string
	// Language is that of an everyday phrase; a community's holds in all.
	Language Language
	// Terms are what a phrase of the lexicon stands as in an index.
	Terms []string
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

// read adds the rules of a file, in one language or in all. Lines of a file in
// several languages have a column for each.
func (s *Synonyms) read(r io.Reader, languages ...Language) error {
	limited := &io.LimitedReader{R: r, N: MaxSynonymBytes + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(make([]byte, 0, maxSynonymLine), maxSynonymLine)
	number := 0
	analyser := NewAnalyser()
	for lines.Scan() {
		number++
		if err := s.addLine(analyser, lines.Text(), languages); err != nil {
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
		slices.SortStableFunc(rules, func(a, b synonymRule) int { return len(b.words) - len(a.words) })
	}
	return nil
}

func (s *Synonyms) addLine(analyser *Analyser, line string, languages []Language) error {
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
	from, err := parseColumns(analyser, left, languages)
	if err != nil {
		return err
	}
	to := from
	if directed {
		if to, err = parseColumns(analyser, right, languages); err != nil {
			return err
		}
	} else if len(from) < 2 {
		return errors.New("needs two phrases, with a comma between them")
	}
	concept := len(languages) > 1
	all := make([]Meaning, len(to))
	for i, phrase := range to {
		all[i] = Meaning{Text: phrase.text, Language: phrase.language}
		if concept {
			all[i].Terms = termsOf(phrase.words)
		}
	}
	for _, phrase := range from {
		means := all
		if !concept { // the phrase itself is looked for as the question has it
			means = slices.DeleteFunc(slices.Clone(all), func(m Meaning) bool { return m.Text == phrase.text })
		}
		if len(means) == 0 {
			continue
		}
		rule := synonymRule{phrase, means, concept}
		for _, form := range phrase.words[0].Forms {
			s.rules[form] = append(s.rules[form], rule)
		}
	}
	s.lines++
	return nil
}

// termsOf are the terms of a phrase, without words that say nothing beside others.
func termsOf(words []Word) (terms []string) {
	for _, w := range words {
		if !w.Stop || len(words) == 1 {
			terms = append(terms, w.Forms...)
		}
	}
	return terms
}

type synonymPhrase struct {
	text     string
	words    []Word
	language Language
}

// parseColumns reads a list of phrases for each language; a list may be empty where
// there are several.
func parseColumns(analyser *Analyser, line string, languages []Language) ([]synonymPhrase, error) {
	if len(languages) == 1 {
		return parsePhrases(analyser, line, languages[0])
	}
	var out []synonymPhrase
	columns := strings.Split(line, "|")
	if len(columns) > len(languages) {
		return nil, fmt.Errorf("has more than %d columns", len(languages))
	}
	for i, column := range columns {
		if strings.TrimSpace(column) == "" {
			continue
		}
		more, err := parsePhrases(analyser, column, languages[i])
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
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
		out = append(out, synonymPhrase{strings.TrimSpace(phrase), words, language})
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

// HasConcepts reports whether the everyday concepts are among the rules.
func (s *Synonyms) HasConcepts() bool { return s != nil && s.concepts }

// Match is a phrase of a query for which the file has others.
type Match struct {
	// First and Last are places in the words that were looked at.
	First, Last int
	// Language is that of an everyday rule; a community's holds in all.
	Language Language
	// Means has the phrases that mean the same, or what the phrase leads to.
	Means []Meaning
	// Concept says that the lexicon has it, which is for judging what was found and not
	// for finding.
	Concept bool
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
		for _, form := range slices.Concat(w.Forms, w.Roots) {
			for _, rule := range s.rules[form] {
				if seen[&rule.words[0]] || rule.language != Undetermined && !slices.Contains(readings, rule.language) ||
					!beginsWith(words[i:], rule) {
					continue
				}
				seen[&rule.words[0]] = true
				out = append(out, Match{i, i + len(rule.words) - 1, rule.language, rule.means, rule.concept})
			}
		}
	}
	return out
}

// beginsWith compares words by their stems, and for the lexicon by what they may come
// from.
func beginsWith(words []Word, rule synonymRule) bool {
	if len(rule.words) > len(words) {
		return false
	}
	for i, want := range rule.words {
		if !slices.ContainsFunc(want.Forms, func(form string) bool {
			return slices.Contains(words[i].Forms, form) || rule.concept && slices.Contains(words[i].Roots, form)
		}) {
			return false
		}
	}
	return true
}
