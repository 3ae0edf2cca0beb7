package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hello "github.com/castalia-org/castalia/examples/plugin-hello"
	"github.com/castalia-org/castalia/internal/service/oracle/registry"
	"github.com/castalia-org/castalia/plugin"
)

// fake is a plugin that is what a test wants it to be.
type fake struct {
	plugin.Description
	tools  []plugin.Tool
	state  string
	detect *bool
	jobs   []plugin.Job
}

func named(name string, needs ...string) fake {
	return fake{Description: plugin.Description{
		Name: name, DependsOn: needs, Manifest: plugin.Manifest{Title: "T", Summary: "S", WhenToUse: []string{"w"}},
	}}
}

func (f fake) Describe() plugin.Description { return f.Description }
func (f fake) Tools() []plugin.Tool         { return f.tools }
func (f fake) Jobs() []plugin.Job           { return f.jobs }

func (f fake) SharedState() map[string]plugin.StateFunc {
	if f.state == "" {
		return nil
	}
	return map[string]plugin.StateFunc{f.state: func(context.Context, *plugin.Runtime) (any, error) { return f.Name, nil }}
}

func (f fake) AutoDetect() (bool, string) {
	if f.detect == nil {
		return true, "always"
	}
	return *f.detect, "no key is set"
}

func tool(name string) plugin.Tool {
	return plugin.Tool{
		Name: name, Description: "d",
		Run: func(context.Context, *plugin.Runtime, json.RawMessage) (plugin.Result, error) {
			return plugin.Result{}, nil
		},
	}
}

func with(f fake, change func(*fake)) fake {
	change(&f)
	return f
}

func TestBootRefuses(t *testing.T) {
	t.Parallel()
	no := false
	for name, c := range map[string]struct {
		plugins  []plugin.Plugin
		features map[string]registry.Feature
		want     string
	}{
		"bad name":    {[]plugin.Plugin{named("Bad Name")}, nil, "kebab case"},
		"twice":       {[]plugin.Plugin{named("a"), named("a")}, nil, "two plugins have this name"},
		"no manifest": {[]plugin.Plugin{fake{Description: plugin.Description{Name: "a"}}}, nil, "title and a summary"},
		"no use":      {[]plugin.Plugin{with(named("a"), func(f *fake) { f.Manifest.WhenToUse = nil })}, nil, "when to use"},
		"missing":     {[]plugin.Plugin{named("a", "b")}, nil, "needs plugin b"},
		"off": {
			[]plugin.Plugin{named("a", "b"), named("b")},
			map[string]registry.Feature{"b": registry.Off},
			"needs plugin b",
		},
		"circle": {[]plugin.Plugin{named("a", "b"), named("b", "c"), named("c", "a")}, nil, "a -> b -> c -> a"},
		"same tool": {[]plugin.Plugin{with(named("a"), func(f *fake) {
			f.tools = []plugin.Tool{tool("x")}
		}), with(named("b"), func(f *fake) { f.tools = []plugin.Tool{tool("x")} })}, nil, "tool x is already a's"},
		"reserved tool": {[]plugin.Plugin{with(named("a"), func(f *fake) { f.tools = []plugin.Tool{tool("load_capability")} })}, nil, "the oracle's"},
		"bad schema": {[]plugin.Plugin{with(named("a"), func(f *fake) {
			f.tools = []plugin.Tool{with2(tool("x"))}
		})}, nil, "tool x"},
		"same state": {[]plugin.Plugin{with(named("a"), func(f *fake) {
			f.state = "k"
		}), with(named("b"), func(f *fake) { f.state = "k" })}, nil, "state k is already a's"},
		"bad job": {[]plugin.Plugin{with(named("a"), func(f *fake) {
			f.jobs = []plugin.Job{{Name: "j", Every: time.Second}}
		})}, nil, "job \"j\""},
		"on but useless": {[]plugin.Plugin{with(named("a"), func(f *fake) {
			f.detect = &no
		})}, map[string]registry.Feature{"a": registry.On}, "no key is set"},
		"unknown feature": {nil, map[string]registry.Feature{"z": registry.On}, "no plugin of this name"},
	} {
		_, err := registry.New(registry.Config{Plugins: c.plugins, Features: c.features, ReservedTools: []string{"load_capability"}})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func with2(t plugin.Tool) plugin.Tool {
	t.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"http://elsewhere/x"}}}`)
	return t
}

func TestOrderSwitchesAndConfig(t *testing.T) {
	t.Parallel()
	no := false
	filled := map[string]bool{}
	r, err := registry.New(registry.Config{
		Plugins: []plugin.Plugin{named("c", "b"), with(named("quiet"), func(f *fake) {
			f.detect = &no
		}), with(named("b"), func(f *fake) { f.After = []string{"a", "gone"} }), named("a"), named("off"), &hello.Hello{}},
		Features: map[string]registry.Feature{"off": registry.Off},
		Fill:     func(name string, _ any) error { filled[name] = true; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, l := range r.Loaded() {
		order = append(order, l.Name)
	}
	if d := cmp.Diff([]string{"a", "b", "c", "hello"}, order); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]bool{"hello": true}, filled); d != "" {
		t.Error(d)
	}
	if v := r.Verdicts()[1]; v.On || v.Why != "no key is set" {
		t.Errorf("verdict: %+v", v)
	}
	if _, err := registry.New(registry.Config{
		Plugins: []plugin.Plugin{&hello.Hello{}}, Fill: func(string, any) error { return errors.New("HELLO_GREETING: too long") },
	}); err == nil || err.Error() != "plugin hello: HELLO_GREETING: too long" {
		t.Errorf("bad configuration: %v", err)
	}
}
