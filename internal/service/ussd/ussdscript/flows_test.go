package ussdscript_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdmenu"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdscript"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// Every recorded flow is answered word for word, on both engines, and together
// they go every way that the menu has.
func TestRecordedFlows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no flow files: %v", err)
	}
	taken := &ways{count: map[ussdmenu.Edge]int64{}}
	t.Run("flows", func(t *testing.T) {
		for _, file := range files {
			flows, err := ussdscript.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, flow := range flows.Flows {
				t.Run(filepath.Base(file)+"/"+flow.Name, func(t *testing.T) {
					t.Parallel()
					sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
						db := sqldbtest.Migrate(t, open(t), ussdsql.Migrations())
						svc := ussdtest.Service(t, ussdsql.New(db), flow.Configure)
						if err := flows.Run(t.Context(), flow, ussdscript.Local{Service: svc}, nil); err != nil {
							t.Error(err)
						}
						taken.add(t, svc)
					})
				})
			}
		}
	})
	for e, n := range taken.count {
		if n == 0 && !apart(e) {
			t.Errorf("no flow goes from %s to %s (%s)", e.From, e.To, e.Label)
		}
	}
	if len(taken.count) < 100 {
		t.Errorf("the menu has only %d ways", len(taken.count))
	}
}

// ways counts how often each edge of the menu was taken.
type ways struct {
	mu    sync.Mutex
	count map[ussdmenu.Edge]int64
}

func (w *ways) add(t *testing.T, svc *ussd.Service) {
	t.Helper()
	g, err := svc.GraphWithCounts(t.Context(), "", 2)
	if err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range g.Edges {
		n := e.Count
		e.Count = 0
		w.count[e] += n
	}
}

// apart are the ways that need a clock or an oracle that is slow, which have
// tests of their own, and one that nobody comes to: a new PIN is asked for only
// after the present one. A code comes from somebody else: what follows a good one
// has tests of its own, too.
func apart(e ussdmenu.Edge) bool {
	if e.From == "resetPinEntry" || e.To == "resetPinEntry" || e.From == "confirmResetPin" ||
		e.From == "linkConfirm" || e.To == "linkConfirm" || e.From == "unlinkPin" || e.To == "unlinkPin" || e.From == "linkCode" && e.To == "linkPin" {
		return true
	}
	if strings.HasPrefix(e.From, "key") || strings.HasPrefix(e.To, "key") { // a new key takes a link, which takes a code
		return true
	}
	if e.From == "oracleAsks" || e.To == "oracleAsks" { // what the oracle wants to do has tests of its own
		return true
	}
	return e.From == "resumeOffer" || e.When == "resuming" || e.From == "answerPromised" || e.To == "answerPromised" ||
		e.Via == "takingAnswer" || e.Via == "changingPin" && e.To == "oldPin"
}

func TestParseNamesMistakes(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"flows: []":              "1 to 1000 flows",
		"flows: [{name: a}]":     "1 to 1000 steps",
		"flows: [{steps: [{}]}]": "one of dial, input, text and again",
		"flows: [{steps: [{dial: true, again: true}]}]":       "one of dial, input, text and again",
		"flows: [{steps: [{dial: true, capture: {a: '('}}]}]": "capture",
		"flow: []": "unknown field",
	} {
		_, err := ussdscript.Parse("f.yaml", []byte(source))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
}
