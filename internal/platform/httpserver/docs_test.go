package httpserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

type session struct {
	ID      string    `json:"sessionId" jsonschema:"names the session"`
	Created time.Time `json:"createdAt"`
	Title   string    `json:"title,omitempty"`
}

type node struct { // has no inline schema
	Next *node `json:"next"`
}

func at(t *testing.T, doc any, path ...string) any {
	t.Helper()
	for _, p := range path {
		m, ok := doc.(map[string]any)
		if !ok {
			t.Fatalf("no %s: %v is not an object", p, doc)
		}
		doc = m[p]
	}
	return doc
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	version := uint64(1)
	s := newServer(t, httpserver.Config{Title: "Test", Version: "1.2.3"}, httpserver.Surface{
		Name: "oracle", Doc: "Talk.", Authenticate: func(h httpserver.Handler) httpserver.Handler { return h },
		Routes: []httpserver.Route{
			{
				Method: "POST", Pattern: "/sessions/{id}/{rest...}", Auth: httpserver.Principal, Handler: echo(), Summary: "Say", Body: session{},
				Params:  []httpserver.Param{{Name: "limit", In: "query", Schema: 0, Doc: "how many"}},
				Replies: []httpserver.Reply{{Status: 200, Body: []session{}}, {Status: 200, Media: "text/event-stream"}, {Status: 404, Doc: "None"}},
			},
			{Method: "GET", Pattern: "/tree", Auth: httpserver.Public, Handler: echo(), Replies: []httpserver.Reply{{Status: 200, Body: node{}}}},
			{Method: "GET", Pattern: "/hidden", Auth: httpserver.Public, Handler: echo(), Hidden: true},
		},
	}, httpserver.Surface{Name: "query", Dynamic: &httpserver.Dynamic{
		Route:   httpserver.Route{Auth: httpserver.Public, Handler: echo()},
		Version: func() uint64 { return version },
		Paths: func() (paths, schemas map[string]any) {
			item := map[string]any{"get": map[string]any{"summary": "dynamic", "version": version}}
			return map[string]any{"/cosmos/x": item, "/tree": item}, map[string]any{"Coin": map[string]any{"type": "object"}}
		},
	}})
	read := func() any {
		a := do(t, s, "GET", "/docs-json")
		if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Etag"), "W/") {
			t.Fatalf("got %d, ETag %q", a.StatusCode, a.Header.Get("Etag"))
		}
		if again := do(t, s, "GET", "/docs-json", "If-None-Match: "+a.Header.Get("Etag")); again.StatusCode != http.StatusNotModified {
			t.Errorf("asked again: got %d", again.StatusCode)
		}
		return any(a.json(t))
	}
	doc := read()
	op := at(t, doc, "paths", "/sessions/{id}/{rest}", "post")
	for want, path := range map[any][]string{
		"3.1.0":                        {"openapi"},
		"Test":                         {"info", "title"},
		"string":                       {"components", "schemas", "Session", "properties", "sessionId", "type"},
		"names the session":            {"components", "schemas", "Session", "properties", "sessionId", "description"},
		"dynamic":                      {"paths", "/cosmos/x", "get", "summary"},
		"#/components/schemas/Session": {"paths", "/sessions/{id}/{rest}", "post", "requestBody", "content", "application/json", "schema", "$ref"},
	} {
		if at(t, doc, path...) != want {
			t.Errorf("%v is %v, want %v", path, at(t, doc, path...), want)
		}
	}
	var names []string
	for _, p := range at(t, op, "parameters").([]any) {
		names = append(names, at(t, p, "in").(string)+" "+at(t, p, "name").(string))
	}
	if diff := cmp.Diff([]string{"query limit", "path id", "path rest"}, names); diff != "" {
		t.Error(diff)
	}
	if at(t, op, "responses", "200", "content", "text/event-stream") == nil || at(t, op, "responses", "200", "content", "application/json", "schema", "items", "$ref") != "#/components/schemas/Session" {
		t.Errorf("replies: %v", at(t, op, "responses"))
	}
	if at(t, op, "x-auth") != "principal" || len(at(t, op, "security").([]any)) != 2 {
		t.Errorf("security: %v", at(t, op, "security"))
	}
	if tags := at(t, doc, "tags").([]any); len(tags) != 2 || at(t, tags[0], "name") != "oracle" || at(t, tags[0], "description") != "Talk." || at(t, tags[1], "name") != "docs" {
		t.Errorf("tags: %v", tags)
	}
	if at(t, doc, "paths", "/hidden") != nil || at(t, doc, "paths", "/tree", "get", "summary") == "dynamic" {
		t.Error("a hidden path is shown, or a dynamic one hides a fixed one")
	}
	version = 2
	if got := at(t, read(), "paths", "/cosmos/x", "get", "version"); got != float64(2) {
		t.Errorf("a changed surface is documented as version %v", got)
	}
}

func TestDocsPage(t *testing.T) {
	t.Parallel()
	s := newServer(t, httpserver.Config{})
	for path, media := range map[string]string{
		"/docs": "text/html", "/docs/": "text/html", "/docs/docs.js": "text/javascript", "/docs/docs.css": "text/css", "/docs/mark.svg": "image/svg+xml",
	} {
		a := do(t, s, "GET", path)
		if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), media) {
			t.Errorf("%s: got %d %s", path, a.StatusCode, a.Header.Get("Content-Type"))
		}
		for _, foreign := range []string{"//cdn", "https://", "http://localhost", "<script>", "style=", "onclick="} {
			if strings.Contains(a.body, foreign) {
				t.Errorf("%s has %q in it", path, foreign)
			}
		}
	}
	for _, path := range []string{"/docs/none.js", "/docs/..%2Fdocs.go", "/docs/%2e%2e", "/docs/index", "/docs/a/b"} {
		if a := do(t, s, "GET", path); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got %d", path, a.StatusCode)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics()
	s := newServer(t, httpserver.Config{Metrics: m}, httpserver.Surface{Name: "oracle", CORS: httpserver.OpenCORS("*"), Routes: []httpserver.Route{
		get("/sessions/{id}", echo("id")),
		get("/metrics", func(w http.ResponseWriter, r *http.Request) error { m.Handler().ServeHTTP(w, r); return nil }),
	}})
	do(t, s, "GET", "/sessions/1")
	do(t, s, "GET", "/sessions/2")
	do(t, s, "BREW", "/some/strange/path")
	do(t, s, "OPTIONS", "/sessions/1", "Origin: http://x", "Access-Control-Request-Method: GET")
	text := do(t, s, "GET", "/metrics").body
	for _, line := range []string{
		`castalia_http_requests_total{method="GET",route="/sessions/{id}",status="2xx",surface="oracle"} 2`,
		`castalia_http_requests_total{method="",route="(none)",status="4xx",surface="none"} 1`,
		`castalia_http_requests_total{method="",route="(none)",status="2xx",surface="oracle"} 1`,
		`castalia_http_request_duration_seconds_count{method="GET",route="/sessions/{id}",surface="oracle"} 2`,
		"castalia_http_requests_in_flight 1", // the one that asks
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	for _, strange := range []string{"BREW", "strange"} {
		if strings.Contains(text, strange) {
			t.Errorf("a client's %q became a label", strange)
		}
	}
}

func TestRoutesListsEverything(t *testing.T) {
	t.Parallel()
	s := newServer(t, httpserver.Config{}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{get("/x", echo())}})
	var got []string
	for _, r := range s.Routes() {
		got = append(got, r.Surface+" "+r.Method+" "+r.Pattern+" "+r.Auth.String())
	}
	want := []string{"docs GET /docs public", "docs GET /docs/ public", "docs GET /docs/{file} public", "docs GET /docs-json public", "a GET /x public"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if doc, err := s.OpenAPI(); err != nil || !json.Valid(doc) {
		t.Errorf("%v", err)
	}
}
