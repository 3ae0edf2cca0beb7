package plainlinkhttp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
	"github.com/castalia-org/castalia/internal/service/filestore/plainlink/plainlinkhttp"
)

var nonce atomic.Int64

const browser = "text/html,application/xhtml+xml,*/*;q=0.8"

type site struct {
	t   *testing.T
	w   *filestoretest.World
	url string
}

func newSite(t *testing.T, w *filestoretest.World) *site {
	t.Helper()
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, surface := range []httpserver.Surface{
		filestorehttp.Surface(w.Service,
			filestorehttp.Deps{Folders: w.Folders, Authenticate: identityhttp.Wrap(identitytest.New(t), identity.Files)}),
		plainlinkhttp.Surface(w.Service, plainlinkhttp.Deps{Folders: w.Folders, Admit: func(context.Context, string) error {
			return nil
		}}),
	} {
		if err := server.Mount(surface); err != nil {
			t.Fatal(err)
		}
	}
	ts := httptest.NewServer(server)
	t.Cleanup(ts.Close)
	return &site{t, w, ts.URL}
}

// do sends a request, as Alice where a token is needed, and fails on another status.
func (s *site) do(status int, method, target, accept, body string, header ...string) (string, http.Header) {
	s.t.Helper()
	if !strings.HasPrefix(target, "http") {
		target = s.url + target
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if strings.Contains(target, "/api/") {
		once := identitytest.Nonce(strconv.FormatInt(nonce.Add(1), 10))
		r.Header.Set("Authorization", "Bearer "+identitytest.Files(s.t, identitytest.Alice, identitytest.Oracle.DID, "*", once))
		r.Header.Set("X-Auth-Type", "ucan")
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		s.t.Fatalf("%s %s: %d, want %d: %s %v", method, target, res.StatusCode, status, b, err)
	}
	return string(b), res.Header
}

func (s *site) link(body string) filestorehttp.PlainLink {
	s.t.Helper()
	text, _ := s.do(201, "POST", "/api/fs/shares/plain", "", body)
	var made filestorehttp.PlainLink
	if err := json.Unmarshal([]byte(text), &made); err != nil || !made.Plain {
		s.t.Fatalf("%s: %v", text, err)
	}
	return made
}

// The same address is a page for people and the file for programs; downloads count
// and pages do not, and a link that is used up is over for both.
func TestALinkForBrowsersAndPrograms(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		w.MustPut(t, identitytest.Alice.DID, "/d/a <b>.txt", "the text")
		l := s.link(`{"path":"/d/a <b>.txt","maxUses":2}`)
		if !strings.HasSuffix(l.URL, "/a%20%3Cb%3E.txt") {
			t.Errorf("curl -O would save it as %s", l.URL)
		}
		page, h := s.do(200, "GET", l.URL, browser, "")
		if !strings.Contains(page, "a &lt;b&gt;.txt") || !strings.Contains(page, "Everybody who has this address") || !strings.Contains(page, "2 more download") ||
			strings.Contains(page, "<script") || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%v\n%s", h, page)
		}
		s.do(200, "HEAD", l.URL, "", "")
		if text, _ := s.do(200, "GET", l.URL, "*/*", ""); text != "the text" {
			t.Errorf("curl gets %q", text)
		}
		if text, _ := s.do(200, "GET", l.URL+"?dl=1", browser, ""); text != "the text" {
			t.Errorf("the button gives %q", text)
		}
		if page, _ := s.do(410, "GET", l.URL, browser, ""); !strings.Contains(page, "it is used up") {
			t.Errorf("a used-up link shows\n%s", page)
		}
		s.do(410, "GET", l.URL, "*/*", "")
		if list, _ := s.do(200, "GET", "/api/fs/shares", "", ""); !strings.Contains(list, `"state":"used up"`) || strings.Contains(list, `"url"`) {
			t.Errorf("listed as %s", list)
		}
	})
}

func TestALinkToAFolder(t *testing.T) {
	t.Parallel()
	filestoretest.Each(t, func(t *testing.T, w *filestoretest.World) {
		s := newSite(t, w)
		alice := identitytest.Alice.DID
		w.MustPut(t, alice, "/d/one.txt", "1")
		w.MustPut(t, alice, "/d/sub/two.txt", "22")
		w.MustPut(t, alice, "/d/.hidden", "no")
		w.MustPut(t, alice, "/dd/other", "no")
		l := s.link(`{"path":"/d"}`)
		page, _ := s.do(200, "GET", l.URL, browser, "")
		if !strings.Contains(page, "one.txt") || !strings.Contains(page, "/sub/") || strings.Contains(page, "hidden") ||
			strings.Contains(page, "other") {
			t.Errorf("\n%s", page)
		}
		base := l.URL
		if page, _ := s.do(200, "GET", base+"/sub/", browser, ""); !strings.Contains(page,
			`href="`+base[strings.Index(base, "/s/"):]+`/">↑ d</a>`) {
			t.Errorf("no way back:\n%s", page)
		}
		if text, _ := s.do(200, "GET", base+"/sub/two.txt", "*/*", ""); text != "22" {
			t.Errorf("below: %q", text)
		}
		for _, bad := range []string{"/.hidden", "/../dd/other", "/%2e%2e/dd/other", "/none", "/sub/none"} {
			s.do(404, "GET", base+bad, "*/*", "")
		}
		s.do(204, "DELETE", "/api/fs/shares/"+l.ID, "", "")
		s.do(410, "GET", base+"/one.txt", "*/*", "")
	})
}

func TestBadLinks(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	alice := identitytest.Alice.DID
	s.w.MustPut(t, alice, "/f", "text")
	for _, bad := range []string{
		"x", strings.Repeat("a", 32), strings.Repeat("A", 32), strings.Repeat("a", 33),
		strings.Repeat("1", 32),
	} {
		s.do(404, "GET", "/s/"+bad, "*/*", "")
		s.do(404, "GET", "/s/"+bad+"/f", browser, "")
	}
	l := s.link(`{"path":"/f","expiresAt":"` + s.w.Clock.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"}`)
	s.do(404, "GET", strings.TrimSuffix(l.URL, "f")+"g", "*/*", "")
	s.do(404, "GET", strings.Replace(l.URL, "/s/", "/s/A", 1), "*/*", "")
	s.w.Clock.Add(2 * time.Hour)
	s.do(410, "GET", l.URL, "*/*", "")
	for body, status := range map[string]int{
		`{"path":"/none"}`: 404, `{"path":"/f","maxUses":-1}`: 400, `{"path":"/f","expiresAt":"soon"}`: 400, `{"path":"/f","expiresAt":"2001-01-01T00:00:00Z"}`: 400, `{"path":"/f","x":1}`: 400,
	} {
		s.do(status, "POST", "/api/fs/shares/plain", "", body)
	}
}
