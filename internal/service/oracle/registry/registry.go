// Package registry decides which plugins are on, in which order, and refuses to
// start with a set that cannot work.
//
// It promises one clear line for what is wrong: a name, tool, sub-agent, route
// or state key that two plugins claim, a dependency that is missing, off or
// circular, a bad manifest, a bad configuration. After that it only hands out
// what the plugins offer.
package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/service/oracle/agent"
	"github.com/castalia-org/castalia/plugin"
)

// Feature is an operator's switch for a plugin.
type Feature string

// The positions of the switch. Auto asks the plugin.
const (
	On   Feature = "true"
	Off  Feature = "false"
	Auto Feature = "auto"
)

// Config is what a Registry is made of.
type Config struct {
	Plugins []plugin.Plugin
	// Features are the operator's switches; a plugin that is not named is Auto.
	Features map[string]Feature
	// Fill fills a plugin's configuration from the environment.
	Fill func(pluginName string, into any) error
	// ReservedTools are names that the oracle itself uses.
	ReservedTools []string
}

// Loaded is a plugin that is on.
type Loaded struct {
	plugin.Description
	Plugin plugin.Plugin
}

// Verdict says whether a plugin is on, and why.
type Verdict struct {
	Name string
	On   bool
	Why  string
}

// Registry is the set of plugins of a running oracle. It does not change.
type Registry struct {
	loaded   []Loaded // in dependency order
	verdicts []Verdict
	state    map[string]stateOf
}

type stateOf struct {
	owner string
	get   plugin.StateFunc
}

var (
	namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	toolPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)
)

// ValidToolName reports whether a tool may have the name.
func ValidToolName(name string) bool { return toolPattern.MatchString(name) }

// New checks the plugins and puts them in order.
func New(cfg Config) (*Registry, error) {
	r := &Registry{state: map[string]stateOf{}}
	known := map[string]Loaded{}
	for _, p := range cfg.Plugins {
		d := p.Describe()
		if err := checkDescription(d); err != nil {
			return nil, err
		}
		if _, twice := known[d.Name]; twice {
			return nil, fmt.Errorf("plugin %s: two plugins have this name", d.Name)
		}
		known[d.Name] = Loaded{Description: d, Plugin: p}
	}
	for name := range cfg.Features {
		if _, ok := known[name]; !ok {
			return nil, fmt.Errorf("feature %s: there is no plugin of this name", name)
		}
	}
	on := map[string]Loaded{}
	for _, p := range cfg.Plugins {
		l := known[p.Describe().Name]
		v, err := decide(l, cfg)
		if err != nil {
			return nil, err
		}
		r.verdicts = append(r.verdicts, v)
		if v.On {
			on[l.Name] = l
		}
	}
	r.leaveOut(cfg.Features, on)
	var err error
	if r.loaded, err = order(cfg.Plugins, on); err != nil {
		return nil, err
	}
	return r, r.checkCollisions(cfg.ReservedTools)
}

func checkDescription(d plugin.Description) error {
	if !namePattern.MatchString(d.Name) {
		return fmt.Errorf("plugin %q: a name is kebab case, [a-z][a-z0-9-]*", d.Name)
	}
	m := d.Manifest
	switch m.Visibility {
	case "", plugin.Always, plugin.OnDemand, plugin.Silent:
	default:
		return fmt.Errorf("plugin %s: unknown visibility %q", d.Name, m.Visibility)
	}
	if m.Title == "" || m.Summary == "" {
		return fmt.Errorf("plugin %s: the manifest needs a title and a summary", d.Name)
	}
	if m.Visibility != plugin.Silent && len(m.WhenToUse) == 0 {
		return fmt.Errorf("plugin %s: the manifest must say when to use it", d.Name)
	}
	return nil
}

// decide fills a plugin's configuration and reads its switch.
func decide(l Loaded, cfg Config) (Verdict, error) {
	feature := cfg.Features[l.Name]
	if feature == Off {
		return Verdict{l.Name, false, "switched off"}, nil
	}
	if l.OptIn && feature != On {
		return Verdict{l.Name, false, "off unless FEATURES=" + l.Name + "=true"}, nil
	}
	if c, ok := l.Plugin.(plugin.Configurer); ok && cfg.Fill != nil {
		if err := cfg.Fill(l.Name, c.Config()); err != nil {
			return Verdict{}, fmt.Errorf("plugin %s: %w", l.Name, err)
		}
	}
	detected, why := true, "on by default"
	if len(l.AutoWith) > 0 {
		why = "it comes with plugin " + strings.Join(l.AutoWith, " and ")
	}
	if a, ok := l.Plugin.(plugin.AutoDetector); ok {
		detected, why = a.AutoDetect()
	}
	switch {
	case feature == On && !detected:
		return Verdict{}, fmt.Errorf("plugin %s: switched on, but it cannot work: %s", l.Name, why)
	case feature == On:
		return Verdict{l.Name, true, "switched on"}, nil
	}
	return Verdict{l.Name, detected, why}, nil
}

// leaveOut switches off plugins that nobody asked for by name and that go only
// with one which is off, until no such plugin is left.
func (r *Registry) leaveOut(features map[string]Feature, on map[string]Loaded) {
	for again := true; again; {
		again = false
		for i, v := range r.verdicts {
			l, isOn := on[v.Name]
			if !isOn || features[v.Name] == On {
				continue
			}
			for _, dep := range l.AutoWith {
				if _, ok := on[dep]; !ok {
					delete(on, v.Name)
					r.verdicts[i] = Verdict{v.Name, false, "it goes with plugin " + dep + ", which is off"}
					again = true
					break
				}
			}
		}
	}
}

// order sorts plugins so that each follows what it depends on, and otherwise
// as they were given.
func order(given []plugin.Plugin, on map[string]Loaded) ([]Loaded, error) {
	var (
		out   []Loaded
		state = map[string]int{} // 1 being visited, 2 done
		visit func(name string, path []string) error
	)
	visit = func(name string, path []string) error {
		l := on[name]
		switch state[name] {
		case 1:
			return fmt.Errorf("plugin %s: circular dependency: %s", name, strings.Join(append(path, name), " -> "))
		case 2:
			return nil
		}
		state[name] = 1
		for _, dep := range l.DependsOn {
			if _, ok := on[dep]; !ok {
				return fmt.Errorf("plugin %s: it needs plugin %s, which is missing or off", name, dep)
			}
			if err := visit(dep, append(path, name)); err != nil {
				return err
			}
		}
		for _, dep := range l.After {
			if _, ok := on[dep]; ok {
				if err := visit(dep, append(path, name)); err != nil {
					return err
				}
			}
		}
		state[name] = 2
		out = append(out, l)
		return nil
	}
	for _, p := range given {
		name := p.Describe().Name
		if _, ok := on[name]; ok {
			if err := visit(name, nil); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// checkCollisions finds what two plugins claim.
func (r *Registry) checkCollisions(reserved []string) error {
	owners := map[string]string{}
	for _, name := range reserved {
		owners["tool "+name] = "the oracle"
	}
	claim := func(what, who string) error {
		if first, taken := owners[what]; taken {
			return fmt.Errorf("plugin %s: %s is already %s's", who, what, first)
		}
		owners[what] = who
		return nil
	}
	for _, l := range r.loaded {
		for _, t := range l.Tools() {
			if err := checkTool(t); err != nil {
				return fmt.Errorf("plugin %s: %w", l.Name, err)
			}
			if err := claim("tool "+t.Name, l.Name); err != nil {
				return err
			}
		}
		for _, s := range l.SubAgents() {
			if !toolPattern.MatchString("call_" + s.Name) {
				return fmt.Errorf("plugin %s: bad sub-agent name %q", l.Name, s.Name)
			}
			if err := claim("tool call_"+s.Name, l.Name); err != nil {
				return err
			}
		}
		if p, ok := l.Plugin.(plugin.StateProvider); ok {
			for key, get := range p.SharedState() {
				if err := claim("state "+key, l.Name); err != nil {
					return err
				}
				r.state[key] = stateOf{l.Name, get}
			}
		}
		jobs := map[string]bool{}
		for _, j := range l.Jobs() {
			if j.Name == "" || jobs[j.Name] || j.Every <= 0 || j.Run == nil {
				return fmt.Errorf("plugin %s: job %q needs a name of its own, an interval and a function", l.Name, j.Name)
			}
			jobs[j.Name] = true
		}
		workers := map[string]bool{}
		for _, w := range l.Workers() {
			if w.Name == "" || workers[w.Name] || w.Run == nil {
				return fmt.Errorf("plugin %s: worker %q needs a name of its own and a function", l.Name, w.Name)
			}
			workers[w.Name] = true
		}
	}
	return nil
}

func checkTool(t plugin.Tool) error {
	if !ValidToolName(t.Name) {
		return fmt.Errorf("bad tool name %q", t.Name)
	}
	if t.Run == nil || t.Description == "" {
		return fmt.Errorf("tool %s needs a description and a function", t.Name)
	}
	if err := agent.CheckSchema(t.Schema); err != nil {
		return fmt.Errorf("tool %s: %w", t.Name, err)
	}
	if len(t.Schema) > 0 && !json.Valid(t.Schema) {
		return fmt.Errorf("tool %s: the schema is not JSON", t.Name)
	}
	return nil
}

// Tools are the plugin's tools that are the same for every request.
func (l Loaded) Tools() []plugin.Tool {
	if p, ok := l.Plugin.(plugin.ToolProvider); ok {
		return p.Tools()
	}
	return nil
}

// SubAgents are the plugin's sub-agents that are the same for every request.
func (l Loaded) SubAgents() []plugin.SubAgent {
	if p, ok := l.Plugin.(plugin.SubAgentProvider); ok {
		return p.SubAgents()
	}
	return nil
}

// Jobs are the plugin's scheduled jobs.
func (l Loaded) Jobs() []plugin.Job {
	if p, ok := l.Plugin.(plugin.JobProvider); ok {
		return p.Jobs()
	}
	return nil
}

// Workers are the plugin's work that goes on all the time.
func (l Loaded) Workers() []plugin.Worker {
	if p, ok := l.Plugin.(plugin.WorkerProvider); ok {
		return p.Workers()
	}
	return nil
}

// Visibility is the plugin's visibility with the default filled in.
func (l Loaded) Visibility() plugin.Visibility {
	if l.Manifest.Visibility == "" {
		return plugin.OnDemand
	}
	return l.Manifest.Visibility
}

// Loaded returns the plugins that are on, in dependency order. The list is that
// of every caller, since each turn asks for it twice: it is not to be changed.
func (r *Registry) Loaded() []Loaded { return slices.Clip(r.loaded) }

// Verdicts says of every plugin whether it is on, and why.
func (r *Registry) Verdicts() []Verdict { return slices.Clone(r.verdicts) }

// Has reports whether a plugin is on.
func (r *Registry) Has(name string) bool {
	return slices.ContainsFunc(r.loaded, func(l Loaded) bool { return l.Name == name })
}

// Shared reads a value that a plugin shares.
func (r *Registry) Shared(ctx context.Context, rt *plugin.Runtime, key string) (any, error) {
	s, ok := r.state[key]
	if !ok {
		return nil, plugin.Errorf(404, "no plugin shares %q", key)
	}
	return s.get(ctx, rt)
}

// Start tells the plugins, in order, that the oracle is up.
func (r *Registry) Start(ctx context.Context, host func(name string) plugin.Host) error {
	for _, l := range r.loaded {
		s, ok := l.Plugin.(plugin.Starter)
		if !ok {
			continue
		}
		if err := s.Start(ctx, host(l.Name)); err != nil {
			return fmt.Errorf("start plugin %s: %w", l.Name, err)
		}
	}
	return nil
}
