package guide

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/castalia-org/castalia/plugin"
)

// documentTool asks the community's documents.
const documentTool = "knowledge_search"

// isDocumentTool reports whether the guide knows by itself when to use a tool, and
// what it returns is written for models.
func isDocumentTool(name string) bool { return strings.HasPrefix(name, "knowledge_") }

// look is one question to the documents.
type look struct {
	query string
	// about are the words that an answer is to have, where that is not the query.
	about string
}

// looks are the questions to the documents that somebody's question becomes, tried
// in their order until one is answered.
func (p *Provider) looks(req plugin.ModelRequest, question string) []look {
	if t, _, ok := p.heard(question); ok && t.Look != "" {
		return []look{{query: t.Look}}
	}
	var out []look
	b, _ := p.bookFor(question)
	if rest, ok := b.follows(question); ok {
		if before := p.questionBefore(req.Messages); before != "" {
			out = append(out, look{query: before + " " + rest, about: rest})
		}
	}
	out = append(out, look{query: question})
	if shorter, ok := b.without(question); ok && len(terms(shorter)) > 0 {
		out = append(out, look{query: shorter})
	}
	return out
}

// questionBefore is the last question before this one that stands for itself.
func (p *Provider) questionBefore(messages []plugin.ModelMessage) string {
	_, at := lastQuestion(messages)
	for at > 0 {
		var question string
		question, at = lastQuestion(messages[:at])
		if b, _ := p.bookFor(question); question != "" {
			if _, ok := b.follows(question); !ok {
				return question
			}
		}
	}
	return ""
}

// askDocuments asks the documents, and says what they answered. It has nothing to say
// when none of its questions was answered; nearest then are the documents that come
// nearest.
func (p *Provider) askDocuments(req plugin.ModelRequest, question string, asked []result) (a answer, nearest []string,
	ok bool,
) {
	looks := p.looks(req, question)
	if n := len(asked); n > 0 {
		at := looks[min(n, len(looks))-1]
		quotes := quotations(asked[n-1])
		if answered(asked[n-1]) {
			if said := show(quotes, at); said != "" {
				return answer{text: said}, nil, true
			}
		}
	}
	t, found := find(req.Tools, documentTool)
	if !found || len(asked) >= len(looks) {
		for _, r := range asked {
			if quotes := quotations(r); !r.failed && !answered(r) && len(quotes) == 1 && nearest == nil {
				nearest = strings.Split(quotes[0].text, "\n")
			}
		}
		return answer{}, nearest, false
	}
	const most = 1000
	args, err := json.Marshal(map[string]any{
		"query": cut(looks[len(asked)].query, most-4, ""), "limit": 3, "brief": true,
	})
	if err != nil {
		return answer{}, nil, false
	}
	a = call(t, args)
	a.thought = "I will look into the documents."
	return a, nil, true
}

// answered reports whether the documents answer; a look that failed found nothing.
func answered(r result) bool { return !r.failed && strings.HasPrefix(r.text, "Answered: yes") }

var (
	openMark = regexp.MustCompile(`<quote ([a-z0-9]+)>\n`)
	numbered = regexp.MustCompile(`\[(\d+)\] \S+\n$`)
	sourceOf = regexp.MustCompile(`^source: ([^\n]*)\n`)
)

// passage is what a document says, where, and by which number it is cited.
type passage struct {
	number       int
	source, text string
}

// quotations are what stands between marks that belong together: what a document
// says of marks is part of its text.
func quotations(r result) []passage {
	first := openMark.FindStringSubmatch(r.text)
	if first == nil {
		return nil
	}
	end := "\n</quote " + first[1] + ">\n"
	parts := strings.Split(r.text+"\n", first[0])
	var out []passage
	before := parts[0]
	for _, part := range parts[1:] {
		said, after, ok := strings.Cut(part, end)
		if !ok {
			break
		}
		q := passage{number: len(out) + 1, text: said}
		if m := numbered.FindStringSubmatch(before); m != nil {
			q.number, _ = strconv.Atoi(m[1]) // the expression takes digits alone
		}
		if m := sourceOf.FindStringSubmatch(said); m != nil {
			q.source, q.text = m[1], strings.TrimSpace(strings.TrimPrefix(said, m[0]))
		}
		out, before = append(out, q), after
	}
	return out
}

// show quotes what documents say for people, with its sources. Of several passages
// those count that have what the question names in capitals, or what it goes on with.
func show(quotes []passage, at look) string {
	about := at.about
	if about == "" {
		about = strings.Join(capitals(at.query), " ")
	}
	if about != "" {
		having := slices.DeleteFunc(slices.Clone(quotes), func(q passage) bool { return !mentions(q.text, about) })
		if len(having) == 0 && at.about != "" {
			return ""
		}
		if len(having) > 0 {
			quotes = having
		}
	}
	if about == "" {
		about = at.query
	}
	var said []string
	for _, q := range quotes {
		if q.source == "" {
			continue
		}
		said = append(said, fmt.Sprintf("> %s\n\n[%d] %s", strings.ReplaceAll(rowsAbout(q.text, about), "\n", "\n> "), q.number, q.source))
	}
	return strings.Join(said, "\n\n")
}

// capitals are words that somebody wrote in capitals among others, such as the name
// of a fertiliser: they matter, even where they are spelt like "can".
func capitals(question string) []string {
	if strings.ToUpper(question) == question {
		return nil
	}
	return slices.DeleteFunc(strings.FieldsFunc(question, isMark), func(w string) bool {
		return len(w) < 2 || strings.ToUpper(w) != w || strings.ToLower(w) == w
	})
}

func isMark(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// mentions reports whether a text has one of the words.
func mentions(text, about string) bool { return hits(text, about) > 0 }

// hits counts the words of about that a text has; those in capitals count as they are
// written.
func hits(text, about string) int {
	stems, exact := terms(about), capitals(about+" a")
	has := terms(text)
	whole := strings.FieldsFunc(text, isMark)
	n := 0
	for _, w := range exact {
		if slices.Contains(whole, w) {
			n++
		}
	}
	for _, w := range stems {
		if slices.Contains(has, w) {
			n++
		}
	}
	return n
}

// rowsAbout keeps of a table its head and the rows that have most of the words.
func rowsAbout(text, about string) string {
	const cell = " | "
	rows := strings.Split(text, "\n")
	if len(rows) < 3 || slices.ContainsFunc(rows, func(row string) bool { return !strings.Contains(row, cell) }) {
		return text
	}
	most, kept := 0, []string(nil)
	for _, row := range rows[1:] {
		switch n := hits(row, about); {
		case n > most:
			most, kept = n, []string{row}
		case n == most && n > 0:
			kept = append(kept, row)
		}
	}
	if most == 0 {
		return text
	}
	return strings.Join(append(rows[:1:1], kept...), "\n")
}
