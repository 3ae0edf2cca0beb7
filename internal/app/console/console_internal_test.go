package console

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

// What the build compressed is not compressed again, and comes as it is to who
// takes nothing else.
func TestConsoleServesWhatTheBuildCompressed(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"index.html":        {Data: []byte("page")},
		"assets/main.js":    {Data: []byte("plain")},
		"assets/main.js.br": {Data: []byte("brotli")},
		"assets/main.js.gz": {Data: []byte("gzip")},
		"assets/tiny.js":    {Data: []byte("tiny")},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /console/{path...}", func(w http.ResponseWriter, r *http.Request) {
		if err := serveConsole(w, r, files); err != nil {
			t.Error(err)
		}
	})
	for _, tc := range []struct{ file, accept, body, encoding, vary string }{
		{"main.js", "gzip, deflate, br, zstd", "brotli", "br", "Accept-Encoding"},
		{"main.js", "gzip, br;q=0", "gzip", "gzip", "Accept-Encoding"},
		{"main.js", "br;q=0, *", "gzip", "gzip", "Accept-Encoding"},
		{"main.js", "identity", "plain", "", "Accept-Encoding"},
		{"main.js", "", "plain", "", "Accept-Encoding"},
		{"tiny.js", "gzip, br", "tiny", "", ""},
	} {
		r := httptest.NewRequest(http.MethodGet, "/console/assets/"+tc.file, nil)
		r.Header.Set("Accept-Encoding", tc.accept)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		h := w.Header()
		if w.Body.String() != tc.body || h.Get("Content-Encoding") != tc.encoding || h.Get("Vary") != tc.vary {
			t.Errorf("%s for %q: %q %v", tc.file, tc.accept, w.Body, h)
		}
		if media := h.Get("Content-Type"); media != "text/javascript; charset=utf-8" {
			t.Errorf("%s for %q is %s", tc.file, tc.accept, media)
		}
	}
}
