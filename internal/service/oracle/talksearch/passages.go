package talksearch

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/internal/platform/textindex"
)

// What a message says is cut to about one size, in bytes, when it is longer than whole.
const (
	wholeSize = 4 << 10
	pieceSize = 2 << 10
)

// nameOf is what the index calls a message. The title of a session is its turn 0.
func nameOf(t Turn, seq int64) string {
	return t.Session + "/" + strconv.FormatInt(t.Turn, 10) + "/" + strconv.FormatInt(seq, 10)
}

// parseName is the opposite of nameOf.
func parseName(name string) (t Turn, seq int64, ok bool) {
	last := strings.LastIndexByte(name, '/')
	if last < 0 {
		return t, 0, false
	}
	middle := strings.LastIndexByte(name[:last], '/')
	if middle < 0 {
		return t, 0, false
	}
	turn, err := strconv.ParseInt(name[middle+1:last], 10, 64)
	if err != nil {
		return t, 0, false
	}
	seq, err = strconv.ParseInt(name[last+1:], 10, 64)
	return Turn{Session: name[:middle], Turn: turn}, seq, err == nil
}

// sessionOf is the session of a name; nobody's when it is none.
func sessionOf(name string) string {
	last := strings.LastIndexByte(name, '/')
	return name[:max(0, strings.LastIndexByte(name[:max(0, last)], '/'))]
}

// build gathers what the index has not read, of so many sessions at most, and says how
// far that is.
func build(owner string, at Stand, most int) (*textindex.Builder, []Advance, error) {
	b := textindex.NewBuilder(owner)
	unread := map[string][]Message{}
	for _, m := range at.Unread {
		unread[m.Session] = append(unread[m.Session], m)
	}
	var read []Advance
	for _, t := range at.Talks {
		said := unread[t.ID]
		to := t.Next
		if at.Behind > 0 { // it may have messages that were not read
			to = t.Indexed
			if len(said) > 0 {
				to = said[len(said)-1].Seq + 1
			}
		}
		if !t.titleWaits() && to == t.Indexed && (!t.Unread || to < t.Next) {
			continue // there is nothing to do, or not now
		}
		if len(read) == most {
			break
		}
		read = append(read, Advance{Talk: t, To: to, Title: t.TitleIndexed || t.titleWaits()})
		if t.titleWaits() {
			p := textindex.Passage{Document: nameOf(Turn{Session: t.ID}, 0), Title: cut(t.Title, textindex.MaxHead)}
			if err := b.Add(p); err != nil {
				return nil, nil, fmt.Errorf("index title: %w", err)
			}
		}
		for _, m := range said {
			for i, piece := range pieces(m.Text) {
				if err := b.Add(textindex.Passage{Document: nameOf(m.Turn, m.Seq), Number: uint32(i), Text: piece}); err != nil {
					return nil, nil, fmt.Errorf("index message: %w", err)
				}
			}
		}
	}
	return b, read, nil
}

// pieces cuts what somebody said.
func pieces(text string) (out []string) {
	for len(text) > wholeSize {
		piece := cut(text, pieceSize)
		if at := strings.LastIndexAny(piece, " \n"); at > pieceSize/2 {
			piece = piece[:at+1]
		}
		out, text = append(out, piece), text[len(piece):]
	}
	if strings.TrimSpace(text) != "" {
		out = append(out, text)
	}
	return out
}

// cut is the beginning of a text that has at most so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
