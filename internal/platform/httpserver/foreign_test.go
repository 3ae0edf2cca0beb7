package httpserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

func TestForeignHandlersFailInTheSurfacesManner(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		serve  http.HandlerFunc
		status int
		media  string
		body   string
	}{
		"an error": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Allow", "POST")
				http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
			},
			405, "application/json; charset=utf-8", `{"error":"method_not_allowed","message":"Method Not Allowed","status":405}`,
		},
		"a failure": {
			func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "db at 10.0.0.1 is away", http.StatusInternalServerError)
			},
			500, "application/json; charset=utf-8", `{"error":"internal","message":"Internal server error","status":500}`,
		},
		"an endless error": {
			func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, strings.Repeat("x", 400), http.StatusTeapot)
				_, _ = io.WriteString(w, strings.Repeat("x", 4000))
			},
			400, "application/json; charset=utf-8", `{"error":"invalid","message":"` + strings.Repeat("x", 400) + "\\n" + strings.Repeat("x", 99) + `","status":400}`,
		},
		"its own JSON": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, "{}")
			},
			409, "application/problem+json", "{}",
		},
		"text that is no error": {
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				_, _ = io.WriteString(w, "all is well")
			},
			200, "text/plain", "all is well",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := httpserver.New(httpserver.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Mount(httpserver.Surface{Name: "x", Errors: wordErrors, Routes: []httpserver.Route{
				{Method: "GET", Pattern: "/x", Auth: httpserver.Public, Handler: httpserver.FromHTTP(test.serve)},
			}}); err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/x", nil))
			if got := strings.TrimSpace(w.Body.String()); w.Code != test.status || got != test.body ||
				w.Header().Get("Content-Type") != test.media {
				t.Errorf("%d %s %s", w.Code, w.Header().Get("Content-Type"), got)
			}
			if w.Code == http.StatusMethodNotAllowed && w.Header().Get("Allow") != "POST" {
				t.Error("Allow is gone")
			}
		})
	}
}

func TestKindsAndStatuses(t *testing.T) {
	t.Parallel()
	for _, kind := range fault.Kinds() {
		if got := httpserver.KindOf(httpserver.Status(kind)); got != kind {
			t.Errorf("the kind of %d is %s, want %s", httpserver.Status(kind), got, kind)
		}
	}
	for status, want := range map[int]fault.Kind{
		418: fault.Invalid, 422: fault.Invalid, 502: fault.Unavailable,
		599: fault.Internal, 200: fault.Internal,
	} {
		if got := httpserver.KindOf(status); got != want {
			t.Errorf("the kind of %d is %s, want %s", status, got, want)
		}
	}
}
