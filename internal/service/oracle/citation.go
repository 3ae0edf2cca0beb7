package oracle

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/castalia-org/castalia/plugin"
)

// CitationsPayload tells which passages an answer points to, on the stream and on
// the socket.
type CitationsPayload struct {
	Address
	Citations []plugin.Citation `json:"citations"`
	Timestamp string            `json:"timestamp"`
}

// marks are what points to passages: [1], [2, 3].
var marks = regexp.MustCompile(`\[(\d{1,3}(?:\s*,\s*\d{1,3}){0,9})\]`)

// Mark is a place in a text that points to a passage.
type Mark struct {
	plugin.Citation
	// Start and End are where it begins and ends, counted in characters.
	Start, End int
}

// Marks returns the places of a text that point to passages which its turn was
// shown, in their order. What points nowhere is text.
func Marks(text string, shown []plugin.Citation) []Mark {
	if len(shown) == 0 {
		return nil
	}
	var out []Mark
	at, characters := 0, 0
	for _, mark := range marks.FindAllStringSubmatchIndex(text, -1) {
		characters += utf8.RuneCountInString(text[at:mark[0]])
		at = mark[0]
		for part := range strings.SplitSeq(text[mark[2]:mark[3]], ",") {
			n, err := strconv.Atoi(strings.TrimSpace(part))
			if err != nil {
				continue
			}
			if i := slices.IndexFunc(shown, func(c plugin.Citation) bool { return c.Number == n }); i >= 0 {
				out = append(out, Mark{shown[i], characters, characters + utf8.RuneCountInString(text[mark[0]:mark[1]])})
			}
		}
	}
	return out
}

// Cited returns the passages that a text points to, by number, of those that its
// turn was shown.
func Cited(text string, shown []plugin.Citation) []plugin.Citation {
	var out []plugin.Citation
	for _, m := range Marks(text, shown) {
		if !slices.ContainsFunc(out, func(c plugin.Citation) bool { return c.Number == m.Number }) {
			out = append(out, m.Citation)
		}
	}
	slices.SortFunc(out, func(a, b plugin.Citation) int { return a.Number - b.Number })
	return out
}

// CitedIn returns what each message of a transcript points to. A message points to
// what the calls of its turn showed before it.
func CitedIn(list []Message) [][]plugin.Citation {
	out := make([][]plugin.Citation, len(list))
	var shown []plugin.Citation
	for i, m := range list {
		if i > 0 && m.Turn != list[i-1].Turn {
			shown = nil
		}
		if m.Role != AI {
			continue
		}
		out[i] = Cited(m.Content, shown)
		for _, c := range m.ToolCalls {
			shown = append(shown, c.Citations...)
		}
	}
	return out
}
