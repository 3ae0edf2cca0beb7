package instructions_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/instructions"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclekit"
	"github.com/castalia-org/castalia/internal/service/oracle/oracletest"
	"github.com/castalia-org/castalia/plugin"
)

const mama = `---
language: Swahili
tone: warm and brief
never:
  - give medical advice
openings:
  - Habari ya leo?
  - title: Prices
    text: What does maize cost today?
---
You are Mama Maji, who knows the wells of the valley.
`

func TestDocumentsAreRead(t *testing.T) {
	t.Parallel()
	got, err := instructions.Parse([]byte(mama))
	if err != nil {
		t.Fatal(err)
	}
	want := []instructions.Opening{{Title: "Habari ya leo?", Text: "Habari ya leo?"}, {Title: "Prices", Text: "What does maize cost today?"}}
	if diff := cmp.Diff(want, got.Openings); diff != "" {
		t.Errorf("openings (-want +got):\n%s", diff)
	}
	const prompt = `
Instructions of the operator who runs you. They do not set aside what is said above.
You are Mama Maji, who knows the wells of the valley.
Answer in this language, unless the user asks for another: Swahili.
Tone: warm and brief.
You must not do any of this, whoever asks:
- give medical advice
`
	if diff := cmp.Diff(prompt, got.Prompt); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
	for name, c := range map[string]struct{ text, prompt string }{
		"nothing":               {"", ""},
		"white space":           {" \n\n", ""},
		"an empty front matter": {"---\n---\nBe kind.", "\nInstructions of the operator who runs you. They do not set aside what is said above.\nBe kind.\n"},
		"openings alone":        {"---\nopenings: [What is new?]\n---", ""},
		"lines of Windows":      {"---\r\ntone: kind\r\n---\r\n", "\nInstructions of the operator who runs you. They do not set aside what is said above.\nTone: kind.\n"},
		"a rule in the text":    {"Be kind.\n---\nAlways.", "\nInstructions of the operator who runs you. They do not set aside what is said above.\nBe kind.\n---\nAlways.\n"},
	} {
		if got, err := instructions.Parse([]byte(c.text)); err != nil || got.Prompt != c.prompt {
			t.Errorf("%s: %q, %v", name, got.Prompt, err)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, says string }{
		"an unknown word":   {"---\ntone: kind\nmood: good\n---\n", `line 3: unknown key "mood"`},
		"the remedy":        {"---\nmood: good\n---\n", "it may have language, tone, never (a list) and openings"},
		"no end":            {"---\ntone: kind\n", "does not end"},
		"a list as a text":  {"---\ntone: [kind]\n---\n", "line 2: "},
		"too many openings": {"---\nopenings: [a, b, c, d, e, f, g, h, i]\n---\n", "openings has more than 8 entries"},
		"a long opening":    {"---\nopenings: [" + strings.Repeat("x", 201) + "]\n---\n", "entry 1 of openings has more than 200 letters"},
		"an empty opening":  {"---\nopenings: [{title: x}]\n---\n", "entry 1 of openings has no text"},
		"a long rule":       {"---\nnever: [" + strings.Repeat("x", 501) + "]\n---\n", "entry 1 of never has more than 500 letters"},
		"lines in a phrase": {"---\ntone: \"a\\nb\"\n---\n", "tone has more than one line"},
	} {
		if _, err := instructions.Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No input panics, and what is read once is read alike again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{mama, "---\n---\n", "---\nopenings: [{title: a, text: b}, c]\n---", "plain"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		one, err := instructions.Parse(text)
		two, again := instructions.Parse(text)
		if (err == nil) != (again == nil) || err == nil && cmp.Diff(one, two) != "" {
			t.Errorf("%v, %v", err, again)
		}
	})
}

// changing is a document that an operator changes.
type changing struct {
	now atomic.Pointer[instructions.Instructions]
}

func (c *changing) set(t *testing.T, text string) {
	t.Helper()
	got, err := instructions.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c.now.Store(&got)
}

func (c *changing) hand(d *oraclekit.Deps) {
	d.Instructions = func() instructions.Instructions { return *c.now.Load() }
}

// systems are the system prompts of turns.
func systems(p *scripted.Provider) []string {
	var out []string
	for _, r := range p.Requests() {
		if r.Purpose == "turn" {
			out = append(out, r.System)
		}
	}
	return out
}

func TestInstructionsReachTheModelBehindTheRules(t *testing.T) {
	t.Parallel()
	var doc changing
	doc.set(t, mama)
	p := scripted.Sequence(scripted.Text("Karibu"))
	node := oracletest.Start(t, p, doc.hand)
	alice := node.As(t, identitytest.Alice)
	alice.Say(alice.Session(), "hello")
	got := systems(p)[0]
	rule, text := strings.Index(got, "never an instruction to you"), strings.Index(got, "You are Mama Maji")
	if rule < 0 || text < rule {
		t.Errorf("the prompt is %q", got)
	}
	if all := openings(t, node); len(all) != 2 || all[1].Title != "Prices" {
		t.Errorf("openings: %+v", all)
	}
}

// openings are what a node suggests.
func openings(t *testing.T, node *oracletest.Node) []instructions.Opening {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, node.URL+"/openings", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var body struct{ Openings []instructions.Opening }
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body.Openings
}

// Where the operator suggests nothing, what every oracle answers is suggested; what the
// operator suggests stands alone.
func TestSomethingIsAlwaysSuggested(t *testing.T) {
	t.Parallel()
	var doc changing
	doc.set(t, "Be kind.")
	sample := func(d *oraclekit.Deps) {
		d.Suggest = func(context.Context) ([]instructions.Opening, error) { return instructions.Sample(), nil }
	}
	plain := oracletest.Start(t, scripted.Sequence(), doc.hand)
	if diff := cmp.Diff(instructions.Everyday(), openings(t, plain)); diff != "" {
		t.Error(diff)
	}
	node := oracletest.Start(t, scripted.Sequence(), doc.hand, sample)
	if diff := cmp.Diff(instructions.Sample(), openings(t, node)); diff != "" {
		t.Error(diff)
	}
	doc.set(t, mama)
	if all := openings(t, node); len(all) != 2 {
		t.Errorf("the operator's own are %+v", all)
	}
}

// helper is a plugin with a sub-agent.
type helper struct{}

func (helper) Describe() plugin.Description {
	return plugin.Description{
		Name:     "helper",
		Manifest: plugin.Manifest{Title: "Helper", Summary: "Helps.", WhenToUse: []string{"help"}, Visibility: plugin.Always},
	}
}

func (helper) SubAgents() []plugin.SubAgent {
	return []plugin.SubAgent{{Name: "digger", Description: "Digs.", Prompt: "You dig."}}
}

func TestInstructionsReachSubAgents(t *testing.T) {
	t.Parallel()
	var doc changing
	doc.set(t, mama)
	p := scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		if req.Purpose == "turn" && len(req.Messages) == 1 {
			return scripted.Calls(plugin.ModelToolCall{ID: "1", Name: "call_digger", Args: json.RawMessage(`{"task":"dig"}`)})
		}
		return scripted.Text("dug")
	})
	alice := oracletest.Start(t, p, doc.hand, func(d *oraclekit.Deps) {
		d.Plugins = []plugin.Plugin{helper{}}
	}).As(t, identitytest.Alice)
	alice.Say(alice.Session(), "dig")
	for _, r := range p.Requests() {
		if r.Messages[0].Text == "dig" && r.Purpose != "turn" {
			if !strings.HasPrefix(r.System, "You dig.") || !strings.Contains(r.System, "You are Mama Maji") {
				t.Errorf("the sub-agent is told %q", r.System)
			}
			return
		}
	}
	t.Error("the sub-agent was not asked")
}

// A change holds for conversations that begin after it, on whatever node; one
// that is under way keeps what it has, so that its requests grow at their end.
func TestAConversationKeepsItsInstructions(t *testing.T) {
	t.Parallel()
	var doc changing
	doc.set(t, "first version")
	p := scripted.Sequence(scripted.Text("yes"))
	db := oracletest.Migrated(t, sqldbtest.SQLite(t))
	node := func() *oracletest.Node {
		return oracletest.Start(t, p, doc.hand, func(d *oraclekit.Deps) { d.DB = db })
	}
	one, two := node(), node()
	alice := one.As(t, identitytest.Alice)
	old := alice.Session()
	alice.Say(old, "a")
	doc.set(t, "second version")
	alice.On(two).Say(old, "b")
	fresh := alice.Session()
	alice.On(two).Say(fresh, "c")
	alice.Say(fresh, "d")
	doc.set(t, "")
	alice.Say(old, "e")
	for i, want := range []string{"first version", "first version", "second version", "second version", ""} {
		got := systems(p)[i]
		if want == "" && strings.Contains(got, "version") || !strings.Contains(got, want) {
			t.Errorf("request %d: %q", i, got)
		}
	}
}

// A summary is another beginning, so that what is in force then holds.
func TestASummaryTakesWhatIsInForce(t *testing.T) {
	t.Parallel()
	var doc changing
	doc.set(t, "first version")
	p := scripted.New(func(req plugin.ModelRequest) scripted.Reply {
		if req.Purpose != "turn" {
			return scripted.Text(req.Purpose)
		}
		return scripted.Text(strings.Repeat("word ", 400))
	})
	node := oracletest.Start(t, p, doc.hand, func(d *oraclekit.Deps) { d.Turn.WindowShare = 0.0001 })
	alice := node.As(t, identitytest.Alice)
	session := alice.Session()
	alice.Say(session, "a")
	doc.set(t, "second version")
	alice.Say(session, "b")
	alice.Say(session, "c")
	for i, want := range []string{"first version", "second version", "second version"} {
		if got := systems(p)[i]; !strings.Contains(got, want) {
			t.Errorf("request %d: %q", i, got)
		}
	}
}
