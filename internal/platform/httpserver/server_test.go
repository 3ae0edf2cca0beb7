package httpserver_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/telemetry"
)

// echo answers with the values of the path.
func echo(names ...string) httpserver.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		values := map[string]string{"pattern": routePattern(r)}
		for _, n := range names {
			values[n] = r.PathValue(n)
		}
		return httpserver.WriteJSON(w, http.StatusOK, values)
	}
}

func routePattern(r *http.Request) string {
	m, _ := httpserver.RouteOf(r.Context())
	return m.Pattern
}

func get(pattern string, h httpserver.Handler) httpserver.Route {
	return route(http.MethodGet, pattern, h)
}

func route(method, pattern string, h httpserver.Handler) httpserver.Route {
	return httpserver.Route{Method: method, Pattern: pattern, Auth: httpserver.Public, Handler: h}
}

func newServer(t *testing.T, cfg httpserver.Config, surfaces ...httpserver.Surface) *httpserver.Server {
	t.Helper()
	s, err := httpserver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, sf := range surfaces {
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

// do sends one request through the handler, headers given as "Name: value".
func do(t *testing.T, h http.Handler, method, target string, headers ...string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Result(), w.Body.String()}
}

func TestErrorsAreWrittenByTheSurface(t *testing.T) {
	t.Parallel()
	fail := func(http.ResponseWriter, *http.Request) error { return errors.New("disk on fire") }
	s := newServer(t, httpserver.Config{}, httpserver.Surface{
		Name: "files", Prefixes: []string{"/api/fs"}, Errors: wordErrors,
		Routes: []httpserver.Route{get("/api/fs/broken", fail)},
	}, httpserver.Surface{Name: "oracle", Routes: []httpserver.Route{
		get("/sessions", func(http.ResponseWriter, *http.Request) error {
			return fault.New(fault.NotFound, "Session not found")
		}),
		get("/panic", func(http.ResponseWriter, *http.Request) error { panic("oh") }),
	}})
	for _, tc := range []struct{ method, path, want string }{
		{"GET", "/api/fs/broken", `{"error":"internal","message":"Internal server error","status":500}`},
		{"GET", "/api/fs/none", `{"error":"not_found","message":"Cannot GET /api/fs/none","status":404}`},
		{"GET", "/nope", `{"error":"Not Found","message":"Cannot GET /nope","statusCode":404}`},
		{"GET", "/sessions", `{"error":"Not Found","message":"Session not found","statusCode":404}`},
		{"POST", "/sessions", `{"error":"Method Not Allowed","message":"Cannot POST /sessions","statusCode":405}`},
		{"POST", "/api/fs/broken", `{"error":"method_not_allowed","message":"Cannot POST /api/fs/broken","status":405}`},
		{"GET", "/panic", `{"message":"Internal server error","statusCode":500}`},
	} {
		a := do(t, s, tc.method, tc.path)
		if a.body != tc.want {
			t.Errorf("%s %s: got %s, want %s", tc.method, tc.path, a.body, tc.want)
		}
		if a.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s: no request id", tc.method, tc.path)
		}
		if a.StatusCode == http.StatusMethodNotAllowed && a.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("%s %s: Allow is %q", tc.method, tc.path, a.Header.Get("Allow"))
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics()
	s := newServer(t, httpserver.Config{Metrics: m}, httpserver.Surface{
		Name: "oracle", CORS: httpserver.OpenCORS("*"),
		Routes: []httpserver.Route{
			get("/sessions/{id}", echo("id")),
			get("/metrics", func(w http.ResponseWriter, r *http.Request) error { m.Handler().ServeHTTP(w, r); return nil }),
		},
	})
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
	want := []string{"a GET /x public"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
