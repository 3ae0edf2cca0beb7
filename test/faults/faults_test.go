//go:build linux

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/test/servers"
	"github.com/castalia-org/castalia/test/system"
	"github.com/castalia-org/castalia/test/testenv"
)

func TestMain(m *testing.M) {
	BeChild()
	os.Exit(m.Run())
}

// length is how long faults go on in one schedule.
const length = 10 * time.Second

// seeds are those of the environment: SEED is one of them, SCHEDULES how many
// there are from FROM on. Otherwise the usual three, which have every fault.
func seeds(t *testing.T) []uint64 {
	t.Helper()
	number := func(name string, absent uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return absent
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	if os.Getenv("SEED") != "" {
		return []uint64{number("SEED", 0)}
	}
	many := uint64(3)
	if os.Getenv("CASTALIA_LONG") != "" {
		many = 100
	}
	var all []uint64
	first := number("FROM", 3)
	for n := range number("SCHEDULES", many) {
		all = append(all, first+n)
	}
	return all
}

func binaries(t *testing.T) []string {
	t.Helper()
	b := system.Binary(t)
	return []string{b, b, b}
}

// TestSchedules breaks a fleet as each seed says, and checks what it promised.
func TestSchedules(t *testing.T) {
	need(t)
	for _, seed := range seeds(t) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			schedule(t, startWorld(t, binaries(t)), NewPlan(seed, fleetSize, length))
		})
	}
}

// TestAlone does the same to one node on a data folder.
func TestAlone(t *testing.T) {
	need(t)
	all := seeds(t)
	if os.Getenv("SEED") == "" {
		all = all[:len(all)/3]
	}
	for _, seed := range all {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			w := start(t, func(dir string) (*World, error) { return NewAlone(t.Context(), dir, system.Binary(t)) })
			schedule(t, w, NewPlan(seed, 1, length))
		})
	}
}

// need says what a fleet in namespaces cannot do without.
func need(t *testing.T) {
	t.Helper()
	testenv.Need(t, "netns")
	if _, err := servers.PostgresBin(); err != nil {
		testenv.Need(t, "initdb")
	}
	if _, err := servers.Versitygw(); err != nil {
		testenv.Need(t, "versitygw")
	}
}

func schedule(t *testing.T, w *World, p Plan) {
	t.Helper()
	t.Logf("%v", p)
	c, err := newCrowd(t.Context(), w, fmt.Sprint(p.Seed))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.begin(t.Context()); err != nil {
		c.end()
		t.Fatal(err)
	}
	w.Tell("everybody was served once")
	if err := w.Inflict(t.Context(), p); err != nil {
		t.Errorf("the fleet does not heal: %v", err)
	}
	healed := time.Now()
	if err := c.more(t.Context(), 1); err != nil {
		t.Errorf("after everything was healed: %v", err)
	}
	served := time.Since(healed)
	c.end()
	w.Tell("everybody stopped")
	verdict(t, c)
	t.Logf("everybody was served again %.1fs after everything was healed", served.Seconds())
}

// verdict checks the evidence and says what was done.
func verdict(t *testing.T, c *crowd) {
	t.Helper()
	e := c.find(t.Context())
	for _, v := range Check(e) {
		t.Errorf("%v", v)
	}
	t.Logf("%s", summary(e))
	c.world.Tell("the checker is done")
}

func summary(e Evidence) string {
	told := map[string]*[3]int{}
	count := func(what string, t Told) {
		if told[what] == nil {
			told[what] = &[3]int{}
		}
		told[what][t]++
	}
	for _, w := range e.Writes {
		count("writes", w.Told)
	}
	for _, a := range e.Attempts {
		count("PINs", a.Told)
	}
	for _, x := range e.Turns {
		count("turns", x.Told)
	}
	for _, n := range e.Notes {
		count("memories", n.Told)
	}
	for _, t := range e.Things {
		for _, c := range t.Changes {
			count("changes", c.Told)
		}
	}
	for _, l := range e.Loans {
		count("taken back", l.Back)
	}
	var b strings.Builder
	for _, what := range []string{"writes", "PINs", "turns", "memories", "changes", "taken back"} {
		if n := told[what]; n != nil {
			_, _ = fmt.Fprintf(&b, "%s: %d acknowledged, %d refused, %d unknown; ", what, n[Acknowledged], n[Refused], n[Unknown])
		}
	}
	_, _ = fmt.Fprintf(&b, "%d tool calls, %d runs", len(e.Calls), len(e.Runs))
	return b.String()
}

// startWorld starts a fleet that ends with the test.
func startWorld(t *testing.T, binary []string) *World {
	t.Helper()
	return start(t, func(dir string) (*World, error) { return NewWorld(t.Context(), dir, binary) })
}

// start makes a world that ends with the test. A test that fails leaves its
// history, and so does one that was asked for by its seed, which prints it too, or
// with KEEP.
func start(t *testing.T, world func(dir string) (*World, error)) *World {
	t.Helper()
	dir, err := os.MkdirTemp("", "castalia-faults-")
	if err != nil {
		t.Fatal(err)
	}
	w, err := world(dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		if t.Failed() || os.Getenv("SEED")+os.Getenv("KEEP") != "" {
			// To a file: hundreds of lines here would hide what was found.
			if err := os.WriteFile(filepath.Join(dir, "history.txt"), []byte(w.Story()+"\n"), 0o600); err != nil {
				t.Error(err)
			}
			if os.Getenv("SEED") != "" {
				t.Logf("history:\n%s", w.Story())
			}
			t.Logf("the history and the logs of all processes: %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	return w
}
