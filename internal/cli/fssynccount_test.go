package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Of files that are the same on both sides, sync asks for the listing, a page for each 200,
// and once for the folders that stay when they are empty, and sends and fetches nothing. It
// is so with 450 files as with 10,000.
func TestFSSyncOfEqualFilesIsOneListing(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	const files, pages = 450, 3
	for i := range files {
		s.file(fmt.Sprintf("src/%d/%d.txt", i%7, i), fmt.Sprint("content ", i))
	}
	src := filepath.Join(s.dir, "src")
	s.must("fs", "sync", src, "/m")

	var listings, folders, others, sent atomic.Int64
	to, err := url.Parse(strings.TrimPrefix(s.env[0], "CASTALIA_URL="))
	if err != nil {
		t.Fatal(err)
	}
	server := httputil.NewSingleHostReverseProxy(to)
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/.well-known/did.json": // to sign for the server
		case r.Method == http.MethodGet && r.URL.Path == "/api/fs/files":
			listings.Add(1)
		case r.Method == http.MethodGet && r.URL.Path == "/api/fs/folders": // the empty ones
			folders.Add(1)
		default:
			others.Add(1)
		}
		sent.Add(max(r.ContentLength, 0))
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	s.env = append([]string{"CASTALIA_URL=" + between.URL}, s.env[1:]...)
	for _, args := range [][]string{{src, "/m"}, {"--down", "/m", src}} {
		listings.Store(0)
		folders.Store(0)
		_, text, code := s.said(append([]string{"fs", "sync"}, args...)...)
		if code != 0 || !strings.Contains(text, fmt.Sprintf(" %d equal", files)) {
			t.Fatalf("sync %v: %d %s", args, code, text)
		}
		if n := listings.Load(); n != pages {
			t.Errorf("sync %v asked for %d pages, want %d", args, n, pages)
		}
		if n := folders.Load(); n != 1 {
			t.Errorf("sync %v asked %d times for folders, want once", args, n)
		}
	}
	if n := others.Load(); n != 0 {
		t.Errorf("%d other requests", n)
	}
	if n := sent.Load(); n != 0 {
		t.Errorf("%d bytes were sent", n)
	}
}
