package guide

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/platform/textindex/analyse"
	"github.com/castalia-org/castalia/plugin"
)

// questionsPage has short answers to what newcomers ask.
const questionsPage = "guides/questions.md"

// Of a question that newcomers ask, so much must be in what somebody asks, and the
// other way round.
const (
	sureAsked = 0.62
	sureSaid  = 0.5
)

// frequent finds a question that newcomers ask by other words for it, with slips of
// the hand.
type frequent struct {
	index *textindex.Small
	// answers are the passages of questionsPage, and phrases what they are called: the
	// heading, its parts, and what stands behind "also".
	answers []textindex.Passage
	phrases map[string]int // by plain text: the answer
}

// readFrequent takes the page out of all passages.
func readFrequent(all []textindex.Passage) (*frequent, error) {
	f := &frequent{phrases: map[string]int{}}
	var ways []textindex.Passage
	for _, h := range all {
		if h.Document != questionsPage {
			continue
		}
		_, heading, isQuestion := strings.Cut(h.Title, ": ")
		if !isQuestion {
			continue
		}
		at := len(f.answers)
		f.answers = append(f.answers, h)
		for way := range strings.SplitSeq(heading+";"+h.Headings, ";") {
			said := plain(way)
			if _, known := f.phrases[said]; known || said == "" {
				continue
			}
			f.phrases[said] = at
			ways = append(ways, textindex.Passage{
				//nolint:gosec // few
				Document: fmt.Sprint(at), Number: uint32(len(ways)), Language: analyse.English, Text: said,
			})
		}
	}
	var err error
	if f.index, err = textindex.NewSmall(ways, analyse.Everyday()); err != nil {
		return nil, fmt.Errorf("index questions: %w", err)
	}
	return f, nil
}

// find returns the answer to a question, if newcomers ask it.
func (f *frequent) find(ctx context.Context, question string) (textindex.Passage, bool) {
	if at, ok := f.phrases[plain(question)]; ok {
		return f.answers[at], true
	}
	found, err := f.index.Search(ctx, question, textindex.MaxHits)
	if err != nil {
		return textindex.Passage{}, false // it is in memory: whoever asked has left
	}
	best, most := -1, 0.0
	for _, h := range found.Hits {
		var said []int
		for _, w := range h.Words {
			if !slices.Contains(said, w.Word) {
				said = append(said, w.Word)
			}
		}
		share := min(float64(len(said))/float64(max(len(terms(h.Text)), 1)), 1)
		if h.Confidence < sureAsked || share < sureSaid || h.Confidence*share <= most {
			continue
		}
		at := 0
		if _, err := fmt.Sscan(h.Document, &at); err == nil {
			best, most = at, h.Confidence*share
		}
	}
	if best < 0 {
		return textindex.Passage{}, false
	}
	return f.answers[best], true
}

// frequently answers what newcomers ask. What names a file is no such question.
func (p *Provider) frequently(ctx context.Context) func(plugin.ModelRequest, string) (answer, bool) {
	return func(_ plugin.ModelRequest, question string) (answer, bool) {
		if openForm.MatchString(question) || saysAbout.MatchString(question) {
			return answer{}, false
		}
		h, ok := p.questions.find(ctx, question)
		if !ok {
			return answer{}, false
		}
		return answer{text: p.asQuoted(h)}, true
	}
}
