package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const output = `goos: linux
BenchmarkSession/sqlite/dial/64-2        	    3003	    154125 ns/op	         7.851 p50-ms	         0.1099 server-cpu-ms/req
5 rounds of 2s, 16 connections, medians; ratios to the generated gateway

entity
arm               req/s    ratio        p50        p99      CPU/req    ratio
generated           242    1.00x   14.498ms  101.839ms        2ms    1.00x
ours                612    2.53x   14.498ms  101.839ms        1ms    0.41x
  missed: at least 5.0x requests and at most 0.25x CPU

list of 100 claims
ours               1612    6.10x    4.498ms   11.839ms        1ms    0.11x
PASS
`

func TestOutputIsRead(t *testing.T) {
	t.Parallel()
	want := map[string]float64{
		"BenchmarkSession/sqlite/dial/64 ns/op": 154125, "BenchmarkSession/sqlite/dial/64 p50-ms": 7.851,
		"BenchmarkSession/sqlite/dial/64 server-cpu-ms/req": 0.1099,
		"entity/generated rate-ratio":                       1, "entity/generated cpu-ratio": 1, "entity/ours rate-ratio": 2.53, "entity/ours cpu-ratio": 0.41,
		"list of 100 claims/ours rate-ratio": 6.1, "list of 100 claims/ours cpu-ratio": 0.11,
	}
	if diff := cmp.Diff(want, parse(output)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	low, high := bar{kind: atLeast, want: 2}, bar{kind: atMost, want: 2}
	for _, c := range []struct {
		bar  bar
		got  float64
		want string
	}{{low, 2, "met"}, {low, 1.9, "MISSED"}, {high, 2, "met"}, {high, 2.1, "MISSED"}, {bar{}, 7, ""}, {
		low, math.NaN(), "?",
	}, {high, math.NaN(), "?"}} {
		if got := (outcome{bar: c.bar, got: c.got}).verdict(); got != c.want {
			t.Errorf("%+v, %v: %q", c.bar, c.got, got)
		}
	}
	for _, c := range []struct {
		withheld float64
		got      float64
		want     string
	}{{0.049, 2.1, "MISSED"}, {0.05, 2.1, "invalid"}, {0.05, 1.9, "met"}, {0.5, math.NaN(), "?"}} {
		if got := (outcome{bar: high, got: c.got, withheld: c.withheld}).verdict(); got != c.want {
			t.Errorf("%v while %v was withheld: %q, want %q", c.got, c.withheld, got, c.want)
		}
	}
	sum := bar{line: "a", metrics: []string{"x", "y"}}
	if v := sum.value(map[string]float64{"a x": 1, "a y": 2}); v != 3 {
		t.Errorf("sum %v", v)
	}
	if v := sum.value(map[string]float64{"a x": 1}); !math.IsNaN(v) {
		t.Errorf("half a sum: %v", v)
	}
}

func TestTheTableKeepsWhatDidNotRun(t *testing.T) {
	t.Parallel()
	all := groups()
	page := "# Page\n\n" + beginMark + endMark + "\n\nMore.\n"
	first, err := merge(page, []outcome{{group: all[0], bar: all[0].bars[0], got: 1.2}}, "on Monday")
	if err != nil {
		t.Fatal(err)
	}
	second, err := merge(first, []outcome{{group: all[1], bar: all[1].bars[0], got: 0.5}}, "on Tuesday")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1.2 x | met | on Monday", "0.5 x | MISSED | on Tuesday", "not measured yet", "# Page", "More."} {
		if !strings.Contains(second, want) {
			t.Errorf("no %q in\n%s", want, second)
		}
	}
	if _, err := merge("# Page", nil, ""); err == nil {
		t.Error("a page without markers was taken")
	}
}

// The published page has the markers and names every figure.
func TestThePageHasEveryFigure(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/reference/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups() {
		for _, b := range g.bars {
			if !strings.Contains(string(text), "| "+b.what+" |") {
				t.Errorf("%s: %q is not in the table: run `make bench BENCH=%s`", g.name, b.what, g.name)
			}
		}
	}
}

// A group that hangs is ended with its children, and says so.
func TestAGroupHasALimit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Fatal(err)
	}
	g := group{limit: 100 * time.Millisecond, commands: [][]string{{"sh", "-c", "echo begun; sleep 600 & wait"}}}
	var out bytes.Buffer
	_, err := execute(context.Background(), g, &out)
	if err == nil || !strings.Contains(err.Error(), "not done after") {
		t.Errorf("%v", err)
	}
}

// TestWhatIsBuiltBeforeMeasuring walks the commands of all groups: scripts and npm are not
// built here.
func TestWhatIsBuiltBeforeMeasuring(t *testing.T) {
	t.Parallel()
	for _, g := range groups() {
		for _, command := range g.commands {
			pkg, ok := tested(command)
			if ok != (command[0] == "go" && command[1] == "test") || ok && !strings.HasPrefix(pkg, "./") {
				t.Errorf("%s: %q is built as %q, %t", g.name, command, pkg, ok)
			}
		}
	}
	if pkg, ok := tested([]string{"scripts/bench-query"}); ok {
		t.Errorf("a script is built as %q", pkg)
	}
}
