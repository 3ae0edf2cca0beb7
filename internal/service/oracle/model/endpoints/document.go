// Package endpoints is the operator's document of models: which endpoints there
// are, which models they offer to users, who stands in for whom, and which services
// understand and speak in calls.
//
// The document is YAML and read strictly: unknown keys, models of unknown
// endpoints and references to nothing are refused with their line or their name.
// Keys of endpoints are no part of it: it refers to a variable or a file of the
// server, or has the key sealed for the one address that it belongs to, so that
// it opens nowhere else. A document that is kept in the database may have sealed
// keys only: whoever may change it could else have the server send any of its
// variables and files to an address of their choice.
//
// A Set is the document, ready to be asked. It is a model.Provider that sends a
// request to the model that the user chose and, when that is away or busy and has
// said nothing yet, to the next in the fallback order.
package endpoints

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/yamlfile"
	"github.com/castalia-org/castalia/internal/service/oracle/model"
)

// MaxBytes bounds the document.
const MaxBytes = 128 << 10

const (
	maxEndpoints = 32
	maxModels    = 64
	maxName      = 128
	maxLabel     = 200
	maxWindow    = 100_000_000
	maxPrice     = 100_000 // US dollars per million tokens: a slip of the comma is not believed
)

// Document is what the operator wrote.
type Document struct {
	Endpoints map[string]Endpoint `yaml:"endpoints"`
	// Models are what users choose from; the first is the default.
	Models []Model `yaml:"models"`
	// Fallback are the models that stand in for one that is away or busy, in order.
	Fallback []string `yaml:"fallback,omitempty"`
	// Speech is for calls.
	Speech Speech `yaml:"speech,omitempty"`
}

// Endpoint is where models are.
type Endpoint struct {
	Kind    string    `yaml:"kind"`
	BaseURL Reference `yaml:"base_url,omitempty"`
	Key     Reference `yaml:"key,omitempty"`
	// How long to wait; the settings MODEL_…_TIMEOUT when absent.
	ConnectTimeout    Duration `yaml:"connect_timeout,omitempty"`
	FirstTokenTimeout Duration `yaml:"first_token_timeout,omitempty"`
	IdleTimeout       Duration `yaml:"idle_timeout,omitempty"`
}

// The kinds of endpoints.
const (
	kindOpenAI    = "openai"
	kindAnthropic = "anthropic"
	kindGuide     = "guide"
)

// Model is one that users can choose.
type Model struct {
	// ID is how users name it; Name is how the endpoint does, if that differs.
	ID       string `yaml:"id"`
	Name     string `yaml:"name,omitempty"`
	Endpoint string `yaml:"endpoint"`
	Label    string `yaml:"label,omitempty"`
	Blurb    string `yaml:"blurb,omitempty"`
	Tier     string `yaml:"tier,omitempty"`
	Window   int    `yaml:"window,omitempty"`
	Vision   *bool  `yaml:"vision,omitempty"`
	Tools    *bool  `yaml:"tools,omitempty"`
	// Wire is chat or responses, at endpoints of the kind openai.
	Wire        string   `yaml:"wire,omitempty"`
	Prices      *Prices  `yaml:"prices,omitempty"`
	Limits      *Limits  `yaml:"limits,omitempty"`
	Temperature *float64 `yaml:"temperature,omitempty"`
	Effort      string   `yaml:"effort,omitempty"`
	MaxTokens   int      `yaml:"max_tokens,omitempty"`
}

// Prices are in US dollars per million tokens.
type Prices struct {
	Input     float64  `yaml:"input"`
	Output    float64  `yaml:"output"`
	Cached    *float64 `yaml:"cached,omitempty"`
	Reasoning *float64 `yaml:"reasoning,omitempty"`
}

// Limits bound what one node asks of a model.
type Limits struct {
	Concurrent        int `yaml:"concurrent,omitempty"`
	RequestsPerMinute int `yaml:"requests_per_minute,omitempty"`
}

// Reference is a text, or where it stands.
type Reference struct {
	Text string
	Env  string
	File string
}

type reference struct {
	Env  string `yaml:"env,omitempty"`
	File string `yaml:"file,omitempty"`
}

// UnmarshalYAML reads either form.
func (r *Reference) UnmarshalYAML(read func(any) error) error {
	if read(&r.Text) == nil {
		return nil
	}
	var to reference
	if err := read(&to); err != nil {
		return err
	}
	r.Env, r.File = to.Env, to.File
	return nil
}

// MarshalYAML writes either form.
func (r Reference) MarshalYAML() (any, error) {
	if r.Env != "" || r.File != "" {
		return reference{r.Env, r.File}, nil
	}
	return r.Text, nil
}

func (r Reference) refers() bool { return r.Env != "" || r.File != "" }

// Duration is written as 30s or 5m.
type Duration time.Duration

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 || v > time.Hour {
		return fmt.Errorf("%q is not a duration of at most an hour, such as 30s or 5m", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes a duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// read reads a document and checks what can be checked without the server.
func read(text []byte) (Document, error) {
	var d Document
	if err := yamlfile.Strict(text, &d, MaxBytes); err != nil {
		return Document{}, err
	}
	return d, d.check()
}

func (d *Document) check() error {
	switch {
	case len(d.Endpoints) == 0:
		return errors.New("endpoints: name at least one")
	case len(d.Endpoints) > maxEndpoints:
		return fmt.Errorf("endpoints: at most %d", maxEndpoints)
	case len(d.Models) == 0:
		return errors.New("models: name at least one")
	case len(d.Models) > maxModels:
		return fmt.Errorf("models: at most %d", maxModels)
	}
	for name, e := range d.Endpoints {
		if err := e.check(name); err != nil {
			return fmt.Errorf("endpoint %.40q: %w", name, err)
		}
	}
	known := map[string]bool{}
	for i := range d.Models {
		m := &d.Models[i]
		if err := m.check(d.Endpoints); err != nil {
			return fmt.Errorf("model %d (%.40q): %w", i+1, m.ID, err)
		}
		if known[m.ID] {
			return fmt.Errorf("model %d: the id %q is there twice: give one of them another id, and its name at the endpoint as name", i+1, m.ID)
		}
		known[m.ID] = true
	}
	for i, id := range d.Fallback {
		if !known[id] || slices.Contains(d.Fallback[:i], id) {
			return fmt.Errorf("fallback: %.40q is not the id of a model, or is there twice", id)
		}
	}
	return d.Speech.check(d.Endpoints)
}

func (e Endpoint) check(name string) error {
	if !isName(name) {
		return fmt.Errorf("a name has at most %d letters, and no spaces", maxName)
	}
	switch e.Kind {
	case kindOpenAI, kindAnthropic:
	case kindGuide:
		if e != (Endpoint{Kind: kindGuide}) {
			return errors.New("the guide is built in and has a kind only")
		}
	default:
		return fmt.Errorf("kind is %.40q, allowed is openai (all that speak its wire), anthropic or guide", e.Kind)
	}
	for what, r := range map[string]Reference{"key": e.Key, "base_url": e.BaseURL} {
		if r.Env != "" && r.File != "" {
			return fmt.Errorf("%s: name env or file, not both", what)
		}
	}
	if e.BaseURL.Text != "" {
		return checkURL(e.BaseURL.Text)
	}
	return nil
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(text) > 2000:
		return errors.New("base_url is not an address such as https://api.example.org/v1")
	case u.User != nil:
		return errors.New("base_url has a user or a password in it: give a key instead")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("base_url ends with its path: it has no ? and no #")
	}
	return nil
}

func (m *Model) check(endpoints map[string]Endpoint) error {
	e, ok := endpoints[m.Endpoint]
	switch {
	case !isName(m.ID) || m.Name != "" && !isName(m.Name):
		return fmt.Errorf("id and name have 1 to %d letters, and no spaces", maxName)
	case !ok:
		return fmt.Errorf("there is no endpoint %.40q", m.Endpoint)
	case len(m.Label) > maxLabel || len(m.Blurb) > 2*maxLabel || strings.ContainsAny(m.Label+m.Blurb, "\n\r"):
		return fmt.Errorf("label and blurb are one line of at most %d and %d bytes", maxLabel, 2*maxLabel)
	case !slices.Contains([]string{"", "everyday", "balanced", "top"}, m.Tier):
		return errors.New("tier is everyday, balanced or top")
	case m.Window < 0 || m.Window > maxWindow || m.MaxTokens < 0 || m.MaxTokens > maxWindow:
		return fmt.Errorf("window and max_tokens are whole numbers of tokens up to %d", maxWindow)
	case !slices.Contains([]string{"", "chat", "responses"}, m.Wire):
		return errors.New("wire is chat or responses")
	case m.Wire != "" && e.Kind != kindOpenAI:
		return fmt.Errorf("wire: endpoints of the kind %s have one wire only", e.Kind)
	case m.Effort != "" && e.Kind != kindOpenAI:
		return fmt.Errorf("effort: not known for endpoints of the kind %s", e.Kind)
	case !slices.Contains([]string{"", "none", "minimal", "low", "medium", "high", "xhigh", "max"}, m.Effort):
		return errors.New("effort is none, minimal, low, medium, high, xhigh or max")
	case m.Temperature != nil && !(*m.Temperature >= 0 && *m.Temperature <= 2):
		return errors.New("temperature is a number from 0 to 2")
	case m.Limits != nil && (m.Limits.Concurrent < 0 || m.Limits.RequestsPerMinute < 0 ||
		m.Limits.Concurrent > 1_000_000 || m.Limits.RequestsPerMinute > 1_000_000):
		return errors.New("limits: concurrent and requests_per_minute are whole numbers up to 1000000; 0 is no limit")
	}
	if p := m.Prices; p != nil {
		for _, v := range []*float64{&p.Input, &p.Output, p.Cached, p.Reasoning} {
			if v != nil && !(*v >= 0 && *v <= maxPrice) {
				return fmt.Errorf("prices are US dollars per million tokens, from 0 to %d", maxPrice)
			}
		}
	}
	return nil
}

// isName takes what may stand in lists and logs.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == ',' || r == 0x7f || r > 0x7e && r < 0xa1
	})
}

// asked is the name by which the endpoint knows the model.
func (m *Model) asked() string {
	if m.Name != "" {
		return m.Name
	}
	return m.ID
}

// info is what users and turns know of the model. own says that the endpoint is
// the vendor's, so that what is known of its models holds.
func (m *Model) info(kind string, own bool) model.Info {
	out := model.Info{
		ID: m.asked(), Label: m.Label, Blurb: m.Blurb, Family: "custom", Tier: m.Tier, Vision: m.Vision == nil ||
			*m.Vision, Window: m.Window,
		NoTools: m.Tools != nil && !*m.Tools, Temperature: m.Temperature, Effort: m.Effort, MaxTokens: m.MaxTokens,
	}
	out.Label = cmp.Or(out.Label, m.ID)
	out.Tier = cmp.Or(out.Tier, "balanced")
	known, ok := model.Lookup(kind, out.ID)
	if ok && own { // others may not have that wire
		out.Wire = known.Wire
	}
	switch {
	case out.Window > 0:
	case ok:
		out.Window = known.Window
	case kind == kindAnthropic:
		out.Window = anthropicWindow
	default:
		out.Window = openaiWindow
	}
	switch m.Wire {
	case "chat":
		out.Wire = ""
	case "responses":
		out.Wire = m.Wire
	}
	if p := m.Prices; p != nil {
		out.InputPerMillion, out.OutputPerMillion, out.CachedPerMillion, out.ReasoningPerMillion = p.Input, p.Output,
			p.Cached, p.Reasoning
	}
	return out
}

// The windows of models that nobody knows, in tokens. Refusals correct them.
const (
	openaiWindow    = 128_000
	anthropicWindow = 200_000
)
