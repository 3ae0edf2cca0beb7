package memory

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// The usual constants of BM25: how soon repeated words stop to count, and how
// much long texts are held back.
const (
	saturation = 1.2
	lengthPull = 0.75
)

// stem is the least common beginning by which two words count as forms of one.
const stem = 4

// rank returns the memories that share words with the query, by BM25 over the
// user's own memories, the best first and of equals the newest. An empty query
// fits all.
func rank(all []Memory, query string) []Memory {
	if strings.TrimSpace(query) == "" {
		return all
	}
	terms := words(query)
	slices.Sort(terms)
	terms = slices.Compact(terms)
	texts := make([][]string, len(all))
	total := 0
	for i, m := range all {
		texts[i] = words(m.Text)
		total += len(texts[i])
	}
	mean := max(float64(total)/float64(max(len(all), 1)), 1)
	scores := make([]float64, len(all))
	hits := make([]float64, len(all))
	for _, term := range terms {
		in := 0
		for i, text := range texts {
			hits[i] = 0
			for _, w := range text {
				hits[i] += likeness(term, w)
			}
			if hits[i] > 0 {
				in++
			}
		}
		rarity := math.Log(1 + (float64(len(all)-in)+0.5)/(float64(in)+0.5))
		for i, n := range hits {
			scores[i] += rarity * n * (saturation + 1) / (n + saturation*(1-lengthPull+lengthPull*float64(len(texts[i]))/mean))
		}
	}
	var order []int
	for i, s := range scores {
		if s > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	found := make([]Memory, len(order))
	for i, at := range order {
		found[i] = all[at]
	}
	return found
}

// likeness is 1 for the same word and less for forms of one word: "allergic"
// and "allergies" have a long beginning in common and short ends, "bee" and
// "bees" differ by an end alone.
func likeness(a, b string) float64 {
	if a == b {
		return 1
	}
	x, y := []rune(a), []rune(b)
	common := 0
	for common < len(x) && common < len(y) && x[common] == y[common] {
		common++
	}
	plural := common >= stem-1 && min(len(x), len(y)) == common && max(len(x), len(y)) <= common+2
	if plural || common >= stem && len(x)-common <= 3 && len(y)-common <= 3 {
		return 0.5
	}
	return 0
}

// idle are words that say nothing about what is meant.
var idle = map[string]bool{
	"a": true, "an": true, "and": true, "are": true, "at": true, "be": true, "did": true, "do": true, "does": true, "for": true,
	"from": true, "has": true, "have": true, "he": true, "her": true, "his": true, "how": true, "i": true, "in": true, "is": true,
	"it": true, "me": true, "my": true, "of": true, "on": true, "or": true, "our": true, "she": true, "that": true, "the": true,
	"their": true, "they": true, "this": true, "to": true, "user": true, "was": true, "we": true, "what": true, "when": true,
	"where": true, "which": true, "who": true, "with": true, "you": true, "your": true,
}

// words splits a text into lower-case words. Scripts that do not set spaces
// give one word a character.
func words(text string) []string {
	var (
		out []string
		b   strings.Builder
	)
	flush := func() {
		if w := b.String(); w != "" && !idle[w] {
			out = append(out, w)
		}
		b.Reset()
	}
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			flush()
			b.WriteRune(r)
			flush()
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r):
			b.WriteRune(unicode.ToLower(r))
		case r == '\'' || r == '’':
			// the user's: one word
		default:
			flush()
		}
	}
	flush()
	return out
}
