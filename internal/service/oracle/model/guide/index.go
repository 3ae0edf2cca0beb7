package guide

import (
	"cmp"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"
)

// passage is a piece of documentation that can be quoted.
type passage struct {
	source string // file and heading
	title  string
	text   string
	about  []string // the words of the title
	terms  map[string]int
	length int
}

// index finds passages by words (BM25).
type index struct {
	passages []passage
	found    map[string]int // in how many passages a term occurs
	average  float64
}

// newIndex reads all Markdown files of a tree.
func newIndex(docs fs.FS) (*index, error) {
	ix := &index{found: map[string]int{}}
	if docs == nil {
		return ix, nil
	}
	err := fs.WalkDir(docs, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		data, err := fs.ReadFile(docs, name)
		if err != nil {
			return err
		}
		for _, p := range split(name, string(data)) {
			ix.add(p)
		}
		return nil
	})
	return ix, err
}

func (ix *index) add(p passage) {
	p.about = terms(p.title)
	p.terms = map[string]int{}
	words := terms(p.title + " " + p.title + " " + p.text)
	for _, w := range words {
		if p.terms[w] == 0 {
			ix.found[w]++
		}
		p.terms[w]++
	}
	p.length = len(words)
	n := float64(len(ix.passages))
	ix.average = (ix.average*n + float64(p.length)) / (n + 1)
	ix.passages = append(ix.passages, p)
}

// split cuts a Markdown file at its headings, and long sections at blank lines.
func split(name, text string) []passage {
	const most = 900
	var out []passage
	headings := []string{}
	var body []string
	inCode := false
	flush := func() {
		whole := strings.Trim(strings.Join(body, "\n"), "\n") // the indent of code stays
		body = nil
		if strings.TrimSpace(whole) == "" {
			return
		}
		title := strings.Join(headings, ": ")
		piece := ""
		emit := func() {
			if piece = strings.Trim(piece, "\n"); strings.TrimSpace(piece) != "" {
				out = append(out, passage{source: name, title: title, text: piece})
			}
			piece = ""
		}
		for paragraph := range strings.SplitSeq(whole, "\n\n") {
			if len(piece)+len(paragraph) > most {
				emit()
			}
			piece += paragraph + "\n\n"
		}
		emit()
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		level := len(line) - len(strings.TrimLeft(line, "#"))
		if inCode || level == 0 || level > 4 || !strings.HasPrefix(line[level:], " ") {
			body = append(body, line)
			continue
		}
		flush()
		headings = append(headings[:min(level-1, len(headings))], strings.TrimSpace(line[level:]))
	}
	flush()
	return out
}

// hit is a passage that fits a question.
type hit struct {
	passage
	score float64
	// share is how much of the question's weight the passage holds, 0 to 1.
	share float64
}

// search returns the best passages for a question, best first.
func (ix *index) search(question string, limit int) []hit {
	const k1, b = 1.2, 0.75
	words := slices.Compact(slices.Sorted(slices.Values(terms(question))))
	total := 0.0
	weight := map[string]float64{}
	n := float64(len(ix.passages))
	for _, w := range words {
		weight[w] = math.Log(1 + (n-float64(ix.found[w])+0.5)/(float64(ix.found[w])+0.5))
		total += weight[w]
	}
	var hits []hit
	for i := range ix.passages {
		p := &ix.passages[i]
		score, share := 0.0, 0.0
		for _, w := range words {
			tf := float64(p.terms[w])
			if tf == 0 {
				continue
			}
			score += weight[w] * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(p.length)/ix.average))
			share += weight[w] / total
		}
		if score == 0 {
			continue
		}
		if len(p.about) > 0 && !slices.ContainsFunc(p.about, func(w string) bool { return !slices.Contains(words, w) }) {
			score *= 3 // the passage is about this and nothing else
		}
		hits = append(hits, hit{*p, score, share})
	}
	slices.SortStableFunc(hits, func(x, y hit) int { return cmp.Compare(y.score, x.score) })
	return hits[:min(limit, len(hits))]
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
