package system

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/app/causes"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// TestOneThingInTroubleDoesNotTakeANodeOut names a chain that is away and a model
// that refuses its key: nodes get requests and serve what they can, and
// operators are told what is wrong.
func TestOneThingInTroubleDoesNotTakeANodeOut(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`))
	}))
	t.Cleanup(model.Close)
	Each(t, func(t *testing.T, w *World) {
		ann := newGuest(t, w, identitytest.NewActor("ann"))
		for i, n := range w.Nodes {
			if got := n.Get(t, "/ready"); got.Status != http.StatusOK || !strings.Contains(string(got.Body), `"query":"not ready"`) {
				t.Errorf("node %d: %d %s", i, got.Status, got.Body)
			}
			if got := n.Do(t, ann.call(http.MethodGet, "/sessions", "")); got.Status != http.StatusOK {
				t.Errorf("node %d: %d %s", i, got.Status, got.Body)
			}
			var report causes.Report
			got := n.Do(t, asGatekeeper(http.MethodGet, "/operator/health", ""))
			if err := json.Unmarshal(got.Body, &report); err != nil || got.Status != http.StatusOK || report.OK {
				t.Fatalf("node %d: %d %s", i, got.Status, got.Body)
			}
			said := map[string]string{}
			for _, p := range report.Parts {
				for _, c := range p.Causes {
					said[p.Name] += c.Text
					if c.Since == "" || p.OK || p.Needed {
						t.Errorf("node %d: %+v", i, p)
					}
				}
			}
			if !strings.Contains(said["query"], "chain main") || !strings.Contains(said["models"], "key") ||
				said["database"] != "" || strings.Contains(string(got.Body), "sk-secret") {
				t.Errorf("node %d says %s", i, got.Body)
			}
		}
		text, code := Run(t, w.Env, "health", "--causes", "--server", w.URL())
		if code != 1 || !strings.Contains(text, "chain main") || !strings.Contains(text, "database   ok") {
			t.Errorf("health --causes: %d %s", code, text)
		}
		if text, code := Run(t, nil, "health", "--causes", "--server", w.URL()); code != 1 || !strings.Contains(text, "not signed in as an operator") {
			t.Errorf("health --causes as nobody: %d %s", code, text)
		}
	}, "QUERY_UPSTREAMS=127.0.0.1:1", "OPERATOR_TOKEN="+gatekeeper, "MODEL_PROVIDER=openai", "MODEL=m", "OPENAI_BASE_URL="+model.URL, "OPENAI_API_KEY=sk-secret")
}
