package httpserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
)

// Every table has an answer for every kind, and none shows the cause.
func TestEveryKindHasItsStatus(t *testing.T) {
	t.Parallel()
	seen := map[int]fault.Kind{}
	for _, kind := range fault.Kinds() {
		status := httpserver.Status(kind)
		if other, twice := seen[status]; twice {
			t.Errorf("%s and %s are both %d", kind, other, status)
		}
		seen[status] = kind
		w := httptest.NewRecorder()
		err := fault.Wrap(kind, "shown", errors.New("hidden")).WithRetryAfter(1500*time.Millisecond).WithField("extra", 7)
		httpserver.NestErrors(w, nil, fmt.Errorf("outer: %w", err))
		a := answer{w.Result(), w.Body.String()}
		body := a.json(t)
		if a.StatusCode != status || body["statusCode"] != float64(status) || body["message"] != "shown" ||
			body["extra"] != float64(7) || a.Header.Get("Retry-After") != "2" {
			t.Errorf("%s: got %d %v %s", kind, a.StatusCode, a.Header, a.body)
		}
		if strings.Contains(a.body, "hidden") || a.Header.Get("Content-Type") != "application/json; charset=utf-8" {
			t.Errorf("%s: %s %s", kind, a.Header.Get("Content-Type"), a.body)
		}
	}
}

// wordErrors is a table that a surface brings itself.
func wordErrors(w http.ResponseWriter, _ *http.Request, err error) {
	e := fault.From(err)
	httpserver.WriteFault(w, e,
		map[string]any{"error": e.Kind.String(), "message": e.Message, "status": httpserver.Status(e.Kind)})
}

// Nobody who is still there hears that they have left.
func TestWorkThatIsCutShortIsNotTheClientsDeparture(t *testing.T) {
	t.Parallel()
	server := newServer(t, httpserver.Config{},
		httpserver.Surface{
			Name: "x",
			Routes: []httpserver.Route{get("/x", func(_ http.ResponseWriter, r *http.Request) error {
				ctx, cancel := context.WithCancel(r.Context())
				cancel()
				return fmt.Errorf("work: %w", ctx.Err())
			})},
		})
	if a := do(t, server, "GET", "/x"); a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

func TestErrorFields(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"validation": {
			fault.New(fault.Invalid, "x").WithField("message", []string{"message should not be empty", "property foo should not exist"}),
			`{"error":"Bad Request","message":["message should not be empty","property foo should not exist"],"statusCode":400}`,
		},
		"payment": {
			fault.New(fault.PaymentRequired, "Pay first").WithField("claims", []string{"1"}).WithField("outstandingClaims", []string{"1"}),
			`{"claims":["1"],"error":"Payment Required","message":"Pay first","outstandingClaims":["1"],"statusCode":402}`,
		},
		"credential": {fault.New(fault.Unauthenticated, "Invalid UCAN invocation"), `{"message":"Invalid UCAN invocation","statusCode":401}`},
		"html":       {fault.New(fault.Invalid, "<b> & Authorization: Bearer <invocation>"), `{"error":"Bad Request","message":"<b> & Authorization: Bearer <invocation>","statusCode":400}`},
	} {
		w := httptest.NewRecorder()
		httpserver.NestErrors(w, nil, tc.err)
		if got := w.Body.String(); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

// A private cause is logged once, with the request's id, and never sent.
func TestCausesAreLoggedOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newServer(t, httpserver.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))},
		httpserver.Surface{Name: "a", Routes: []httpserver.Route{
			get("/fail", func(http.ResponseWriter, *http.Request) error { return errors.New("disk on fire") }),
			get("/panic", func(http.ResponseWriter, *http.Request) error { panic("cat on keyboard") }),
			get("/share/{secret}", func(http.ResponseWriter, *http.Request) error { return fault.New(fault.NotFound, "gone") }),
		}})
	for path, cause := range map[string]string{"/fail": "disk on fire", "/panic": "cat on keyboard"} {
		log.Reset()
		a := do(t, s, "GET", path, "X-Request-Id: the-id")
		if strings.Contains(a.body, cause) {
			t.Errorf("%s: the answer shows the cause: %s", path, a.body)
		}
		if n := strings.Count(log.String(), cause); n != 1 {
			t.Errorf("%s: the cause is logged %d times:\n%s", path, n, log.String())
		}
		if n := strings.Count(log.String(), "request_id=the-id"); n != 2 {
			t.Errorf("%s: the id is in %d lines, want the cause's and the request's:\n%s", path, n, log.String())
		}
	}
	log.Reset()
	do(t, s, "GET", "/share/b1946ac92492d2347c6235b4d2611184?token=hunter2", "Authorization: Bearer hunter3")
	got := log.String()
	for _, secret := range []string{"92492d23", "hunter"} {
		if strings.Contains(got, secret) {
			t.Errorf("the log has %q in it: %s", secret, got)
		}
	}
	do(t, s, "GET", "/sharing/b1946ac92492d2347c6235b4d26111841234")
	if got := log.String(); !strings.Contains(got, "path=/sharing/b194…") || strings.Contains(got, "92492d23") {
		t.Errorf("a path without a route is logged as %s", got)
	}
	for _, part := range []string{"route=/share/{secret}", "path=/share/b194…", "status=404", "method=GET"} {
		if !strings.Contains(got, part) {
			t.Errorf("the log lacks %q: %s", part, got)
		}
	}
}

// TestPathsThatNobodyDeclaredAreMasked asks for the secret of a link by other ways than its own.
func TestPathsThatNobodyDeclaredAreMasked(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newServer(t,
		httpserver.Config{Logger: slog.New(slog.NewTextHandler(&log,
			&slog.HandlerOptions{Level: slog.LevelDebug}))}, httpserver.Surface{
			Name: "a", Prefixes: []string{"/s"}, Routes: []httpserver.Route{{
				Method: http.MethodGet, Pattern: "/s/{secret}", Auth: httpserver.Public, Limit: httpserver.LimitPages,
				Handler: func(http.ResponseWriter, *http.Request) error { return nil },
			}},
		})
	for _, secret := range []string{"oo2wcj7yamfzvkjiimbkuly3zlrlhl2r", "BHDEOUTCRNVRDNAPKQBTWZDTVA", "254711223344", "%2B254711223344", "0711223344"} {
		for _, ask := range [][2]string{{"DELETE", "/s/"}, {"PROPFIND", "/s/"}, {"GET", "/S/"}, {"GET", "/prefix/s/"}, {"GET", "/s/words/"}} {
			log.Reset()
			do(t, s, ask[0], ask[1]+secret)
			if got := log.String(); !strings.Contains(got, "path=/") || strings.Contains(got, strings.TrimPrefix(secret, "%2B")) {
				t.Errorf("%s %s is logged as %s", ask[0], ask[1]+secret, got)
			}
		}
	}
	log.Reset()
	do(t, s, "GET", "/well-known/change-password/v1beta1")
	if got := log.String(); !strings.Contains(got, "path=/well-known/change-password/v1beta1") {
		t.Errorf("words are logged as %s", got)
	}
}

type teapot struct{ error }

// A surface's table sees the error that the handler returned, not what the
// server made of it.
func TestSurfacesSeeTheirOwnErrors(t *testing.T) {
	t.Parallel()
	s := newServer(t, httpserver.Config{}, httpserver.Surface{
		Name: "a",
		Errors: func(w http.ResponseWriter, _ *http.Request, err error) {
			if _, ok := errors.AsType[teapot](err); ok {
				w.WriteHeader(http.StatusTeapot)
			}
		},
		Routes: []httpserver.Route{get("/tea", func(http.ResponseWriter, *http.Request) error {
			return fmt.Errorf("brew: %w", teapot{errors.New("short and stout")})
		})},
	})
	if a := do(t, s, "GET", "/tea"); a.StatusCode != http.StatusTeapot {
		t.Errorf("got %d", a.StatusCode)
	}
}

// Errors are in English, whatever language the page was to be in.
func TestErrorsAreInNoOtherLanguage(t *testing.T) {
	t.Parallel()
	server := newServer(t, httpserver.Config{}, httpserver.Surface{
		Name: "x",
		Routes: []httpserver.Route{get("/x", func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Language", "sw")
			return fault.New(fault.NotFound, "There is no such page.")
		})},
	})
	a := do(t, server, http.MethodGet, "/x")
	if language := a.Header.Values("Content-Language"); a.StatusCode != http.StatusNotFound || len(language) != 0 {
		t.Errorf("%d in %v: %s", a.StatusCode, language, a.body)
	}
}
