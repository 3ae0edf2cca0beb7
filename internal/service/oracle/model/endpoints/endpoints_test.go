package endpoints_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/sealing"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
	"github.com/castalia-org/castalia/internal/service/oracle/model/endpoints"
	"github.com/castalia-org/castalia/internal/service/oracle/model/scripted"
	"github.com/castalia-org/castalia/internal/service/oracle/model/wire"
	"github.com/castalia-org/castalia/plugin"
)

func config(change ...func(*endpoints.Config)) endpoints.Config {
	c := endpoints.Config{
		Guide: scripted.Sequence(scripted.Text("I am the guide.")),
		Getenv: func(name string) string {
			return map[string]string{"FAR_KEY": "sk-far", "FAR_URL": "http://127.0.0.1:9/v1"}[name]
		},
		Seal: sealing.Sealer{Key: bytes.Repeat([]byte{7}, 32), Purpose: endpoints.Purpose},
		Wire: wire.Config{Backoff: time.Millisecond, Retries: -1},
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

const two = `
endpoints:
  far: {kind: openai, base_url: http://127.0.0.1:9/v1, key: {env: FAR_KEY}}
  guide: {kind: guide}
models:
  - id: luna
    name: gpt-6-luna
    endpoint: far
    label: Luna
    window: 9000
    vision: false
    tools: false
    wire: responses
    prices: {input: 1, output: 2, cached: 0.5}
    limits: {concurrent: 2}
    temperature: 0.2
    effort: low
    max_tokens: 4000
  - {id: plan-b, endpoint: guide}
fallback: [plan-b]
`

func TestDocumentsAreRead(t *testing.T) {
	t.Parallel()
	s, err := config().Parse([]byte(two), operatordoc.FromFile)
	if err != nil {
		t.Fatal(err)
	}
	all := s.Models()
	if m := all[0]; len(all) != 2 || m.ID != "luna" || m.Label != "Luna" || m.Window != 9000 || m.Vision || !m.NoTools ||
		m.Wire != "responses" ||
		m.InputPerMillion != 1 || *m.CachedPerMillion != 0.5 || *m.Temperature != 0.2 || m.Effort != "low" ||
		m.MaxTokens != 4000 {
		t.Errorf("%+v", all)
	}
	if all[1].ID != "plan-b" || s.Name() != "openai" || s.GuideOnly() {
		t.Errorf("%+v of %s", all[1], s.Name())
	}
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("sk-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const ok = "endpoints: {e: {kind: openai, base_url: 'http://h/v1'}}\nmodels: [{id: m, endpoint: e}]\n"
	for name, c := range map[string]struct {
		text string
		from operatordoc.Source
		says string
	}{
		"good":                     {ok, operatordoc.FromDatabase, ""},
		"a key from a file":        {strings.Replace(ok, "v1'", "v1', key: {file: "+file+"}", 1), operatordoc.FromFile, ""},
		"an unknown key":           {strings.Replace(ok, "kind", "knd", 1), operatordoc.FromFile, `line 1: unknown key "knd"; did you mean "kind"?`},
		"an unknown word below":    {ok + "fallbck: [m]\n", operatordoc.FromFile, `line 3: unknown key "fallbck"; did you mean "fallback"?`},
		"nothing":                  {"", operatordoc.FromFile, "endpoints: name at least one"},
		"no models":                {"endpoints: {e: {kind: guide}}", operatordoc.FromFile, "models: name at least one"},
		"a kind that is not there": {strings.Replace(ok, "kind: openai", "kind: azure", 1), operatordoc.FromFile, `kind is "azure", allowed is openai`},
		"another endpoint":         {strings.Replace(ok, "endpoint: e", "endpoint: f", 1), operatordoc.FromFile, `model 1 ("m"): there is no endpoint "f"`},
		"an id twice":              {strings.Replace(ok, "[{", "[{id: m, endpoint: e}, {", 1), operatordoc.FromFile, `model 2: the id "m" is there twice`},
		"a stranger as fallback":   {ok + "fallback: [x]\n", operatordoc.FromFile, `fallback: "x" is not the id of a model`},
		"a password in the URL":    {strings.Replace(ok, "//h", "//u:p@h", 1), operatordoc.FromFile, "has a user or a password in it"},
		"another scheme":           {strings.Replace(ok, "http:", "file:", 1), operatordoc.FromFile, "base_url is not an address"},
		"a literal key in a file":  {strings.Replace(ok, "v1'", "v1', key: sk-literal", 1), operatordoc.FromFile, "write {env: NAME} or {file: PATH}"},
		"a missing variable":       {strings.Replace(ok, "v1'", "v1', key: {env: NOTHING}", 1), operatordoc.FromFile, "key: the variable NOTHING is not set"},
		"a missing file":           {strings.Replace(ok, "v1'", "v1', key: {file: /none}", 1), operatordoc.FromFile, "key: open /none"},
		"both":                     {strings.Replace(ok, "v1'", "v1', key: {env: A, file: /none}", 1), operatordoc.FromFile, "name env or file, not both"},
		"a stored variable":        {strings.Replace(ok, "v1'", "v1', key: {env: FAR_KEY}", 1), operatordoc.FromDatabase, "a stored document cannot refer to variables and files"},
		"a stored file":            {strings.Replace(ok, "v1'", "v1', key: {file: "+file+"}", 1), operatordoc.FromDatabase, "a stored document cannot refer to variables and files"},
		"a stored address":         {strings.Replace(ok, "'http://h/v1'", "{env: FAR_URL}", 1), operatordoc.FromDatabase, "base_url: a stored document cannot refer"},
		"a forged seal":            {strings.Replace(ok, "v1'", "v1', key: 'sealed:AAAA'", 1), operatordoc.FromDatabase, "sealed for another address or by another deployment"},
		"a hot model":              {strings.Replace(ok, "id: m", "id: m, temperature: 3", 1), operatordoc.FromFile, "temperature is a number from 0 to 2"},
		"a price by mistake":       {strings.Replace(ok, "id: m", "id: m, prices: {input: 1e9, output: 1}", 1), operatordoc.FromFile, "prices are US dollars per million"},
		"a wire of the other kind": {strings.Replace(strings.Replace(ok, "id: m", "id: m, wire: chat", 1), "kind: openai", "kind: anthropic", 1), operatordoc.FromFile, "one wire only"},
		"a long wait":              {strings.Replace(ok, "v1'", "v1', idle_timeout: 2h", 1), operatordoc.FromFile, "not a duration of at most an hour"},
	} {
		_, err := config().Parse([]byte(c.text), c.from)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "sk-literal") {
			t.Errorf("%s: a key is shown: %v", name, err)
		}
	}
}

// far is an endpoint that keeps what it was asked.
type far struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []map[string]any
	keys   []string
	status int
}

func newFar(t *testing.T, status int) *far {
	t.Helper()
	f := &far{status: status}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		f.bodies, f.keys = append(f.bodies, body), append(f.keys, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		if f.status != http.StatusOK {
			w.WriteHeader(f.status)
			_, _ = io.WriteString(w, `{"error":{"message":"not now"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"from afar"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *far) asked() int { f.mu.Lock(); defer f.mu.Unlock(); return len(f.bodies) }

func ask(t *testing.T, s model.Provider, id string, tools ...plugin.ToolSpec) (string, plugin.ModelResponse, error) {
	t.Helper()
	var thoughts strings.Builder
	resp, err := s.Stream(t.Context(), plugin.ModelRequest{
		Model: id, Purpose: "turn", Tools: tools, Messages: []plugin.ModelMessage{{Role: plugin.RoleUser, Text: "hello"}},
	}, func(c plugin.Chunk) { thoughts.WriteString(c.Reasoning) })
	return thoughts.String(), resp, err
}

func TestModelsAreAskedAsTheDocumentSays(t *testing.T) {
	t.Parallel()
	one, other := newFar(t, http.StatusOK), newFar(t, http.StatusOK)
	s, err := config().Parse(fmt.Appendf(nil, `
endpoints:
  one: {kind: openai, base_url: %q, key: {env: FAR_KEY}}
  other: {kind: openai, base_url: %q}
models:
  - {id: cool, name: m, endpoint: one, temperature: 0.1, effort: low, max_tokens: 99, prices: {input: 1, output: 2}, tools: false}
  - {id: warm, name: m, endpoint: one, temperature: 1.5}
  - {id: m, endpoint: other}
`, one.URL, other.URL), operatordoc.FromFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"cool", "warm", "m", ""} {
		if _, resp, err := ask(t, s, id, plugin.ToolSpec{Name: "t", Schema: json.RawMessage(`{}`)}); err != nil ||
			resp.Text != "from afar" {
			t.Fatalf("%s: %+v, %v", id, resp, err)
		} else if id == "cool" && (resp.Usage.CostMicros != 20 || resp.Model != "cool") {
			t.Errorf("usage %+v of %s", resp.Usage, resp.Model)
		}
	}
	if b := one.bodies[0]; b["model"] != "m" || b["temperature"] != 0.1 || b["reasoning_effort"] != "low" ||
		b["max_tokens"] != 99.0 || b["tools"] != nil || one.keys[0] != "Bearer sk-far" {
		t.Errorf("cool: %v with %s", b, one.keys[0])
	}
	if b := one.bodies[1]; b["temperature"] != 1.5 || b["reasoning_effort"] != nil || b["tools"] == nil {
		t.Errorf("warm: %v", b)
	}
	if one.asked() != 3 || other.asked() != 1 || other.keys[0] != "" {
		t.Errorf("asked %d and %d times, the other with %q", one.asked(), other.asked(), other.keys)
	}
}

func TestOthersStandInForWhoIsAway(t *testing.T) {
	t.Parallel()
	for status, stands := range map[int]bool{429: true, 503: true, 401: true, 402: true, 400: false} {
		away, now := newFar(t, status), time.Unix(1_800_000_000, 0)
		s, err := config(func(c *endpoints.Config) { c.Now = func() time.Time { return now } }).Parse(fmt.Appendf(nil, `
endpoints:
  away: {kind: openai, base_url: %q}
  guide: {kind: guide}
models:
  - {id: first, endpoint: away}
  - {id: second, endpoint: guide}
fallback: [second, first]
`, away.URL), operatordoc.FromFile)
		if err != nil {
			t.Fatal(err)
		}
		thoughts, resp, err := ask(t, s, "first")
		if !stands {
			if err == nil || thoughts != "" {
				t.Errorf("%d: %q, %v", status, thoughts, err)
			}
			continue
		}
		if err != nil || resp.Text != "I am the guide." || !strings.Contains(thoughts, "The model first does not answer at the moment") {
			t.Errorf("%d: %q %q, %v", status, thoughts, resp.Text, err)
		}
		// For a while it is not asked again, and then it is.
		asked := away.asked()
		if _, _, err := ask(t, s, "first"); err != nil || away.asked() != asked {
			t.Errorf("%d: asked %d times, then %d: %v", status, asked, away.asked(), err)
		}
		now = now.Add(time.Minute)
		if _, _, err := ask(t, s, "first"); err != nil || away.asked() == asked {
			t.Errorf("%d: not asked after a minute: %v", status, err)
		}
	}
}

func TestLimitsOfTheOperatorHold(t *testing.T) {
	t.Parallel()
	s, err := config(func(c *endpoints.Config) { c.Now = func() time.Time { return time.Unix(1_800_000_000, 0) } }).Parse([]byte(`
endpoints: {guide: {kind: guide}}
models: [{id: g, endpoint: guide, limits: {requests_per_minute: 2}}]
`), operatordoc.FromFile)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, _, err := ask(t, s, "g"); (err != nil) != (i == 2) || err != nil && model.From(err).Kind != model.RateLimit {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

func TestKeysAreSealedWhenTheyAreStored(t *testing.T) {
	t.Parallel()
	there := newFar(t, http.StatusOK)
	shelf := operatordoc.NewShelf(operatordocsql.New(sqldbtest.Migrate(t, sqldbtest.SQLite(t),
		operatordocsql.Migrations())), operatordoc.Config{})
	def, err := endpoints.Definition(config(), endpoints.Variables{}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := operatordoc.Put(shelf, def)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("# ours\nendpoints:\n  far:\n    kind: openai\n    base_url: %s\n    key: \"sk-very-secret\" # the key\nmodels:\n- {id: m, endpoint: far}\n", there.URL)
	if _, err := shelf.Store(t.Context(), "models", []byte(text), operatordoc.Change{Author: "Ada"}); err != nil {
		t.Fatal(err)
	}
	c, err := shelf.Contents(t.Context(), "models")
	if err != nil || bytes.Contains(c.Text, []byte("sk-very-secret")) || !bytes.Contains(c.Text, []byte("key: sealed:")) ||
		!bytes.Contains(c.Text, []byte("# the key")) || !bytes.HasPrefix(c.Text, []byte("# ours\n")) {
		t.Fatalf("stored is %s, %v", c.Text, err)
	}
	if _, resp, err := ask(t, endpoints.InForce{Document: doc}, "m"); err != nil || resp.Text != "from afar" ||
		there.keys[0] != "Bearer sk-very-secret" {
		t.Errorf("%+v with %v, %v", resp, there.keys, err)
	}
	// What was read can be changed and stored; the key opens the same address alone.
	again := bytes.Replace(c.Text, []byte("id: m"), []byte("id: n"), 1)
	if _, err := shelf.Store(t.Context(), "models", again, operatordoc.Change{Author: "Ada", After: 1}); err != nil ||
		doc.Value().Models()[0].ID != "n" {
		t.Errorf("changed: %v", err)
	}
	stolen := bytes.Replace(again, []byte(there.URL), []byte("http://elsewhere.example"), 1)
	if _, err := shelf.Store(t.Context(), "models", stolen, operatordoc.Change{Author: "Eve", After: 2}); !fault.Is(err,
		fault.Invalid) || !strings.Contains(err.Error(), "another address") {
		t.Errorf("the key at another address: %v", err)
	}
	for name, text := range map[string]string{
		"in a block":    "endpoints:\n  far:\n    kind: openai\n    key: >-\n      sk-very\nmodels: [{id: m, endpoint: far}]\n",
		"by an anchor":  "endpoints:\n  a: &a {kind: openai, key: sk-very}\n  b: *a\nmodels: [{id: m, endpoint: a}]\n",
		"with a space":  "endpoints:\n  far: {kind: openai, key: 'sk very'}\nmodels: [{id: m, endpoint: far}]\n",
		"twice in line": "endpoints:\n  far: {key: openai, kind: openai}\nmodels: [{id: m, endpoint: far}]\n",
	} {
		if _, err := shelf.Store(t.Context(), "models", []byte(text), operatordoc.Change{After: 2}); !fault.Is(err,
			fault.Invalid) || strings.Contains(fault.From(err).Message, "sk-very") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVariablesStandForADocument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		variables endpoints.Variables
		want      string // ids with their wires
		fails     string
	}{
		"a default that is known": {endpoints.Variables{Provider: "openai"}, "gpt-6-luna responses 1050000", ""},
		"another's default":       {endpoints.Variables{Provider: "anthropic"}, "claude-sonnet-5-5  200000", ""},
		"chosen": {
			endpoints.Variables{Provider: "openai", Model: "a, b", Wires: []string{"b=responses"}},
			"a  128000,b responses 128000", "",
		},
		"at another address":        {endpoints.Variables{Provider: "openai", HasBase: true}, "gpt-6-luna  1050000", ""},
		"against the table":         {endpoints.Variables{Provider: "openai", Wires: []string{"gpt-6-luna=chat"}}, "gpt-6-luna  1050000", ""},
		"the guide":                 {endpoints.Variables{Provider: "guide"}, "guide  100000", ""},
		"nothing":                   {endpoints.Variables{}, "guide  100000", ""},
		"a price of a stranger":     {endpoints.Variables{Provider: "openai", Model: "a", Prices: []string{"b=1/2"}}, "", "MODEL_PRICES: b is not among"},
		"a wire of a stranger":      {endpoints.Variables{Provider: "openai", Model: "a", Wires: []string{"b=responses"}}, "", "b is not among"},
		"a wire that nobody speaks": {endpoints.Variables{Provider: "openai", Model: "a", Wires: []string{"a=smoke"}}, "", "is not MODEL=responses"},
		"the other provider":        {endpoints.Variables{Provider: "anthropic", Model: "a", Wires: []string{"a=responses"}}, "", "one wire only"},
	} {
		cfg := config(func(c *endpoints.Config) { c.Getenv = func(string) string { return "http://127.0.0.1:9/v1" } })
		def, err := endpoints.Definition(cfg, c.variables, "", "")
		var got []string
		if err == nil {
			var doc *operatordoc.Document[*endpoints.Set]
			doc, err = operatordoc.Put(operatordoc.NewShelf(nil, operatordoc.Config{}), def)
			if err == nil {
				for _, m := range doc.Value().Models() {
					got = append(got, fmt.Sprint(m.ID, " ", m.Wire, " ", m.Window))
				}
			}
		}
		if c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) || c.fails == "" &&
			(err != nil || strings.Join(got, ",") != c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := endpoints.Definition(config(), endpoints.Variables{Provider: "openai"}, "models: []", ""); err == nil ||
		err.Error() != "MODEL_PROVIDER is given beside MODELS: keep one" {
		t.Errorf("both: %v", err)
	}
	if d, err := endpoints.Definition(config(), endpoints.Variables{Provider: "openai"}, "", "models.yaml"); err != nil ||
		d.Variable != "MODEL_PROVIDER" || d.Text == "" {
		t.Errorf("beside a file: %+v, %v", d, err)
	}
}

func TestOperatorsAreWarnedOfTheirModels(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	text, err := endpoints.Variables{Provider: "anthropic", Model: "claude-sonnet-4-5"}.Text()
	if err != nil {
		t.Fatal(err)
	}
	s, err := config().Parse([]byte(text), operatordoc.FromEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	if w := s.Warnings(at); len(w) != 2 || !strings.Contains(w[0].Error(), "ended on 2026-11-30") ||
		!strings.Contains(w[1].Error(), "ANTHROPIC_API_KEY") {
		t.Errorf("%v", w)
	}
	if s, err = config().Parse([]byte(two), operatordoc.FromFile); err != nil || len(s.Warnings(at)) != 0 {
		t.Errorf("%v, %v", s.Warnings(at), err)
	}
}

// No text panics, and what is stored is read like what was written, without keys.
func FuzzParse(f *testing.F) {
	f.Add([]byte(two))
	f.Add([]byte("endpoints: {e: {kind: openai, key: sk-1234}}\nmodels: [{id: m, endpoint: e}]\n"))
	f.Add([]byte("endpoints:\n  e: &x {kind: openai, key: 'k'}\n  f: *x\nmodels: [{id: m, endpoint: e, prices: {input: 1, output: .inf}}]\n"))
	f.Add([]byte("endpoints: {e: {kind: anthropic, idle_timeout: 1m, key: \"a\\u0062c\"}}\nmodels: [{id: m, endpoint: e}]\nfallback: [m]\n"))
	cfg := config()
	def, err := endpoints.Definition(cfg, endpoints.Variables{}, "", "")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = cfg.Parse(text, operatordoc.FromFile)
		stored, err := def.Prepare(text, nil)
		if err != nil {
			return
		}
		if again, err := def.Prepare(stored, nil); err != nil || !bytes.Equal(again, stored) {
			t.Errorf("stored %q becomes %q, %v", stored, again, err)
		}
	})
}
