package filestoredav_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// Of a read of few bytes most is what its queries cost: by WebDAV it has one, as by our
// own route, and the time that was said of the file comes with it.
func TestAReadIsOneQuery(t *testing.T) {
	t.Parallel()
	w, queries := statements(t)
	s := newSite(t, w)
	s.want(201, s.do("PUT", "/dav/f", "hello", "X-OC-Mtime: 1000000000"))
	queries.Store(0)
	if got := s.want(200, s.do("GET", "/dav/f", "")); got.body != "hello" || got.Header.Get("Last-Modified") != "Sun, 09 Sep 2001 01:46:40 GMT" {
		t.Errorf("read %q of %s", got.body, got.Header.Get("Last-Modified"))
	}
	if n := queries.Load(); n != 1 {
		t.Errorf("%d queries", n)
	}
	// What was said was said of a version.
	s.want(204, s.do("PUT", "/dav/f", "again"))
	if got := s.want(200, s.do("GET", "/dav/f", "")); got.body != "again" || strings.Contains(got.Header.Get("Last-Modified"), "2001") {
		t.Errorf("read %q of %s", got.body, got.Header.Get("Last-Modified"))
	}
}

// Whoever may only list sees folders, and of files that they are there.
func TestWhoMayListReadsNothing(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		s.want(201, s.do("MKCOL", "/dav/d", ""))
		s.want(201, s.do("PUT", "/dav/d/f", "hello"))
		lister := s.keyFor("lister", identitytest.Can("fs/list", alice.Home("")))
		if got := s.want(200, s.as(lister, "GET", "/dav/d", nil)); !strings.Contains(got.body, `href="/dav/d/f"`) {
			t.Errorf("the folder is %s", got.body)
		}
		s.want(403, s.as(lister, "GET", "/dav/d/f", nil))
		s.want(404, s.as(lister, "GET", "/dav/d/none", nil))
	})
}
