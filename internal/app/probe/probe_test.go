package probe_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/app/probe"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

func get(t *testing.T, n probe.Node, path string, accept ...string) *httptest.ResponseRecorder {
	t.Helper()
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(n.Surface()); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for _, line := range accept {
		r.Header.Add("Accept", line)
	}
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w
}

// TestBrowsersAreSentToTheConsole and everybody else gets the documents' JSON.
func TestBrowsersAreSentToTheConsole(t *testing.T) {
	t.Parallel()
	node := probe.Node{
		Name:  func() string { return "Test" },
		Ready: func(context.Context) probe.Readiness { return probe.Readiness{Ready: true} },
	}
	for accept, console := range map[string]bool{
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": true,
		"application/json, Text/HTML ; q=0.5":                             true,
		"*/*":                                                             false,
		"text/*":                                                          false,
		"application/json":                                                false,
		"text/html;q=0, */*":                                              false,
		"text/html; q=0.000":                                              false,
		"text/htmlx":                                                      false,
		"":                                                                false,
	} {
		w := get(t, node, "/", accept)
		sent := w.Code == http.StatusFound && w.Header().Get("Location") == "/console/"
		if sent != console || !sent && (w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"message":"Test is running"`)) {
			t.Errorf("Accept: %s: %d %v %s", accept, w.Code, w.Header(), w.Body)
		}
		if !strings.Contains(strings.Join(w.Header().Values("Vary"), ","), "Accept") {
			t.Errorf("Accept: %s: a cache is not told that the answer depends on it", accept)
		}
	}
	node.Ready = nil
	if w := get(t, node, "/", "text/html"); w.Code != http.StatusOK {
		t.Errorf("while it waits for the database: %d", w.Code)
	}
}

// TestAPartHasItsOwnReadiness: a chain that is away is not ready on a node that is, and a node
// that drains is ready for nothing.
func TestAPartHasItsOwnReadiness(t *testing.T) {
	t.Parallel()
	checks := map[string]string{"database": "ok", "query": "not ready"}
	node := probe.Node{Ready: func(context.Context) probe.Readiness {
		return probe.Readiness{Ready: checks["server"] == "", Checks: checks}
	}}
	for _, state := range []struct {
		server string
		want   map[string]int
	}{
		{"", map[string]int{"": 200, "/database": 200, "/query": 503, "/ussd": 404}},
		{"draining", map[string]int{"": 503, "/database": 503, "/query": 503, "/ussd": 503}},
	} {
		if state.server != "" {
			checks["server"] = state.server
		}
		for part, want := range state.want {
			if w := get(t, node, "/ready"+part); w.Code != want {
				t.Errorf("server %q, /ready%s: %d %s, want %d", state.server, part, w.Code, w.Body, want)
			}
		}
	}
	if w := get(t, probe.Node{}, "/ready/query"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "starting") {
		t.Errorf("while it waits for the database: %d %s", w.Code, w.Body)
	}
}
