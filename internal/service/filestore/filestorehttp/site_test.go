package filestorehttp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestorehttp"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// site is a server with a file store.
type site struct {
	t     *testing.T
	world *filestoretest.World
	url   string
}

func newSite(t *testing.T, w *filestoretest.World) *site {
	t.Helper()
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	surface := filestorehttp.Surface(w.Service, filestorehttp.Deps{
		Folders: w.Folders, Looks: looks{},
		Authenticate: identityhttp.Wrap(identitytest.New(t), identity.Files), CORS: contenthttp.CORS("*"),
	})
	if err := server.Mount(surface); err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(server)
	t.Cleanup(ts.Close)
	return &site{t, w, ts.URL}
}

var nonce atomic.Int64

// token makes a fresh token: those of REST are used once.
func token(t testing.TB, a identitytest.Actor, can string, options ...identitytest.Option) string {
	t.Helper()
	return identitytest.Files(t, a, identitytest.Oracle.DID, can,
		append(options, identitytest.Nonce(fmt.Sprint(nonce.Add(1))))...)
}

// owner is a token for everything in Alice's namespace.
func owner(t testing.TB) string { return token(t, identitytest.Alice, "*") }

type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

// do sends a request with a token and headers given as "Name: value".
func (s *site) do(bearer, method, target, body string, headers ...string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+target, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
		r.Header.Set("X-Auth-Type", "ucan")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("%s %s: read: %v", method, target, err)
	}
	return answer{s.t, res.StatusCode, res.Header, string(b)}
}

// own sends a request as the owner.
func (s *site) own(method, target, body string, headers ...string) answer {
	s.t.Helper()
	return s.do(owner(s.t), method, target, body, headers...)
}

// want fails unless the status is the expected one.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// decode reads the JSON body.
func decode[T any](a answer) T {
	a.t.Helper()
	var v T
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		a.t.Fatalf("body %q: %v", a.body, err)
	}
	return v
}

func (s *site) put(path, content string) filestorehttp.FileMetadata {
	s.t.Helper()
	a := s.own("PUT", "/api/fs/content?path="+path, content, "Content-Type: text/plain")
	if a.status != http.StatusOK && a.status != http.StatusCreated {
		s.t.Fatalf("PUT %s: %d %s", path, a.status, a.body)
	}
	return decode[filestorehttp.FileMetadata](a)
}
