package pluginhttp

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestRemote(t *testing.T) {
	t.Parallel()
	var seen *http.Request
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		switch r.URL.Query().Get("do") {
		case "redirect":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "busy":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case "large":
			_, _ = w.Write([]byte(`"` + strings.Repeat("x", maxRemote) + `"`))
		case "nonsense":
			_, _ = w.Write([]byte(`<html>`))
		default:
			_, _ = w.Write([]byte(`"fine"`))
		}
	}))
	t.Cleanup(web.Close)
	r, err := NewRemote(web.URL+"/base", http.Header{"Authorization": {"Bearer x"}})
	if err != nil {
		t.Fatal(err)
	}
	var out string
	if err := r.Do(t.Context(), Call{Method: http.MethodGet, Path: []string{"a/b"}}, &out); err != nil || out != "fine" ||
		seen.URL.EscapedPath() != "/base/a%2Fb" || seen.Header.Get("Authorization") != "Bearer x" {
		t.Errorf("%v %q %s", err, out, seen.URL)
	}
	for do, status := range map[string]int{
		"redirect": http.StatusFound, "busy": http.StatusTooManyRequests, "large": 0,
		"nonsense": 0,
	} {
		err := r.Do(t.Context(), Call{Method: http.MethodGet, Query: url.Values{"do": {do}}}, &out)
		e, ok := errors.AsType[*StatusError](err)
		if err == nil || ok != (status != 0) || ok && e.Status != status || do == "busy" && e.RetryAfter != 7*time.Second ||
			seen.URL.Path == "/elsewhere" {
			t.Errorf("%s: %v", do, err)
		}
	}
	for _, address := range []string{"", "x", "ftp://a", "https://u:p@a", "https://a?b", "https://a#b", "https://"} {
		if _, err := NewRemote(address, nil); err == nil {
			t.Errorf("%q was taken", address)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "5": 5 * time.Second, " 0 ": 0, "-5": 0, "soon": 0, "99999999": maxRetryAfter, "99999999999999999999": 0,
		"Sun, 15 Nov 2026 12:00:30 GMT": 30 * time.Second, "Sun, 15 Nov 2026 11:00:00 GMT": 0,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {text}}, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
