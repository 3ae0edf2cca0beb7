package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/test/testenv"
)

// TestMain is the NATS server when a run of the fleet starts this binary again.
func TestMain(m *testing.M) {
	if os.Getenv(natsAgain) != "" {
		if err := serveNATS(context.Background(), os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestSmoke drives both shapes gently for ten seconds. It asks for right
// answers and matching counts, never for speed.
func TestSmoke(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"embedded", "fleet"} {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			args := []string{
				"-shape", shape, "-rate", "12", "-duration", "10s", "-warmup", "0s", "-users", "10", "-idle", "6", "-preload", "20", "-seed", "7",
				"-hole", "8",
			}
			if shape == "fleet" {
				testenv.Need(t, "postgres", "s3")
				args = append(args, "-nodes", "2")
			}
			s, err := parse(args, t.Output())
			if err != nil {
				t.Fatal(err)
			}
			r, err := run(t.Context(), s, t.Output())
			if err != nil {
				t.Fatal(err)
			}
			r.print(t.Output())
			if !r.Passed || r.Failed != 0 || len(r.Differences) != 0 {
				t.Errorf("failed %d, missed %v, differences %v", r.Failed, r.Missed, r.Differences)
			}
			// The seed says who comes, so it says how many there must be.
			want := map[string]int64{}
			for a := range plan(s.rate, s.duration, s.mix, s.seed) {
				want[a.kind]++
			}
			count := func(names ...string) (n int64) {
				for _, name := range names {
					n += r.step(name).Count + r.step(name+besideHole).Count
				}
				return n
			}
			got := map[string]int64{
				"ussd": count("ussd.end"), "chat": count("chat.transcript"), "socket": count("socket.event"),
				"download": count("files.download"),
				"upload":   count("files.upload 4 KiB", "files.upload 64 KiB", "files.upload 1 MiB"),
				"query":    count("query.claim", "query.list of 100", "query.params"),
			}
			// Callers fell into the hole, their program and their gateway both, and the others went on.
			if r.Swallowed < 2 || count("hole.ask") == 0 || count("hole.ask") != count("hole.message") || r.step("ussd.end"+besideHole).Count == 0 {
				t.Errorf("%d connections, %d asked, %d wrote", r.Swallowed, count("hole.ask"), count("hole.message"))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("journeys that came to their end (-planned +made):\n%s", diff)
			}
		})
	}
}

func TestThePlanIsOpenLoopAndOfItsSeed(t *testing.T) {
	t.Parallel()
	list := func(seed uint64) []arrival { return slices.Collect(plan(200, time.Minute, usualMix(), seed)) }
	a := list(1)
	if !slices.Equal(a, list(1)) || slices.Equal(a, list(2)) {
		t.Error("a seed is not a plan")
	}
	// A Poisson process: as many as asked for, and gaps that are exponential.
	if n := float64(len(a)); math.Abs(n-12000) > 5*math.Sqrt(12000) {
		t.Errorf("%v arrivals, want about 12000", n)
	}
	var sum, squares float64
	for i := 1; i < len(a); i++ {
		gap := (a[i].at - a[i-1].at).Seconds()
		if gap < 0 {
			t.Fatal("arrivals are not in order")
		}
		sum, squares = sum+gap, squares+gap*gap
	}
	mean := sum / float64(len(a)-1)
	if spread := math.Sqrt(squares/float64(len(a)-1)-mean*mean) / mean; spread < 0.9 || spread > 1.1 {
		t.Errorf("the gaps spread by %v of their mean, want about 1", spread)
	}
}

// A server that stalls is charged for everybody who was meant to come meanwhile.
func TestLatencyCountsFromTheIntendedStart(t *testing.T) {
	t.Parallel()
	start := time.Now().Add(-10 * time.Second)
	r := newRecorder(start)
	for i := range 10 {
		r.done("step", start.Add(time.Duration(i)*time.Second), nil)
	}
	h := &r.steps["step"].latency
	if h.Count() != 10 || h.At(0.5) < 5*time.Second || h.Max() < 10*time.Second {
		t.Errorf("p50 %v, max %v of %d", h.At(0.5), h.Max(), h.Count())
	}
	r.done("step", start.Add(-time.Second), nil)
	r.done("step", start.Add(-time.Second), wrong("status 500", ""))
	if h.Count() != 10 || r.steps["step"].errors["status 500"] != 1 {
		t.Error("the warm-up was counted, or its error was not")
	}
}

func TestMixIsRead(t *testing.T) {
	t.Parallel()
	var m mix
	if err := m.Set("query=1, ussd=3"); err != nil || m.pick(0.1) != "query" || m.pick(0.3) != "ussd" || m.pick(1) != "ussd" {
		t.Errorf("%v: %v", m, err)
	}
	for _, bad := range []string{"", "ussd", "ussd=x", "ussd=-1", "ussd=NaN", "ussd=0", "tea=1", "ussd=1,ussd=2"} {
		if err := m.Set(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestTheVerdictNamesWhatWasMissed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "budget.yaml")
	text := "errors: 0.01\nlag: 20ms\nnode_rss_mb: 100\ncpu_per_request: 1ms\nsteps:\n- {name: ussd.dial, p99: 50ms}\n- {name: ussd.*, p50: 1ms, p99: 20ms}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := readBudget(file)
	if err != nil {
		t.Fatal(err)
	}
	good := results{
		Requests: 1000, Failed: 10, LagP99: 19, CPUPerRequest: 0.9,
		Steps:     []result{{Name: "ussd.dial", P50: 30, P99: 49}, {Name: "ussd.input", P50: 0.5, P99: 10}, {Name: "query.claim", P99: 9999}},
		Processes: []process{{Name: "node 0", PeakRSS: 99 << 20}, {Name: "load generator", PeakRSS: 999 << 20}},
	}
	bad := good
	bad.Failed, bad.LagP99, bad.CPUPerRequest, bad.Skipped = 20, 21, 1.1, 1
	bad.Steps = []result{{Name: "ussd.dial", P99: 51}, {Name: "ussd.end", P50: 2, P99: 21}}
	bad.Processes = []process{{Name: "node 0", PeakRSS: 101 << 20}}
	if good.judge(b); !good.Passed {
		t.Errorf("missed %v", good.Missed)
	}
	if bad.judge(b); bad.Passed || len(bad.Missed) != 8 {
		t.Errorf("missed %d: %v", len(bad.Missed), bad.Missed)
	}
	// What is only slow while the host has the processors elsewhere says nothing; what is wrong does.
	slow := results{Requests: 1000, LagP99: 21, Withheld: 0.2}
	if slow.judge(b); slow.Passed || !slow.Invalid {
		t.Errorf("slow while processors were withheld: passed %v, invalid %v", slow.Passed, slow.Invalid)
	}
	for name, r := range map[string]results{
		"slow by itself":                     {Requests: 1000, LagP99: 21, Withheld: 0.01},
		"wrong while they were withheld":     {Requests: 1000, Failed: 20, LagP99: 21, Withheld: 0.2},
		"different while they were withheld": {Requests: 1000, LagP99: 21, Withheld: 0.2, Differences: []string{"a file"}},
	} {
		if r.judge(b); r.Passed || r.Invalid {
			t.Errorf("%s: passed %v, invalid %v", name, r.Passed, r.Invalid)
		}
	}
	different := results{Differences: []string{"a file"}}
	if different.judge(nil); different.Passed {
		t.Error("a difference passed")
	}
	for _, text := range []string{"lag: soon", "tempo: 3", "steps: [{name: '[', p50: 1ms}]", "steps: [{p50: 1ms}]"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readBudget(file); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// The budgets that are shipped can be read.
func TestShippedBudgets(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("budgets/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no budgets: %v", err)
	}
	for _, file := range files {
		if b, err := readBudget(file); err != nil || len(b.Steps) == 0 {
			t.Errorf("%s: %+v, %v", file, b, err)
		}
	}
}

func TestCountsMustMatch(t *testing.T) {
	t.Parallel()
	var b balance
	b.settle(nil)
	b.settle(nil)
	b.settle(errors.New("cut"))
	for got, fine := range map[int64]bool{1: false, 2: true, 3: true, 4: false} {
		if text := b.differs("files", got); (text == "") != fine {
			t.Errorf("%d: %q", got, text)
		}
	}
}

func TestPicturesAreWholeAndGrowthIsDrawn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var args []string
	for i, preload := range []int{1000, 10000} {
		r := &results{
			Shape: "embedded <&>", Nodes: 1, Preload: preload, Rate: 50, Seconds: 10, Passed: true,
			Steps:     []result{{Name: "ussd.dial", P50: 1.5 * float64(i+1), P99: 40, P999: 2000, Errors: map[string]int64{"time-out": 2}}},
			Processes: []process{{Name: "node 0", PeakRSS: 100 << 20}},
		}
		file := filepath.Join(dir, string(rune('a'+i))+".json")
		if err := r.save(file); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
		wellFormed(t, drawRun(r))
	}
	picture := filepath.Join(dir, "growth.svg")
	var out bytes.Buffer
	if err := command(t.Context(), append([]string{"growth", "-picture", picture}, args...), &out, t.Output()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "| ussd.dial | 1.5 / 40.0 | 3.0 / 40.0 |") {
		t.Errorf("the table:\n%s", &out)
	}
	text, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, text)
	if err := command(t.Context(), []string{"growth", args[0]}, &out, t.Output()); err == nil {
		t.Error("growth of one run was drawn")
	}
	raw, err := os.ReadFile(args[0])
	if err != nil || !json.Valid(raw) {
		t.Errorf("results: %v", err)
	}
}

func wellFormed(t *testing.T, svg []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
	}
}

func TestBadFlags(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-shape", "cloud"}, {"-nodes", "2"}, {"-rate", "0"}, {"-users", "0"}, {"now"}, {"-mix", "tea=1"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
