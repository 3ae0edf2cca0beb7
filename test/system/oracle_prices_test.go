package system

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/plugin"
)

// The puppet counts 100 tokens in and 20 out for each call: at these prices a
// call costs 3,000 + 2,400 millionths of a dollar.
const (
	puppetPrices = "MODEL_PRICES=puppet=30/120"
	perCall      = 5400
)

// TestPricedRuns: what a run cost is recorded with it, by the prices of the
// operator, over all its calls of the model and whoever made them; and plugins
// charge by it.
func TestPricedRuns(t *testing.T) {
	t.Parallel()
	for _, shape := range []Shape{Embedded, Fleet} {
		t.Run(string(shape), func(t *testing.T) {
			t.Parallel()
			model := newPuppet(t)
			w := Start(t, shape, append(model.env(), puppetPrices, "FEATURES=credits=true", "CREDITS_SECRET="+treasurer, "CREDITS_MARKUP=100")...)
			priced(t, w, model)
		})
	}
}

func priced(t *testing.T, w *World, model *puppet) {
	var offered struct {
		Models []struct {
			ID      string
			Pricing struct{ InputPerMillion, OutputPerMillion float64 }
		}
	}
	w.Node(0).Do(t, Call{Method: http.MethodGet, Path: "/models"}).JSON(t, &offered)
	if m := offered.Models[0]; m.ID != "puppet" || m.Pricing.InputPerMillion != 30 || m.Pricing.OutputPerMillion != 120 {
		t.Errorf("GET /models: %+v", m)
	}
	who := identitytest.NewActor("customer")
	c := newPayer(t, w, who)
	grantTo(t, w.Node(0), who, 1000, "k")
	c.newSession(t, w.Node(0))
	calls := map[string]int64{} // of the model, by run

	simple := c.say(t, w.Node(0), "hello")
	simple.rest(t)
	calls[simple.Header.Get("X-Run-Id")] = 1
	c.until(t, w.Node(1), account{Granted: 1000, Available: 994, Spent: 6}) // 5.4, rounded up

	tool := c.stream(t, w.Node(1), http.MethodPost, "/messages/"+c.session, `{"message":"use query get_token_params {}","stream":true}`)
	if said := textOf(t, tool.rest(t)); !strings.Contains(said, "params") {
		t.Fatalf("the tool was not used: %s", said)
	}
	calls[tool.Header.Get("X-Run-Id")] = 3 // to load the capability, to use the tool, to answer
	c.until(t, w.Node(2), account{Granted: 1000, Available: 977, Spent: 6 + 17})

	// A run that another attempt ended is charged once.
	killed := c.say(t, w.Node(0), "wait for the end")
	<-model.waiting
	w.Node(0).Kill()
	killed.Cut()
	w.Node(0).Start()
	w.Node(0).WaitReady()
	model.letGo()
	calls[killed.Header.Get("X-Run-Id")] = 1
	c.until(t, w.Node(1), account{Granted: 1000, Available: 971, Spent: 6 + 17 + 6})

	for _, n := range w.Nodes {
		n.Stop()
	}
	for run, n := range calls {
		used, model := recorded(t, w, run)
		if model != "puppet" || used.InputTokens != n*100 || used.OutputTokens != n*20 || used.CostMicros != n*perCall {
			t.Errorf("run with %d calls: %s %+v", n, model, used)
		}
	}
}

// recorded reads what the stopped world has stored of a run.
func recorded(t *testing.T, w *World, run string) (used plugin.Usage, model string) {
	t.Helper()
	db := w.Database()
	var text string
	if err := db.Read().QueryRowContext(t.Context(), `SELECT usage, model FROM oracle_runs WHERE id = $1`, run).Scan(&text, &model); err != nil {
		t.Fatalf("run %q: %v", run, err)
	}
	if err := json.Unmarshal([]byte(text), &used); err != nil {
		t.Fatal(err)
	}
	return used, model
}
