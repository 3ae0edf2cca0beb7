package guide

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/castalia-org/castalia/plugin"
)

// The tools of the memory plugin.
const (
	rememberTool = "remember"
	recallTool   = "recall"
	forgetTool   = "forget"
)

// memory is something that the user told.
type memory struct{ ID, Text string }

// recalled are the memories in a result that have the words of about.
func recalled(r result, about string) []memory {
	var body struct{ Memories []memory }
	if r.failed || json.Unmarshal([]byte(r.text), &body) != nil {
		return nil
	}
	wanted := terms(about)
	return slices.DeleteFunc(body.Memories, func(m memory) bool {
		has := terms(m.Text)
		return slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(has, w) })
	})
}

// remembers keeps, finds and forgets what the user told about themselves. What was
// asked for and is not remembered is left to other rules.
func (p *Provider) remembers(req plugin.ModelRequest, question string, done []result) (answer, bool) {
	t, rest, _ := p.heard(question)
	if len(done) == 0 {
		if rest == "" && t.Name != "known" {
			return answer{}, false
		}
		switch t.Name {
		case "remember":
			return useNamed(req, rememberTool, map[string]string{"text": strings.TrimRight(question, " .!")})
		case "recall", "forget":
			return useNamed(req, recallTool, map[string]string{"query": rest})
		case "known":
			return useNamed(req, recallTool, nil)
		}
		return answer{}, false
	}
	b := p.books[0]
	last := done[len(done)-1]
	switch {
	case last.failed:
		return answer{}, false
	case last.call.Name == rememberTool:
		return answer{text: p.line(b, "noted")}, true
	case last.call.Name == forgetTool && t.Name == "forget":
		for _, m := range recalled(done[0], rest) {
			return answer{text: p.line(b, "forgotten", "what", toYou(m.Text))}, true
		}
	case last.call.Name == recallTool:
		return p.recalls(req, b, t.Name, recalled(last, rest))
	}
	return answer{}, false
}

// recalls says what is remembered, or forgets it where that was asked.
func (p *Provider) recalls(req plugin.ModelRequest, b *book, asked string, found []memory) (answer, bool) {
	var list []string
	for _, m := range found {
		list = append(list, "- "+toYou(m.Text))
	}
	all := strings.Join(list, "\n")
	switch {
	case asked == "forget" && len(found) == 0:
		return answer{text: p.line(b, "absent")}, true
	case asked == "forget" && len(found) == 1:
		return useNamed(req, forgetTool, map[string]string{"id": found[0].ID})
	case asked == "forget":
		return answer{text: p.line(b, "several") + "\n\n" + all}, true
	case asked == "recall" && len(found) == 0:
		return answer{}, false
	case len(found) == 0:
		return answer{text: p.line(b, "nothing")}, true
	case len(found) == 1:
		return answer{text: toYou(found[0].Text)}, true
	}
	return answer{text: p.line(b, "told") + "\n\n" + all}, true
}

// useNamed calls a tool, if it is here.
func useNamed(req plugin.ModelRequest, name string, args map[string]string) (answer, bool) {
	t, ok := find(req.Tools, name)
	if args == nil {
		args = map[string]string{}
	}
	data, err := json.Marshal(args)
	if !ok || err != nil {
		return answer{}, false
	}
	return call(t, data), true
}

// toYou turns what somebody said about themselves around.
func toYou(said string) string {
	turned := map[string]string{
		"i": "you", "i'm": "you are", "am": "are", "my": "your", "me": "you", "mine": "yours", "myself": "yourself", "our": "your", "we": "you",
	}
	fields := strings.Fields(said)
	for i, w := range fields {
		if you, ok := turned[strings.ToLower(w)]; ok {
			fields[i] = you
		}
	}
	out := strings.Join(fields, " ")
	if out == "" {
		return out
	}
	first, size := utf8.DecodeRuneInString(out)
	return string(unicode.ToUpper(first)) + strings.TrimRight(out[size:], ".") + "."
}

// onlyRecalled reports whether all that was done is a look into what is remembered,
// which had nothing to say.
func onlyRecalled(done []result) bool {
	return len(done) == 1 && done[0].call.Name == recallTool && !done[0].failed
}
