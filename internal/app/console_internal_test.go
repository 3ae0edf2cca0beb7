package app

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"
)

// A reload works wherever the page is, also in a folder with a dot in its name;
// a file that the build does not have is no page.
func TestConsoleIsServedWherePagesAre(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"index.html":      {Data: []byte("<!doctype html>page")},
		"icon.svg":        {Data: []byte("<svg/>")},
		"assets/main.css": {Data: []byte("a{}")},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /console/{path...}", func(w http.ResponseWriter, r *http.Request) {
		if err := serveConsole(w, r, files); err != nil {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	for path, want := range map[string]string{
		"":                            "<!doctype html>page",
		"files":                       "<!doctype html>page",
		"files/Reports%202026":        "<!doctype html>page",
		"files/v1.0":                  "<!doctype html>page",
		"files/a/b.c/d.txt":           "<!doctype html>page",
		"operator/sessions/ATUid_1.2": "<!doctype html>page",
		"icon.svg":                    "<svg/>",
		"assets/main.css":             "a{}",
		"assets/old.js":               "",
		"favicon.ico":                 "",
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/console/"+path, nil))
		if got := w.Body.String(); got != want || (w.Code == http.StatusOK) != (want != "") {
			t.Errorf("%q: %d %q, not %q", path, w.Code, got, want)
		}
	}
}
