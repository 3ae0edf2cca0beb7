package httpserver_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
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
		Name: "files", Prefixes: []string{"/api/fs"}, Errors: httpserver.FilesErrors,
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
