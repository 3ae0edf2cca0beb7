package pluginconf_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/app/pluginconf"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/operatordoc"
	"github.com/castalia-org/castalia/internal/platform/operatordoc/operatordocsql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/plugin"
)

type settings struct {
	Greeting string        `env:"HELLO_GREETING" default:"Hello" doc:"The word to greet with."`
	Token    string        `env:"HELLO_TOKEN" secret:"true" doc:"A secret."`
	Times    int           `env:"HELLO_TIMES" default:"1" min:"1" max:"5" doc:"How often."`
	Every    time.Duration `env:"HELLO_EVERY" default:"1m" doc:"How soon again."`
	Tone     string        `env:"HELLO_TONE" default:"warm" allowed:"warm|cold" doc:"How."`
	Address  string        `env:"HELLO_URL" default:"https://hello.example" machine:"true" doc:"Where the secret is sent."`
	Private  bool          `env:"HELLO_PRIVATE" default:"false" machine:"true" doc:"Whether it may be at home."`
}

type hello struct{ cfg settings }

func (h *hello) Describe() plugin.Description { return plugin.Description{Name: "hello"} }
func (h *hello) Config() any                  { return &h.cfg }

// node is one start of the program on a store.
type node struct {
	plugin *hello
	deps   pluginconf.Deps
	server *httpserver.Server
	// problems are why stored values are not in force.
	problems []error
}

var key = []byte("0123456789abcdef0123456789abcdef")

// start is begin where everything that is stored can be used.
func start(t *testing.T, store operatordoc.Store, env ...string) *node {
	t.Helper()
	n := begin(t, store, env...)
	if len(n.problems) > 0 {
		t.Error(n.problems)
	}
	return n
}

func begin(t *testing.T, store operatordoc.Store, env ...string) *node {
	t.Helper()
	n := &node{plugin: &hello{}}
	plugins := []plugin.Plugin{n.plugin}
	given, err := config.Load(&struct{}{}, config.Input{Env: env}, pluginconf.Parts(plugins)...)
	if err != nil {
		t.Fatal(err)
	}
	shelf := operatordoc.NewShelf(store, operatordoc.Config{})
	stored, err := operatordoc.Put(shelf, pluginconf.Definition(plugins, key))
	if err != nil {
		t.Fatal(err)
	}
	if err := shelf.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	given, n.problems = config.Use(pluginconf.Parts(plugins), given, stored.Value())
	n.deps = pluginconf.Deps{
		Plugins: func() ([]pluginconf.State, error) { return []pluginconf.State{{Name: "hello", On: true}}, nil },
		Given:   given, Applied: stored.Value(), Stored: stored, Shelf: shelf,
		Author: func(*http.Request) string { return "Ada" },
	}
	if n.server, err = httpserver.New(httpserver.Config{OperatorToken: "let me in"}); err != nil {
		t.Fatal(err)
	}
	if err := n.server.Mount(pluginconf.Surface(n.deps)); err != nil {
		t.Fatal(err)
	}
	return n
}

// keep stores a text unchecked, as another build would have it.
func keep(t *testing.T, store operatordoc.Store, text string) {
	t.Helper()
	v := operatordoc.Version{Document: pluginconf.Document, Text: []byte(text), Author: "Ada"}
	if _, err := store.AddVersion(t.Context(), v, 0); err != nil {
		t.Fatal(err)
	}
}

func (n *node) ask(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer let me in")
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	n.server.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func (n *node) settings(t *testing.T) map[string]pluginconf.Setting {
	t.Helper()
	status, text := n.ask(t, http.MethodGet, "/operator/plugins", "")
	var list pluginconf.List
	if err := json.Unmarshal([]byte(text), &list); err != nil || status != http.StatusOK || len(list.Plugins) != 1 {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	out := map[string]pluginconf.Setting{}
	for _, s := range list.Plugins[0].Settings {
		out[s.Name] = s
	}
	return out
}

func each(t *testing.T, body func(t *testing.T, store operatordoc.Store)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		body(t, operatordocsql.New(sqldbtest.Migrate(t, open(t), operatordocsql.Migrations())))
	})
}

func TestStoredValuesAreInForceAfterTheNextStart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store operatordoc.Store) {
		n := start(t, store)
		status, text := n.ask(t, http.MethodPatch, "/operator/plugins/hello",
			`{"values":{"HELLO_GREETING":"Jambo","HELLO_TOKEN":"hush-hush","HELLO_TIMES":"3"}}`)
		if status != http.StatusOK || strings.Contains(text, "hush") {
			t.Fatalf("%d %s", status, text)
		}
		if n.plugin.cfg.Greeting != "Hello" {
			t.Error("a running plugin's settings were changed under it")
		}
		got := n.settings(t)
		if s := got["HELLO_GREETING"]; s.Value != "Hello" || s.Next != "Jambo" || !s.Stored || !s.Restart || s.ReadOnly {
			t.Errorf("before the start: %+v", s)
		}
		if s := got["HELLO_TOKEN"]; s.Next != "" || s.Value != "" || !s.Stored || !s.Restart {
			t.Errorf("a secret: %+v", s)
		}
		if s := got["HELLO_EVERY"]; s.Stored || s.Restart || s.Kind != "duration" {
			t.Errorf("an untouched one: %+v", s)
		}
		if s := got["HELLO_TONE"]; s.Kind != "choice" || len(s.Choices) != 2 {
			t.Errorf("a choice: %+v", s)
		}
		kept, err := store.NewestVersion(t.Context(), pluginconf.Document)
		if err != nil || strings.Contains(string(kept.Text), "hush") || kept.Author != "Ada" || strings.Contains(kept.Note, "hush") {
			t.Errorf("stored is %+v, %v", kept, err)
		}

		again := start(t, store)
		if c := again.plugin.cfg; c.Greeting != "Jambo" || c.Token != "hush-hush" || c.Times != 3 {
			t.Errorf("after the start: %+v", c)
		}
		if s := again.settings(t)["HELLO_TOKEN"]; s.Restart || s.Source != "database" || !s.Given || s.Value != "" {
			t.Errorf("a secret after the start: %+v", s)
		}
		if status, text := again.ask(t, http.MethodPatch, "/operator/plugins/hello", `{"values":{"HELLO_GREETING":null,"HELLO_TIMES":""}}`); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		if c := start(t, store).plugin.cfg; c.Greeting != "Hello" || c.Times != 1 || c.Token != "hush-hush" {
			t.Errorf("after values were taken away: %+v", c)
		}
	})
}

func TestWhatTheServerSetsRules(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store operatordoc.Store) {
		n := start(t, store)
		if status, text := n.ask(t, http.MethodPatch, "/operator/plugins/hello", `{"values":{"HELLO_GREETING":"Jambo"}}`); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		ruled := start(t, store, "HELLO_GREETING=Hola")
		if ruled.plugin.cfg.Greeting != "Hola" {
			t.Errorf("the greeting is %q", ruled.plugin.cfg.Greeting)
		}
		if s := ruled.settings(t)["HELLO_GREETING"]; !s.ReadOnly || s.Source != "environment" || s.Restart || s.Value != "Hola" {
			t.Errorf("a ruled setting: %+v", s)
		}
		status, text := ruled.ask(t, http.MethodPatch, "/operator/plugins/hello", `{"values":{"HELLO_GREETING":"Jambo"}}`)
		if status != http.StatusConflict || !strings.Contains(text, "HELLO_GREETING is set by the server's environment") {
			t.Errorf("%d %s", status, text)
		}
	})
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store operatordoc.Store) {
		n := start(t, store)
		for body, want := range map[string]string{
			`{"values":{"HELLO_TIMES":"9"}}`:                                    "HELLO_TIMES: given \"9\", allowed is a whole number from 1 to 5",
			`{"values":{"HELLO_TONE":"loud"}}`:                                  "allowed is warm or cold",
			`{"values":{"HELLO_GREETINGS":"x"}}`:                                "the plugin hello has no such setting",
			`{"values":{"HELLO_GREETING":"` + strings.Repeat("x", 9000) + `"}}`: "at most 8192 bytes",
		} {
			status, text := n.ask(t, http.MethodPatch, "/operator/plugins/hello", body)
			if status != http.StatusBadRequest || !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), want) {
				t.Errorf("%s: %d %s, want %s", body[:min(len(body), 40)], status, text, want)
			}
		}
		if status, _ := n.ask(t, http.MethodPatch, "/operator/plugins/none", `{}`); status != http.StatusNotFound {
			t.Errorf("an unknown plugin: %d", status)
		}
		if v, err := store.NewestVersion(t.Context(), pluginconf.Document); err != nil || v.Number != 0 {
			t.Errorf("something was stored: %+v, %v", v, err)
		}
	})
}

// A build without a plugin, or another deployment's key, must not keep a node from starting.
func TestWhatABuildDoesNotKnowIsLeftOut(t *testing.T) {
	t.Parallel()
	def := pluginconf.Definition([]plugin.Plugin{&hello{}}, key)
	values, err := def.Parse([]byte("GONE: \"x\"\nHELLO_TOKEN: \"sealed:AAAA\"\nHELLO_TIMES: 2\n"), operatordoc.FromDatabase)
	if err != nil || len(values) != 1 || values["HELLO_TIMES"] != "2" {
		t.Errorf("got %v, %v", values, err)
	}
	if _, err := def.Prepare([]byte("HELLO_GREETNG: x\n"), nil); err == nil || !strings.Contains(err.Error(), "did you mean HELLO_GREETING?") {
		t.Errorf("got %v", err)
	}
	if _, err := def.Prepare([]byte("HELLO_GREETING: {a: b}\n"), nil); err == nil {
		t.Error("a map was taken for a value")
	}
}

// What a build cannot use stays as it is, and is not in the way of other changes.
func TestWhatCannotBeUsedIsCarriedOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store operatordoc.Store) {
		const left = "GONE: \"x\"\nHELLO_TIMES: \"9\"\nHELLO_TOKEN: \"sealed:AAAA\"\n" // unknown, too much, of a former key
		keep(t, store, left)
		n := begin(t, store)
		change := func(values pluginconf.Values) error {
			_, err := pluginconf.Change(t.Context(), n.deps.Shelf, n.deps.Given, "", values, "Ada")
			return err
		}
		text := func() string {
			v, err := store.NewestVersion(t.Context(), pluginconf.Document)
			if err != nil {
				t.Fatal(err)
			}
			return string(v.Text)
		}
		if err := change(pluginconf.Values{"HELLO_GREETING": "Jambo"}); err != nil || text() != strings.Replace(left, "HELLO_TIMES", "HELLO_GREETING: \"Jambo\"\nHELLO_TIMES", 1) {
			t.Errorf("another change: %v; stored is %s", err, text())
		}
		for name, value := range map[string]string{"GONE": "y", "HELLO_TIMES": "8", "HELLO_TOKEN": "sealed:AAAB"} {
			if err := change(pluginconf.Values{name: value}); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("a new value of %s: %v", name, err)
			}
		}
		gone := pluginconf.Values{"GONE": ""}
		if _, err := pluginconf.Change(t.Context(), n.deps.Shelf, n.deps.Given, "hello", gone, "Ada"); err == nil {
			t.Error("a name that is not the plugin's was taken away as if it were")
		}
		if err := change(pluginconf.Values{"GONE": "", "HELLO_TOKEN": "", "HELLO_TIMES": ""}); err != nil || text() != "HELLO_GREETING: \"Jambo\"\n" {
			t.Errorf("taken away: %v; stored is %s", err, text())
		}
		if err := change(gone); err == nil || !strings.Contains(err.Error(), "GONE: no such setting") {
			t.Errorf("taken away again: %v", err)
		}
	})
}

func TestARuledValueCanBeTakenAway(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store operatordoc.Store) {
		n := start(t, store)
		if status, text := n.ask(t, http.MethodPatch, "/operator/plugins/hello", `{"values":{"HELLO_GREETING":"Jambo"}}`); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		ruled := start(t, store, "HELLO_GREETING=Hola")
		status, text := ruled.ask(t, http.MethodPatch, "/operator/plugins/hello", `{"values":{"HELLO_GREETING":null}}`)
		if s := ruled.settings(t)["HELLO_GREETING"]; status != http.StatusOK || s.Stored || s.Value != "Hola" {
			t.Errorf("%d %s: %+v", status, text, s)
		}
		if status, text := ruled.ask(t, http.MethodPatch, "/operator/plugins/hello", `{"values":{"HELLO_GREETING":null}}`); status != http.StatusConflict {
			t.Errorf("where nothing is stored: %d %s", status, text)
		}
	})
}

// What guards the machine, or says where its secrets are sent, is not for operators of the console.
func TestSettingsOfTheMachineAreNotStored(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store operatordoc.Store) {
		n := start(t, store)
		for _, body := range []string{`{"values":{"HELLO_URL":"https://mallory.example"}}`, `{"values":{"HELLO_TIMES":"2","HELLO_PRIVATE":"true"}}`} {
			status, text := n.ask(t, http.MethodPatch, "/operator/plugins/hello", body)
			if status != http.StatusConflict || !strings.Contains(text, "is set where the server runs") {
				t.Errorf("%s: %d %s", body, status, text)
			}
		}
		_, err := n.deps.Shelf.Store(t.Context(), pluginconf.Document, []byte("HELLO_PRIVATE: true\n"), operatordoc.Change{Author: "Mallory"})
		if err == nil || !strings.Contains(err.Error(), "HELLO_PRIVATE is set where the server runs") {
			t.Errorf("as a document: %v", err)
		}
		got := n.settings(t)
		if s := got["HELLO_URL"]; !s.ReadOnly || s.Reason != "set where the server runs" || s.Value != "https://hello.example" || s.Source != "default" {
			t.Errorf("an address: %+v", s)
		}
		if s := got["HELLO_GREETING"]; s.ReadOnly || s.Reason != "" {
			t.Errorf("another setting: %+v", s)
		}
		if v, err := store.NewestVersion(t.Context(), pluginconf.Document); err != nil || v.Number != 0 {
			t.Errorf("something was stored: %+v, %v", v, err)
		}
		if c := start(t, store, "HELLO_PRIVATE=true").plugin.cfg; !c.Private {
			t.Error("the environment does not count")
		}
	})
}

// An earlier release stored them.
func TestStoredSettingsOfTheMachineAreNotUsed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, store operatordoc.Store) {
		const text = "HELLO_PRIVATE: \"true\"\nHELLO_TIMES: \"2\"\nHELLO_URL: \"https://mallory.example\"\n"
		keep(t, store, text)
		n := begin(t, store)
		if c := n.plugin.cfg; c.Private || c.Address != "https://hello.example" || c.Times != 2 {
			t.Errorf("in force is %+v", c)
		}
		told := errors.Join(n.problems...)
		if len(n.problems) != 2 || !strings.Contains(told.Error(), "HELLO_URL is set where the server runs") ||
			strings.Contains(told.Error(), "mallory") {
			t.Errorf("told is %v", told)
		}
		if s := n.settings(t)["HELLO_URL"]; !s.ReadOnly || !s.Stored || s.Restart || s.Source != "default" || s.Value != "https://hello.example" {
			t.Errorf("shown is %+v", s)
		}
		if status, text := n.ask(t, http.MethodPatch, "/operator/plugins/hello", `{"values":{"HELLO_TIMES":"3"}}`); status != http.StatusOK {
			t.Errorf("another change: %d %s", status, text)
		}
		if status, text := n.ask(t, http.MethodPatch, "/operator/plugins/hello", `{"values":{"HELLO_URL":null,"HELLO_PRIVATE":null}}`); status != http.StatusOK {
			t.Errorf("taken away: %d %s", status, text)
		}
		if c := start(t, store).plugin.cfg; c.Private || c.Times != 3 {
			t.Errorf("in force at last is %+v", c)
		}
	})
}
