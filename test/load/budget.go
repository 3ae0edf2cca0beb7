package main

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/castalia-org/castalia/test/host"
)

// budget is what a run may cost at most. A limit that is absent is not held.
type budget struct {
	// Errors is the share of steps that may fail; absent means none.
	Errors float64 `yaml:"errors"`
	// Lag bounds how late the generator itself may be at p99: beyond it the run
	// measured the generator.
	Lag limit `yaml:"lag"`
	// Steps bounds latencies by the step's name; * stands for any text, and the
	// first pattern that fits is the one that counts.
	Steps []stepBudget `yaml:"steps"`
	// NodeRSS and NodeCores bound every node.
	NodeRSS   int64   `yaml:"node_rss_mb"`
	NodeCores float64 `yaml:"node_cores"`
	// CPU bounds the processor time of all nodes for one request.
	CPU limit `yaml:"cpu_per_request"`
}

type stepBudget struct {
	Name string `yaml:"name"`
	P50  limit  `yaml:"p50"`
	P99  limit  `yaml:"p99"`
	P999 limit  `yaml:"p99.9"`
}

// limit is a duration as people write it, such as 50ms.
type limit time.Duration

// UnmarshalYAML reads it.
func (l *limit) UnmarshalYAML(text []byte) error {
	d, err := time.ParseDuration(strings.Trim(strings.TrimSpace(string(text)), `"'`))
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is no duration such as 50ms", text)
	}
	*l = limit(d)
	return nil
}

func readBudget(file string) (*budget, error) {
	if file == "" {
		return nil, nil // no budget is a good answer
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var b budget
	if err := yaml.UnmarshalWithOptions(text, &b, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("budget %s: %w", file, err)
	}
	for _, s := range b.Steps {
		if _, err := path.Match(s.Name, ""); err != nil || s.Name == "" {
			return nil, fmt.Errorf("budget %s: bad step name %q", file, s.Name)
		}
	}
	return &b, nil
}

// judge says whether the run passed. Without a budget only errors count. A run that was
// slow, and otherwise right, while the host withheld the processors says nothing.
func (r *results) judge(b *budget) {
	wrong := 0
	slow := func(format string, args ...any) { r.Missed = append(r.Missed, fmt.Sprintf(format, args...)) }
	miss := func(format string, args ...any) {
		slow(format, args...)
		wrong++
	}
	if b == nil {
		b = &budget{}
	}
	if share := float64(r.Failed) / float64(max(1, r.Requests+r.Failed)); share > b.Errors {
		miss("errors: %d of %d steps, at most %g", r.Failed, r.Requests+r.Failed, b.Errors)
	}
	if r.Skipped > 0 {
		slow("journeys not begun: %d", r.Skipped)
	}
	over := func(what string, got float64, most limit) {
		if most > 0 && got > ms(time.Duration(most)) {
			slow("%s: %.2f ms, at most %s", what, got, time.Duration(most))
		}
	}
	over("the generator was late (p99)", r.LagP99, b.Lag)
	over("CPU of the nodes per request", r.CPUPerRequest, b.CPU)
	for _, s := range r.Steps {
		name := strings.TrimSuffix(s.Name, besideHole) // a black hole is no excuse
		i := slices.IndexFunc(b.Steps, func(t stepBudget) bool { ok, _ := path.Match(t.Name, name); return ok })
		if i < 0 {
			continue
		}
		over(s.Name+" p50", s.P50, b.Steps[i].P50)
		over(s.Name+" p99", s.P99, b.Steps[i].P99)
		over(s.Name+" p99.9", s.P999, b.Steps[i].P999)
	}
	for _, p := range r.Processes {
		if !p.isNode() {
			continue
		}
		if b.NodeRSS > 0 && p.PeakRSS > b.NodeRSS<<20 {
			miss("%s: %d MB resident, at most %d", p.Name, p.PeakRSS>>20, b.NodeRSS)
		}
		if b.NodeCores > 0 && p.Cores > b.NodeCores {
			miss("%s: %.2f cores, at most %g", p.Name, p.Cores, b.NodeCores)
		}
	}
	r.Passed = len(r.Missed) == 0 && len(r.Differences) == 0
	r.Invalid = !r.Passed && wrong == 0 && len(r.Differences) == 0 && r.Withheld >= host.TooMuch
}
