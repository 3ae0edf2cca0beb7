package ussdscript_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdscript"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdtest"
)

// Every recorded flow is answered word for word, on both engines.
func TestRecordedFlows(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no flow files: %v", err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		flows, err := ussdscript.Parse(file, source)
		if err != nil {
			t.Fatal(err)
		}
		for _, flow := range flows.Flows {
			for _, s := range flow.Steps {
				seen[s.Screen] = true
			}
			t.Run(filepath.Base(file)+"/"+flow.Name, func(t *testing.T) {
				t.Parallel()
				sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
					db := sqldbtest.Migrate(t, open(t), ussdsql.Migrations())
					svc := ussdtest.Service(t, ussdsql.New(db), func(c *ussd.Config) {
						c.Oracle, c.LookUp = ussdscript.StandIn{Flow: flow}, ussdscript.StandIn{Flow: flow}
					})
					if err := flows.Run(t.Context(), flow, ussdscript.Local{Service: svc}, nil); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
	m, err := ussd.DefaultMenu()
	if err != nil {
		t.Fatal(err)
	}
	for _, screen := range m.Screens() {
		switch screen {
		case "resumeOffer", "answerPromised": // need a clock and a slow oracle; tested apart
			continue
		}
		if !seen[screen] {
			t.Errorf("no flow visits the screen %q", screen)
		}
	}
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
