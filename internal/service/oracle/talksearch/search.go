package talksearch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/textindex"
	"github.com/castalia-org/castalia/internal/service/oracle"
)

// The limits of a search.
const (
	maxSearch      = 200 // bytes
	maxSearchWords = 16
	// What is read beside the index: what was said in the last minute, as a rule.
	besideMessages = 2000
	besideBytes    = 1 << 20
)

// How much of a message an excerpt shows, in characters, around the first word found.
const (
	excerptBefore = 40
	excerptAfter  = 120
)

// Hit is a session that a search found.
type Hit struct {
	oracle.Session
	// Excerpt is what a message says around the words; empty when only the title has them.
	Excerpt string
}

// Result is a page of what was found.
type Result struct {
	Hits []Hit
	// Total is how many sessions were found.
	Total int64
	// Behind counts messages that could not be looked at yet.
	Behind int64
}

// Search finds the user's sessions that have every word of text in their title or
// messages, last changed first.
func (s *Service) Search(ctx context.Context, owner, text string, limit, offset int) (Result, error) {
	if len(text) > maxSearch || len(strings.Fields(text)) > maxSearchWords || !utf8.ValidString(text) {
		return Result{}, fault.New(fault.Invalid,
			fmt.Sprintf("search must have at most %d words and %d bytes of UTF-8: leave out what is not needed", maxSearchWords, maxSearch))
	}
	leave, err := s.searches.Take(ctx, owner)
	if err != nil {
		return Result{}, err
	}
	defer leave()
	at, views, err := s.look(ctx, owner)
	if err != nil && s.mend(ctx, owner, err) {
		at, views, err = s.look(ctx, owner)
	}
	if err != nil {
		return Result{}, fmt.Errorf("search sessions: %w", err)
	}
	out := Result{Behind: at.Behind}
	places := make(map[string]int, len(at.Talks))
	for i, t := range at.Talks {
		places[t.ID] = i
	}
	matches, err := textindex.NewSearcher(views, nil).Match(ctx, textindex.Query{
		Text: text, Part: true, Scope: textindex.Scope{owner: textindex.DocumentsThat(func(name string) bool {
			if _, there := places[sessionOf(name)]; !there || len(at.Hidden) == 0 {
				return there
			}
			turn, _, ok := parseName(name)
			return ok && !at.Hidden[turn]
		})},
	})
	if err != nil {
		return Result{}, fmt.Errorf("search sessions: %w", err)
	}
	if matches.Needed == 0 {
		return out, nil
	}
	found := gather(at.Talks, places, matches)
	out.Total = int64(len(found))
	found = found[min(offset, len(found)):]
	found = found[:min(limit, len(found))]
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.id
	}
	sessions, err := s.store.SessionsByID(ctx, owner, ids)
	if err != nil {
		return Result{}, fmt.Errorf("search sessions: %w", err)
	}
	for _, f := range found {
		session, ok := sessions[f.id]
		if !ok {
			continue // it is gone by now
		}
		hit := Hit{Session: session}
		if f.best != nil {
			said, err := matches.Read(*f.best)
			if err != nil {
				return Result{}, fmt.Errorf("search sessions: %w", err)
			}
			hit.Excerpt = excerpt(said)
		}
		out.Hits = append(out.Hits, hit)
	}
	return out, nil
}

// look reads how things stand, and opens the index with what it does not have yet.
func (s *Service) look(ctx context.Context, owner string) (Stand, []*textindex.View, error) {
	at, err := s.store.Stand(ctx, owner, Look{
		Messages: besideMessages, Bytes: besideBytes, Segments: true, Known: s.known(owner),
	})
	if err != nil {
		return at, nil, err
	}
	views, err := s.open(owner, at)
	if err != nil {
		return at, nil, err
	}
	view, err := s.freshView(owner, at)
	if err != nil || view == nil {
		return at, views, err
	}
	return at, append(slices.Clip(views), view), nil
}

// foundTalk is a session that has every word.
type foundTalk struct {
	id string
	// best is the turn whose message has the most of the words, the first of several;
	// nil when only the title has some.
	best *textindex.Match
}

// gather returns the sessions that have all needed words, in their order.
func gather(talks []Talk, places map[string]int, matches *textindex.Matches) (found []foundTalk) {
	words := make([]uint32, len(talks))
	best := make([]*textindex.Match, len(talks))
	for i := range matches.Documents {
		m := &matches.Documents[i]
		turn, seq, _ := parseName(m.Document)
		at := places[turn.Session]
		words[at] |= m.Words
		if turn.Turn == 0 { // the title
			continue
		}
		if best[at] == nil {
			best[at] = m
			continue
		}
		earlier, earlierSeq, _ := parseName(best[at].Document)
		if cmp.Or(cmp.Compare(best[at].Most, m.Most), cmp.Compare(turn.Turn, earlier.Turn),
			cmp.Compare(seq, earlierSeq)) < 0 {
			best[at] = m
		}
	}
	for i, t := range talks {
		if words[i] == matches.Needed {
			found = append(found, foundTalk{t.ID, best[i]})
		}
	}
	return found
}

// excerpt cuts the part of a message that has the first of the words in it, on one
// line.
func excerpt(said textindex.Hit) string {
	first := len(said.Text)
	for _, w := range said.Words {
		first = min(first, w.Start)
	}
	if first == len(said.Text) {
		first = 0
	}
	before := []rune(strings.Join(strings.Fields(said.Text[:first]), " "))
	if len(before) > 0 && unicode.IsSpace(rune(said.Text[first-1])) {
		before = append(before, ' ')
	}
	after := []rune(strings.Join(strings.Fields(said.Text[first:]), " "))
	from, to := max(0, len(before)-excerptBefore), min(len(after), excerptAfter)
	for from > 0 && from < len(before) && !unicode.IsSpace(before[from-1]) { // whole words read better
		from++
	}
	out := string(before[from:]) + string(after[:to])
	if from > 0 {
		out = "…" + out
	}
	if to < len(after) {
		out += "…"
	}
	return out
}
