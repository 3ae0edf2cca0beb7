package httpserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

func TestRouting(t *testing.T) {
	t.Parallel()
	s := newServer(t, httpserver.Config{}, httpserver.Surface{Name: "a", Routes: []httpserver.Route{
		get("/", echo()),
		get("/sessions", echo()),
		get("/sessions/{id}", echo("id")),
		route("POST", "/sessions/search", echo()),
		get("/sessions/{id}/messages/{message}", echo("id", "message")),
		get("/sessions/latest/messages/{message}", echo("message")),
		get("/files/{path...}", echo("path")),
		get("/files/special", echo()),
		get("/socket.io/", echo()),
		get("/x/{a}/{b}/{rest...}", echo("a", "b", "rest")),
	}})
	type values = map[string]any
	for _, tc := range []struct {
		method, path string
		want         values // nil: 404
	}{
		{"GET", "/", values{"pattern": "/"}},
		{"GET", "/sessions", values{"pattern": "/sessions"}},
		{"GET", "/sessions/", nil},
		{"GET", "//sessions", nil},
		{"GET", "/a/../sessions", nil},
		{"GET", "/sessions/$latest:1", values{"pattern": "/sessions/{id}", "id": "$latest:1"}},
		{"GET", "/sessions/%24latest%3A1", values{"pattern": "/sessions/{id}", "id": "$latest:1"}},
		{"GET", "/sessions/a%2Fb", values{"pattern": "/sessions/{id}", "id": "a/b"}},
		{"GET", "/sessions/a%2Fb%20c", values{"pattern": "/sessions/{id}", "id": "a/b c"}},
		{"GET", "/%73essions", values{"pattern": "/sessions"}},
		{"GET", "/sessions%2Fx", nil},
		// A literal of another method does not hide the name behind it.
		{"GET", "/sessions/search", values{"pattern": "/sessions/{id}", "id": "search"}},
		{"POST", "/sessions/search", values{"pattern": "/sessions/search"}},
		{"GET", "/sessions/latest", values{"pattern": "/sessions/{id}", "id": "latest"}},
		{"GET", "/sessions/latest/messages/1", values{"pattern": "/sessions/latest/messages/{message}", "message": "1"}},
		{"GET", "/sessions/x/messages/1", values{"pattern": "/sessions/{id}/messages/{message}", "id": "x", "message": "1"}},
		{"GET", "/files/special", values{"pattern": "/files/special"}},
		{"GET", "/files/special/more", values{"pattern": "/files/{path...}", "path": "special/more"}},
		{"GET", "/files/", values{"pattern": "/files/{path...}", "path": ""}},
		{"GET", "/files", nil},
		{"GET", "/files/a%2Fb/c", values{"pattern": "/files/{path...}", "path": "a/b/c"}},
		{"GET", "/socket.io/", values{"pattern": "/socket.io/"}},
		{"GET", "/socket.io", nil},
		{"GET", "/x/1/2/3/4", values{"pattern": "/x/{a}/{b}/{rest...}", "a": "1", "b": "2", "rest": "3/4"}},
		{"GET", "/x//2/3", nil},
	} {
		a := do(t, s, tc.method, tc.path)
		if tc.want == nil {
			if a.StatusCode != http.StatusNotFound {
				t.Errorf("%s %s: got %d, want 404", tc.method, tc.path, a.StatusCode)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, a.json(t)); diff != "" {
			t.Errorf("%s %s: %s", tc.method, tc.path, diff)
		}
	}
}

func TestHeadIsServedByGet(t *testing.T) {
	t.Parallel()
	stream := get("/stream", echo())
	stream.Stream = true
	s := newServer(t, httpserver.Config{},
		httpserver.Surface{Name: "a", Routes: []httpserver.Route{get("/a", echo()), stream}})
	for path, want := range map[string]int{"/a": http.StatusOK, "/stream": http.StatusMethodNotAllowed} {
		if a := do(t, s, "HEAD", path); a.StatusCode != want {
			t.Errorf("HEAD %s: got %d", path, a.StatusCode)
		}
	}
	a := do(t, s, "OPTIONS", "/a")
	if a.StatusCode != http.StatusNoContent || a.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("OPTIONS: got %d, Allow %q", a.StatusCode, a.Header.Get("Allow"))
	}
}

func TestMountRefuses(t *testing.T) {
	t.Parallel()
	ok := echo()
	for name, tc := range map[string]struct {
		surface httpserver.Surface
		want    string
	}{
		"two owners": {
			httpserver.Surface{Name: "late", Routes: []httpserver.Route{get("/a/{y}", ok)}},
			"GET /a/{y} of late is already served by early as /a/{x}",
		},
		"twice in one surface": {httpserver.Surface{Name: "s", Routes: []httpserver.Route{get("/b", ok), get("/b", ok)}}, "already served by s"},
		"no auth": {httpserver.Surface{
			Name: "s", Routes: []httpserver.Route{{Method: "GET", Pattern: "/c", Handler: ok}},
		}, "who may call it"},
		"no handler": {httpserver.Surface{Name: "s", Routes: []httpserver.Route{get("/c", nil)}}, "no handler"},
		"nobody authenticates": {httpserver.Surface{
			Name: "s", Routes: []httpserver.Route{{Method: "GET", Pattern: "/c", Auth: httpserver.Principal, Handler: ok}},
		}, "nothing on its surface authenticates"},
		"rest in the middle": {httpserver.Surface{Name: "s", Routes: []httpserver.Route{get("/c/{a...}/d", ok)}}, "not the last"},
		"same name twice":    {httpserver.Surface{Name: "s", Routes: []httpserver.Route{get("/c/{a}/{a}", ok)}}, "occurs twice"},
		"half a name":        {httpserver.Surface{Name: "s", Routes: []httpserver.Route{get("/c/x{a}", ok)}}, "neither literal nor"},
		"no slash":           {httpserver.Surface{Name: "s", Routes: []httpserver.Route{get("c", ok)}}, "slash"},
		"lower-case method":  {httpserver.Surface{Name: "s", Routes: []httpserver.Route{route("get", "/c", ok)}}, "upper-case"},
		"unnamed surface":    {httpserver.Surface{Routes: []httpserver.Route{get("/c", ok)}}, "no name"},
		"parameter of elsewhere": {httpserver.Surface{
			Name: "s",
			Routes: []httpserver.Route{{
				Method: "GET", Pattern: "/c", Auth: httpserver.Public, Handler: ok,
				Params: []httpserver.Param{{Name: "id", In: "path"}},
			}},
		}, `"id" is not in the pattern`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, httpserver.Config{},
				httpserver.Surface{Name: "early", Routes: []httpserver.Route{get("/a/{x}", ok)}})
			err := s.Mount(tc.surface)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestDynamicOwners(t *testing.T) {
	t.Parallel()
	served := map[string]bool{"cosmos": true, "sessions": true}
	s := newServer(t, httpserver.Config{}, httpserver.Surface{
		Name: "query", Prefixes: []string{"/query"}, Errors: wordErrors,
		Dynamic: &httpserver.Dynamic{
			Claims: func(segment string) bool { return served[segment] },
			Route:  httpserver.Route{Auth: httpserver.Public, Handler: echo()},
		},
	}, httpserver.Surface{Name: "oracle", Routes: []httpserver.Route{get("/sessions", echo())}})

	for path, want := range map[string]int{
		"/cosmos/bank": 200, "/query/x": 200, "/ixo/did": 404,
		"/queryx":        404,
		"/sessions/else": 200, // claimed: no fixed route is there
	} {
		if a := do(t, s, "GET", path); a.StatusCode != want {
			t.Errorf("GET %s: got %d, want %d", path, a.StatusCode, want)
		}
	}
	if got := do(t, s, "GET", "/sessions").json(t)["pattern"]; got != "/sessions" {
		t.Errorf("a fixed path was served by %v", got)
	}
	if a := do(t, s, "POST", "/sessions"); a.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST on a fixed path: got %d, want 405", a.StatusCode)
	}
	served["ixo"] = true // rediscovered
	if a := do(t, s, "GET", "/ixo/did"); a.StatusCode != http.StatusOK {
		t.Errorf("a new prefix is not served: %d", a.StatusCode)
	}
}
