package guide

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

// search returns the best passages for a question, best first. One that is about the
// question and nothing else counts three times: "What is Castalia?" has a word that is
// everywhere.
func (p *Provider) search(ctx context.Context, question string, limit int) []textindex.Hit {
	found, err := p.index.Search(ctx, question, textindex.MaxHits)
	if err != nil {
		return nil // it is in memory: whoever asked has left
	}
	asked := terms(question)
	for i, h := range found.Hits {
		about := terms(h.Title)
		if len(about) > 0 && !slices.ContainsFunc(about, func(w string) bool { return !slices.Contains(asked, w) }) {
			found.Hits[i].Score *= 3
		}
	}
	slices.SortStableFunc(found.Hits, func(a, b textindex.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return found.Hits[:min(limit, len(found.Hits))]
}

// The words that say nothing about what somebody wants.
const stopList = `a an the is are was were be been am do does did can could will would should may might must
of to in on at by for from with about into over under and or but not no so as if than then that this these those
it its i you he she we they me him her us them my your his our their what which who whom whose when where why how
please tell show give let get want need like just also very really some any all more most there here have has had`

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
