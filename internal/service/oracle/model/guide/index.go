package guide

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

// sureManual is the confidence from which on a section of the manual may be about a
// question.
const sureManual = 0.58

// search returns the section of the manual that is about a question, if one is: it
// has at least half of the question's words as they are, and two of them or one in its
// title, since single words stand in many sections that are about something else. What
// a title says counts more, and three times where it says nothing else: "What is
// Castalia?" has a word that is everywhere.
func (p *Provider) search(ctx context.Context, question string) (best textindex.Hit, ok bool) {
	found, err := p.index.Search(ctx, question, textindex.MaxHits)
	if err != nil {
		return textindex.Hit{}, false // it is in memory: whoever asked has left
	}
	asked := terms(question)
	for _, h := range found.Hits {
		title := terms(h.Title + " " + h.Headings)
		named, said := common(asked, title), common(asked, append(terms(h.Text), title...))
		if h.Confidence < sureManual || 2*said < len(asked) || said < 2 && named < 1 {
			continue
		}
		if own := terms(h.Title); common(own, asked) == len(own) {
			h.Score *= 3
		} else {
			h.Score *= 1 + float64(named)/float64(len(asked))
		}
		if h.Score > best.Score {
			best, ok = h, true
		}
	}
	return best, ok
}

// common counts the words of a that b has.
func common(a, b []string) int {
	n := 0
	for _, w := range a {
		if slices.Contains(b, w) {
			n++
		}
	}
	return n
}

// The words that say nothing about what somebody wants.
const stopList = `a an the is are was were be been am do does did can could will would should may might must
of to in on at by for from with about into over under and or but not no so as if than then that this these those
it its i you he she we they me him her us them my your his our their what which who whom whose when where why how
please tell show give let get want need like just also very really some any all more most there here have has had
much many long often`

// isStop reports whether a word is one of them.
func isStop(w string) bool { return slices.Contains(stopFields, w) }

var stopFields = strings.Fields(stopList)

// terms are the words of a text that matter, in their plainest form.
func terms(text string) []string {
	var out []string
	for _, w := range words(text) {
		if !isStop(w) {
			out = append(out, stem(w))
		}
	}
	return out
}

// words are the words of a text in lower case; camelCase is taken apart.
func words(text string) []string {
	var b strings.Builder
	var previous rune
	for _, r := range text {
		if unicode.IsUpper(r) && unicode.IsLower(previous) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		previous = r
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// stem takes the commonest English endings away.
func stem(w string) string {
	for _, ending := range []string{"ings", "ing", "edly", "ied", "ies", "ed", "es", "s"} {
		if rest, ok := strings.CutSuffix(w, ending); ok && len(rest) >= 3 {
			if ending == "ies" || ending == "ied" {
				return rest + "y"
			}
			return rest
		}
	}
	return w
}
