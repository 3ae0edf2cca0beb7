package guide

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml"
	"golang.org/x/text/unicode/norm"

	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
	"github.com/castalia-org/castalia/plugin"
)

//go:embed talk/*.yaml
var talkFiles embed.FS

// spoken are the languages of talk; the first has every line.
var spoken = []analyse.Language{analyse.English, analyse.French, analyse.Swahili, analyse.Arabic}

// anything stands in a phrase for whatever is said there.
const anything = "…"

// book is what is said in one language.
type book struct {
	Ends, Now, Follow []string
	Talk              []phrases
	Lines             map[string]string
	Days, Months      []string
	first             *book // the first of spoken
}

// phrases are ways to say one thing.
type phrases struct {
	Name string
	Asks []string
	// Look is what the documents are asked before Says is said.
	Look string
	Says string
	// Means is the same in English, by which the rules know what to do.
	Means string
	book  *book
}

// readTalk reads the books, in the order of spoken.
func readTalk() ([]*book, error) {
	var all []*book
	for _, language := range spoken {
		raw, err := talkFiles.ReadFile("talk/" + string(language) + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("read talk: %w", err)
		}
		b := &book{}
		if err := yaml.UnmarshalWithOptions(raw, b, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("talk of %s: %w", language, err)
		}
		for _, list := range [][]string{b.Ends, b.Now, b.Follow} {
			for i, said := range list {
				list[i] = plain(said)
			}
		}
		for i, t := range b.Talk {
			b.Talk[i].book = b
			for j, said := range t.Asks {
				t.Asks[j] = plain(said)
			}
		}
		all = append(all, b)
		b.first = all[0]
	}
	return all, nil
}

// plain is a text in lower case without accents and marks, and with one space
// between words. Apostrophes join: "what's" is "whats".
func plain(text string) string {
	text = strings.NewReplacer("'", "", "’", "", anything, " "+anything+" ").Replace(strings.ToLower(text))
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(text))
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(anything, r)
	}), " ")
}

// heard finds the phrase that a question is. rest is what the phrase leaves open at
// its end.
func (p *Provider) heard(question string) (found phrases, rest string, ok bool) {
	said := plain(question)
	for _, b := range p.books {
		for _, whole := range []string{said, b.bare(said)} {
			for _, t := range b.Talk {
				for _, ask := range t.Asks {
					if rest, ok := fits(whole, ask); ok {
						return t, rest, true
					}
				}
			}
		}
	}
	return phrases{}, "", false
}

// bare takes words that change nothing away from both ends.
func (b *book) bare(said string) string {
	for before := ""; before != said; {
		before = said
		for _, end := range b.Ends {
			said = strings.TrimSuffix(strings.TrimPrefix(said, end+" "), " "+end)
		}
	}
	return said
}

// fits reports whether a text is what a phrase says, and what stands at its open end.
func fits(said, ask string) (rest string, ok bool) {
	inside, openEnd := strings.CutSuffix(ask, " "+anything)
	inside, openStart := strings.CutPrefix(inside, anything+" ")
	if !openStart && !openEnd {
		return "", said == ask
	}
	before, after, found := strings.Cut(" "+said+" ", " "+inside+" ")
	if !found || !openStart && before != "" || !openEnd && after != "" {
		return "", false
	}
	return strings.TrimSpace(after), true
}

// without takes words away that say nothing to documents, wherever they stand; there
// may be none of them.
func (b *book) without(question string) (shorter string, ok bool) {
	said := " " + plain(question) + " "
	before := said
	for _, w := range b.Now {
		said = strings.ReplaceAll(said, " "+w+" ", " ")
	}
	shorter = strings.TrimSpace(said)
	return shorter, said != before && shorter != ""
}

// follows takes the start away by which a short question goes on with the one before.
func (b *book) follows(question string) (rest string, ok bool) {
	const most = 6 // words; who says more asks something new
	said := strings.TrimRight(strings.TrimSpace(question), "?!. ")
	if len(strings.Fields(said)) > most {
		return "", false
	}
	for _, start := range b.Follow {
		if len(said) > len(start)+1 && strings.EqualFold(said[:len(start)], start) && said[len(start)] == ' ' {
			return strings.TrimSpace(said[len(start):]), true
		}
	}
	return "", false
}

// bookFor is the book of a question's language; foreign says that there is none.
func (p *Provider) bookFor(question string) (b *book, foreign bool) {
	language := analyse.Detect(question)
	if i := slices.Index(spoken, language); i >= 0 {
		return p.books[i], false
	}
	return p.books[0], language != analyse.Undetermined
}

// line is what the book says under a name, with its gaps filled: pairs of a name and
// what stands there.
func (p *Provider) line(b *book, name string, gaps ...string) string {
	return p.filled(b, cmp.Or(b.Lines[name], b.first.Lines[name]), gaps...)
}

func (p *Provider) filled(b *book, text string, gaps ...string) string {
	pairs := []string{"{connect}", strings.ReplaceAll(b.Lines["connect"], "{home}", p.home), "{home}", p.home}
	for i := 0; i+1 < len(gaps); i += 2 {
		pairs = append(pairs, "{"+gaps[i]+"}", gaps[i+1])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// smallTalk says what stands in the books, where that is all that was said.
func (p *Provider) smallTalk(req plugin.ModelRequest, question string) (answer, bool) {
	if question == "" {
		return answer{text: p.line(p.books[0], "empty")}, true
	}
	t, _, ok := p.heard(question)
	if !ok || t.Says == "" || t.Look != "" {
		return answer{}, false
	}
	b := t.book
	name := "Castalia"
	if m := oracleIs.FindStringSubmatch(req.System); m != nil {
		name = m[1]
	}
	says := t.Says
	switch says {
	case "{help}":
		says = b.Lines["help"] + p.toolsOf(b, req.Tools)
	case "{clock}":
		return answer{text: p.clock(b, req)}, true
	}
	return answer{text: p.filled(b, says, "oracle", name)}, true
}

// clock tells the time in the user's zone, which the note of the question knows.
func (p *Provider) clock(b *book, req plugin.ModelRequest) string {
	now, where := time.Now().UTC(), "utc"
	for _, m := range slices.Backward(req.Messages) {
		said := clockLine.FindStringSubmatch(m.Note)
		if said == nil {
			continue
		}
		if at, err := time.Parse("Monday, 2 January 2006, 15:04", said[1]); err == nil {
			now, where = at, "here"
		}
		break
	}
	return p.line(b, "clock", "day", b.Days[now.Weekday()], "date", now.Format("2"), "month", b.Months[now.Month()-1],
		"year", now.Format("2006"), "time", now.Format("15:04"), "where", b.Lines[where])
}
