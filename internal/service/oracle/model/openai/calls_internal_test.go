package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
)

// resolved is what becomes of pieces of calls: name(arguments).
func resolved(t *testing.T, pieces string) []string {
	t.Helper()
	a := &wire.Answer{}
	r := resolver{a}
	for line := range strings.SplitSeq(pieces, "\n") {
		var c deltaCall
		if line = strings.TrimSpace(line); line != "" {
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatal(err)
			}
			r.take(c)
		}
	}
	r.settle()
	var out []string
	for _, c := range a.Calls {
		out = append(out, c.Name+"("+c.Args.String()+")")
	}
	return out
}

func TestPiecesBecomeCalls(t *testing.T) {
	t.Parallel()
	two := []string{`f({"a":1})`, `f({"a":2})`}
	for name, c := range map[string]struct {
		pieces string
		want   []string
	}{
		"by number": {`{"index":0,"id":"x","function":{"name":"f","arguments":""}}
			{"index":1,"id":"y","function":{"name":"f","arguments":"{\"a\""}}
			{"index":0,"function":{"arguments":"{\"a\":1}"}}
			{"index":1,"function":{"arguments":":2}"}}`, two},
		"number 0 twice, two ids": {`{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":1}"}}
			{"index":0,"id":"y","function":{"name":"f","arguments":"{\"a\":2}"}}`, two},
		"number 0 twice, in pieces": {`{"index":0,"id":"x","function":{"name":"f","arguments":""}}
			{"index":0,"function":{"arguments":"{\"a\":1}"}}
			{"index":0,"id":"y","function":{"name":"f","arguments":""}}
			{"index":0,"function":{"arguments":"{\"a\":2}"}}`, two},
		"no number": {`{"id":"x","function":{"name":"f","arguments":"{\"a\":1}"}}
			{"id":"y","function":{"name":"f","arguments":"{\"a\":2}"}}`, two},
		"no number, no id": {`{"function":{"name":"f","arguments":"{\"a\":1}"}}
			{"function":{"name":"f","arguments":"{\"a\":2}"}}`, two},
		"a known id wins": {`{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":"}}
			{"index":1,"id":"y","function":{"name":"f","arguments":"{\"a\":"}}
			{"index":5,"id":"x","function":{"arguments":"1}"}}
			{"id":"y","function":{"arguments":"2}"}}`, two},
		"the name in each piece": {`{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\""}}
			{"index":0,"function":{"name":"f","arguments":":1}"}}
			{"index":1,"id":"y","function":{"name":"f","arguments":"{\"a\""}}
			{"index":1,"id":"","function":{"name":" ","arguments":":2}"}}`, two},
		"joined":  {`{"index":0,"id":"x","function":{"name":"f","arguments":"{\"a\":1}{\"a\":2}"}}`, two},
		"nothing": {`{"index":0}`, nil},
		"without arguments": {`{"index":0,"id":"x","function":{"name":"f"}}
			{"index":0,"id":"y","function":{"name":"g","arguments":{"b":1}}}`, []string{`f()`, `g({"b":1})`}},
	} {
		if d := cmp.Diff(c.want, resolved(t, c.pieces)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// Whatever comes, no argument is lost or made up, and no call is without both a
// name and arguments.
func FuzzPiecesBecomeCalls(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7}, `{"a":1}`)
	f.Add([]byte{9, 200, 31, 4}, `}{`)
	f.Fuzz(func(t *testing.T, script []byte, text string) {
		a := &wire.Answer{}
		r := resolver{a}
		sent := 0
		for i, b := range script {
			var c deltaCall
			if b&1 != 0 {
				n := int(b>>1) & 3
				c.Index = &n
			}
			c.ID = []string{"", "x", "y", " "}[b>>3&3]
			c.Function.Name = []string{"", "f", "g", "f"}[b>>5&3]
			piece := ""
			if len(text) > 0 {
				piece = text[:i%len(text)]
			}
			piece = strings.ToValidUTF8(piece, "?")
			c.Function.Arguments, _ = json.Marshal(piece)
			sent += len(piece)
			r.take(c)
		}
		got := 0
		for _, c := range a.Calls {
			got += c.Args.Len()
		}
		if got != sent {
			t.Fatalf("%d bytes of arguments of %d", got, sent)
		}
		r.settle()
		for _, c := range a.Calls {
			if c.Name == "" && c.Args.Len() == 0 {
				t.Fatal("an empty call")
			}
		}
	})
}

func TestThoughtsAreNoContent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content       string
		text, thought string
	}{
		"none":                {"Hello <b>there</b>.", "Hello <b>there</b>.", ""},
		"tags":                {"<think>so</think>\n\nHi", "Hi", "so"},
		"after white space":   {"\n <think>\nso\n</think>Hi", "Hi", "\nso\n"},
		"the other word":      {"<thinking>so</thinking>Hi", "Hi", "so"},
		"the closing one":     {"so it is\n</think>\n\nHi", "Hi", "so it is\n"},
		"in the middle":       {"Use <think> and `</think>` in prompts.", "Use <think> and `</think>` in prompts.", ""},
		"never closed":        {"<think>so and so", "", "so and so"},
		"nearly a tag":        {"<thin ice", "<thin ice", ""},
		"nothing but a space": {" ", " ", ""},
	} {
		for _, size := range []int{1, 2, 3, 5, 100} {
			var filter thinking
			text, thought := "", ""
			for rest := c.content; rest != ""; {
				n := min(size, len(rest))
				said, thoughts, retract := filter.take(rest[:n])
				if retract {
					thought += text
					text = ""
				}
				text, thought, rest = text+said, thought+thoughts, rest[n:]
			}
			said, thoughts := filter.end()
			if text, thought = text+said, thought+thoughts; text != c.text || thought != c.thought {
				t.Errorf("%s by %d: text %q, thought %q", name, size, text, thought)
			}
		}
	}
}
