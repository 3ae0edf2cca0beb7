package apidocs_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/castalia-org/castalia/internal/platform/apidocs"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
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

func nothing(http.ResponseWriter, *http.Request) error { return nil }

func newServer(t *testing.T, opt apidocs.Options, surfaces ...httpserver.Surface) *httpserver.Server {
	t.Helper()
	s, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, sf := range append([]httpserver.Surface{apidocs.Surface(opt, s.Surfaces)}, surfaces...) {
		if err := s.Mount(sf); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

type answer struct {
	*http.Response
	body string
}

func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(a.body), &m); err != nil {
		t.Fatalf("body %q is not a JSON object: %v", a.body, err)
	}
	return m
}

// get sends one request through the handler, headers given as "Name: value".
func get(t *testing.T, h http.Handler, target string, headers ...string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Result(), w.Body.String()}
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	version := uint64(1)
	s := newServer(t, apidocs.Options{Title: "Test", Version: "1.2.3"}, httpserver.Surface{
		Name: "oracle", Doc: "Talk.", Authenticate: func(h httpserver.Handler) httpserver.Handler { return h },
		Routes: []httpserver.Route{
			{
				Method: "POST", Pattern: "/sessions/{id}/{rest...}", Auth: httpserver.Principal, Handler: nothing, Summary: "Say", Body: session{},
				Params: []httpserver.Param{{Name: "limit", In: "query", Schema: 0, Doc: "how many"}},
				Replies: []httpserver.Reply{
					{Status: 200, Body: []session{}},
					{Status: 200, Media: "text/event-stream"},
					{Status: 404, Doc: "None"},
				},
			},
			{
				Method: "GET", Pattern: "/tree", Auth: httpserver.Public, Handler: nothing,
				Replies: []httpserver.Reply{{Status: 200, Body: node{}}},
			},
			{Method: "GET", Pattern: "/hidden", Auth: httpserver.Public, Handler: nothing, Hidden: true},
		},
	}, httpserver.Surface{Name: "query", Dynamic: &httpserver.Dynamic{
		Route:   httpserver.Route{Auth: httpserver.Public, Handler: nothing},
		Version: func() uint64 { return version },
		Paths: func() (paths, schemas map[string]any) {
			item := map[string]any{"get": map[string]any{"summary": "dynamic", "version": version}}
			return map[string]any{"/cosmos/x": item, "/tree": item}, map[string]any{"Coin": map[string]any{"type": "object"}}
		},
	}})
	read := func() any {
		a := get(t, s, "/docs-json")
		if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Etag"), "W/") {
			t.Fatalf("got %d, ETag %q", a.StatusCode, a.Header.Get("Etag"))
		}
		if again := get(t, s, "/docs-json", "If-None-Match: "+a.Header.Get("Etag")); again.StatusCode != http.StatusNotModified {
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
	if at(t, op, "responses", "200", "content", "text/event-stream") == nil ||
		at(t, op, "responses", "200", "content", "application/json", "schema", "items", "$ref") != "#/components/schemas/Session" {
		t.Errorf("replies: %v", at(t, op, "responses"))
	}
	if at(t, op, "x-auth") != "principal" || len(at(t, op, "security").([]any)) != 2 {
		t.Errorf("security: %v", at(t, op, "security"))
	}
	if tags := at(t, doc, "tags").([]any); len(tags) != 2 || at(t, tags[0], "name") != "oracle" ||
		at(t, tags[0], "description") != "Talk." || at(t, tags[1], "name") != "Documentation" {
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
	s := newServer(t, apidocs.Options{})
	for path, media := range map[string]string{
		"/docs": "text/html", "/docs/": "text/html", "/docs/docs.js": "text/javascript", "/docs/dom.js": "text/javascript",
		"/docs/operation.js": "text/javascript", "/docs/credentials.js": "text/javascript", "/docs/snippets.js": "text/javascript", "/docs/docs.css": "text/css", "/docs/mark.svg": "image/svg+xml",
	} {
		a := get(t, s, path)
		if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), media) {
			t.Errorf("%s: got %d %s", path, a.StatusCode, a.Header.Get("Content-Type"))
		}
		for _, foreign := range []string{"//cdn", "https://", "http://localhost", "<script>", "style=", "onclick="} {
			if strings.Contains(a.body, foreign) {
				t.Errorf("%s has %q in it", path, foreign)
			}
		}
	}
	for _, path := range []string{"/docs/none.js", "/docs/..%2Fapidocs.go", "/docs/%2e%2e", "/docs/index", "/docs/a/b"} {
		if a := get(t, s, path); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got %d", path, a.StatusCode)
		}
	}
}

// The documentation is mounted as others are, so nobody can take its path.
func TestDocsOwnTheirPaths(t *testing.T) {
	t.Parallel()
	s := newServer(t, apidocs.Options{})
	err := s.Mount(httpserver.Surface{Name: "s", Routes: []httpserver.Route{
		{Method: "GET", Pattern: "/docs-json", Auth: httpserver.Public, Handler: nothing},
	}})
	if err == nil || !strings.Contains(err.Error(), "already served by docs") {
		t.Errorf("got %v", err)
	}
}

// Only the page may do anything at all, such as to be styled.
func TestDocsSecurityHeaders(t *testing.T) {
	t.Parallel()
	s := newServer(t, apidocs.Options{})
	for path, page := range map[string]bool{"/docs": true, "/docs-json": false} {
		h := get(t, s, path).Header
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Server") != "" {
			t.Errorf("%s: got %v", path, h)
		}
		policy := h.Get("Content-Security-Policy")
		if page != strings.Contains(policy, "style-src") || !strings.Contains(policy, "default-src 'none'") ||
			!strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s has policy %q", path, policy)
		}
	}
}

type order struct {
	ThreadID string          `json:"threadId"`
	UserDID  string          `json:"userDid"`
	Path     string          `json:"path"`
	Limit    int             `json:"limit"`
	Expires  time.Time       `json:"expiresAt"`
	Lines    []session       `json:"lines"`
	Extra    json.RawMessage `json:"extra,omitempty"`
	Note     *string         `json:"note,omitempty"`
}

// Every example fits the schema beside it, requests have what is required, answers all.
func TestExamplesFitTheirTypes(t *testing.T) {
	t.Parallel()
	s := newServer(t, apidocs.Options{}, httpserver.Surface{
		Name: "shop", Right: httpserver.RightFiles, Authenticate: func(h httpserver.Handler) httpserver.Handler { return h },
		Routes: []httpserver.Route{{
			Method: "POST", Pattern: "/orders/{rest...}", Auth: httpserver.Principal, Handler: nothing, Body: order{},
			Params:  []httpserver.Param{{Name: "limit", In: "query", Schema: 0}, {Name: "mark", In: "header", Example: "mine"}},
			Replies: []httpserver.Reply{{Status: 200, Body: order{}}, {Status: 404, Body: node{}}},
		}, {
			Method: "PUT", Pattern: "/orders", Auth: httpserver.Operator, Handler: nothing, Body: order{},
			Example: map[string]any{"given": true},
		}},
	})
	doc := get(t, s, "/docs-json").json(t)
	op := at(t, doc, "paths", "/orders/{rest}", "post")
	examples := map[string]any{}
	for _, p := range at(t, op, "parameters").([]any) {
		examples[at(t, p, "name").(string)] = at(t, p, "example")
	}
	if diff := cmp.Diff(map[string]any{"limit": 20.0, "mark": "mine", "rest": "text"}, examples); diff != "" {
		t.Error(diff)
	}
	request := at(t, op, "requestBody", "content", "application/json", "example")
	if diff := cmp.Diff(map[string]any{
		"threadId": "example-id", "userDid": "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
		"path": "/notes/hello.txt", "limit": 20.0, "expiresAt": "2036-01-31T09:30:00Z",
		"lines": []any{map[string]any{"sessionId": "example-session", "createdAt": "2026-01-31T09:30:00Z"}},
	}, request); diff != "" {
		t.Error(diff)
	}
	answer := at(t, op, "responses", "200", "content", "application/json", "example")
	if at(t, answer, "note") != "text" || at(t, answer, "lines").([]any)[0].(map[string]any)["title"] == nil {
		t.Errorf("the answer leaves something out: %v", answer)
	}
	text, err := json.Marshal(at(t, doc, "components", "schemas", "Order"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, example := range map[string]any{"request": request, "answer": answer} {
		if err := resolved.Validate(example); err != nil {
			t.Errorf("the %s does not fit: %v", name, err)
		}
	}
	put := at(t, doc, "paths", "/orders", "put")
	given := at(t, put, "requestBody", "content", "application/json", "example", "given")
	if given != true || at(t, put, "x-right") != "operator" ||
		at(t, op, "x-right") != "files" {
		t.Errorf("what the route gives itself is not shown: %v", put)
	}
}

// The document says which role a route wants, as the router judges it.
func TestOperatorsRoutesSayTheirRole(t *testing.T) {
	t.Parallel()
	quiet := func(http.ResponseWriter, *http.Request) error { return nil }
	routes := []httpserver.Route{
		{Method: http.MethodGet, Pattern: "/looks", Auth: httpserver.Operator, Handler: quiet},
		{Method: http.MethodPost, Pattern: "/asks", Asks: true, Auth: httpserver.Operator, Handler: quiet},
		{Method: http.MethodPost, Pattern: "/changes", Auth: httpserver.Operator, Handler: quiet},
		{Method: http.MethodGet, Pattern: "/secret", Auth: httpserver.Operator, Role: httpserver.Changer, Handler: quiet},
		{Method: http.MethodPut, Pattern: "/owns", Auth: httpserver.Operator, Role: httpserver.Owner, Handler: quiet},
		{Method: http.MethodPost, Pattern: "/depends", Auth: httpserver.Operator, InnerRole: httpserver.Owner, Handler: quiet},
		{Method: http.MethodGet, Pattern: "/mine", Auth: httpserver.Principal, Handler: quiet},
	}
	raw, err := apidocs.OpenAPI(apidocs.Options{}, []httpserver.Surface{{Name: "things", Routes: routes}})
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Role string `json:"x-role"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/looks": "viewer", "/asks": "viewer", "/changes": "operator", "/secret": "operator", "/owns": "owner",
		"/depends": "owner", "/mine": "",
	} {
		for verb, op := range doc.Paths[path] {
			if op.Role != want {
				t.Errorf("%s %s wants %q, and the document says %q", verb, path, want, op.Role)
			}
		}
		if len(doc.Paths[path]) != 1 {
			t.Errorf("%s is not in the document", path)
		}
	}
}
