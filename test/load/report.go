package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// results are what a run measured. Times are in milliseconds.
type results struct {
	Shape      string  `json:"shape"`
	Nodes      int     `json:"nodes"`
	Rate       float64 `json:"journeysPerSecond"`
	Seconds    float64 `json:"seconds"`
	Seed       uint64  `json:"seed"`
	Mix        string  `json:"mix"`
	Users      int     `json:"users"`
	Idle       int     `json:"idlePages"`
	Preload    int     `json:"preload"`
	Records    int64   `json:"records,omitempty"`
	Hole       float64 `json:"holeCallersPerSecond,omitempty"`
	Swallowed  int64   `json:"holeConnections,omitempty"`
	Machine    string  `json:"machine"`
	LoadBefore string  `json:"loadBefore"` // the machine's load average, which says how quiet it was
	// Withheld is the share of the processors' time that the host gave to others meanwhile.
	Withheld float64 `json:"hostWithheld"`

	Journeys      int64   `json:"journeys"`
	Requests      int64   `json:"requests"`
	PerSecond     float64 `json:"requestsPerSecond"`
	Failed        int64   `json:"failed"`
	Skipped       int64   `json:"skipped"`
	LagP99        float64 `json:"lagP99"`
	CPUPerRequest float64 `json:"nodeCpuPerRequest"`
	// Of a fleet: the database's part.
	DatabaseCPUPerRequest float64  `json:"databaseCpuPerRequest,omitempty"`
	RowsPerRequest        float64  `json:"rowsPerRequest,omitempty"`
	AtRest                *rest    `json:"atRest,omitempty"`
	Steps                 []result `json:"steps"`

	Processes   []process `json:"processes"`
	Differences []string  `json:"differences,omitempty"`
	Missed      []string  `json:"missed,omitempty"`
	Passed      bool      `json:"passed"`
	// Invalid runs did not pass, which may be the host's fault: they are to be made again.
	Invalid bool `json:"invalid,omitempty"`
}

// result is one step's latencies.
type result struct {
	Name   string           `json:"name"`
	Count  int64            `json:"count"`
	Mean   float64          `json:"mean"`
	P50    float64          `json:"p50"`
	P90    float64          `json:"p90"`
	P99    float64          `json:"p99"`
	P999   float64          `json:"p99.9"`
	Max    float64          `json:"max"`
	Errors map[string]int64 `json:"errors,omitempty"`
}

// firstFrame is the step that belongs to a request which is counted by another.
const firstFrame = "chat.first frame"

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (p process) isNode() bool { return strings.HasPrefix(p.Name, "node ") }

func collect(s settings, w *world, processes []process) *results {
	shape := s.shape
	if len(s.urls) > 0 {
		shape = "running servers"
	}
	r := &results{
		Shape: shape, Nodes: len(w.urls), Rate: s.rate, Seconds: s.duration.Seconds(), Seed: s.seed, Mix: s.mix.String(),
		Users: s.users, Idle: s.idle, Preload: s.preload, Records: s.records, AtRest: w.atRest, Machine: machine(),
		Journeys: w.begun.Load(), Processes: processes, Skipped: w.rec.skipped, LagP99: ms(w.rec.lag.At(0.99)),
	}
	if w.hole != nil {
		r.Hole, r.Swallowed = s.hole, w.hole.taken.Load()
	}
	for _, name := range slices.Sorted(maps.Keys(w.rec.steps)) {
		st := w.rec.steps[name]
		h := &st.latency
		x := result{
			Name: name, Count: h.Count(), Mean: ms(h.Mean()), P50: ms(h.At(0.5)), P90: ms(h.At(0.9)), P99: ms(h.At(0.99)),
			P999: ms(h.At(0.999)), Max: ms(h.Max()), Errors: st.errors,
		}
		for _, n := range st.errors {
			r.Failed += n
		}
		if !strings.HasPrefix(name, firstFrame) { // it belongs to a request that is counted
			r.Requests += h.Count()
		}
		r.Steps = append(r.Steps, x)
	}
	r.PerSecond = float64(r.Requests) / r.Seconds
	for _, p := range processes {
		if p.isNode() {
			r.CPUPerRequest += p.CPU * 1000 / float64(max(1, r.Requests))
		}
		if p.Name == database {
			r.DatabaseCPUPerRequest = p.CPU * 1000 / float64(max(1, r.Requests))
		}
	}
	return r
}

// machine says what the run ran on.
func machine() string {
	model := runtime.GOARCH
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%d cores, %s, %s", runtime.NumCPU(), model, runtime.Version())
}

func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(text)); len(f) > 2 {
		return strings.Join(f[:3], " ")
	}
	return ""
}

func (r *results) save(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func (r *results) title() string {
	nodes := "1 node"
	if r.Nodes > 1 {
		nodes = fmt.Sprintf("%d nodes", r.Nodes)
	}
	return fmt.Sprintf("Under load, %s, %s: %.0f journeys and %.0f requests a second for %.0f s", r.Shape, nodes, r.Rate, r.PerSecond, r.Seconds)
}

// print writes the table that people read.
func (r *results) print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "\n%s\n%s; load average before %s; seed %d; mix %s; %d users, %d idle pages, preloaded %d\n\n",
		r.title(), r.Machine, r.LoadBefore, r.Seed, r.Mix, r.Users, r.Idle, r.Preload)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "step\tcount\tmean ms\tp50\tp90\tp99\tp99.9\tmax\terrors\t")
	for _, s := range r.Steps {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%s\t\n", s.Name, s.Count, s.Mean, s.P50, s.P90, s.P99, s.P999, s.Max, errorsOf(s))
	}
	_ = t.Flush()
	_, _ = fmt.Fprintln(out)
	t = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "process\tCPU s\tcores\tpeak MB\tend MB\t")
	for _, p := range r.Processes {
		_, _ = fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.1f\t%.1f\t\n", p.Name, p.CPU, p.Cores, float64(p.PeakRSS)/(1<<20), float64(p.EndRSS)/(1<<20))
	}
	_ = t.Flush()
	_, _ = fmt.Fprintf(out, "\nCPU of the nodes per request %.3f ms; the generator was at most %.2f ms late (p99)\n", r.CPUPerRequest, r.LagP99)
	if r.DatabaseCPUPerRequest > 0 {
		_, _ = fmt.Fprintf(out, "of the database %.3f ms, and %.1f rows read\n", r.DatabaseCPUPerRequest, r.RowsPerRequest)
	}
	if r.AtRest != nil {
		_, _ = fmt.Fprintf(out, "the database of %d records with nobody asking: %.4f of a core, %.0f rows a second\n",
			r.Records, r.AtRest.Cores, r.AtRest.RowsPerSecond)
		_, _ = fmt.Fprintln(out, "of them most in", strings.Join(r.AtRest.Tables, ", "))
	}
	if r.Hole > 0 {
		_, _ = fmt.Fprintf(out, "from the middle on %g callers a second fell into a black hole, which took %d connections and answered none\n",
			r.Hole, r.Swallowed)
	}
	for _, d := range r.Differences {
		_, _ = fmt.Fprintln(out, "DIFFERENT:", d)
	}
	for _, m := range r.Missed {
		_, _ = fmt.Fprintln(out, "MISSED:", m)
	}
	_, _ = fmt.Fprintf(out, "the host withheld %.1f%% of the processors' time\n", 100*r.Withheld)
	verdict := "PASSED"
	switch {
	case r.Invalid:
		verdict = "INVALID: too slow, while the host withheld the processors; run it again"
	case !r.Passed:
		verdict = "FAILED"
	}
	_, _ = fmt.Fprintln(out, verdict)
}

func errorsOf(s result) string {
	if len(s.Errors) == 0 {
		return "-"
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(s.Errors)) {
		parts = append(parts, fmt.Sprintf("%s x%d", kind, s.Errors[kind]))
	}
	return strings.Join(parts, ", ")
}
