package filestoredav_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeyhttp"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeysql"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeytest"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoredav"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

var alice = identitytest.NewActor("alice")

// site is a server with an app key for all of Alice's files, dot-files too.
type site struct {
	t    testing.TB
	w    *filestoretest.World
	keys *appkey.Service
	url  string
	key  string
	// server is what the url leads to.
	server http.Handler
}

func newSite(t testing.TB, w *filestoretest.World) *site {
	t.Helper()
	sqldbtest.Migrate(t, w.DB, identitysql.Migrations())
	who := identitytest.New(t)
	s := &site{t: t, w: w, keys: appkeytest.New(t, appkeysql.New(w.DB), who)}
	server, err := httpserver.New(httpserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	face := appkeyhttp.Face{Keys: s.keys, Identity: who}
	if err := server.Mount(filestoredav.Surface(w.Service,
		filestoredav.Deps{Authenticate: face.Wrap(appkey.Files), Folders: w.Folders, State: w.Store})); err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(server)
	t.Cleanup(ts.Close)
	s.server = server
	s.url, s.key = ts.URL, s.keyFor("all", identitytest.Can("fs/*", alice.Home("")))
	return s
}

// keyFor makes an app key.
func (s *site) keyFor(name string, can identitytest.Option) string {
	s.t.Helper()
	_, text := appkeytest.Make(s.t, s.keys, alice, name, can)
	return text
}

type reply struct {
	*http.Response
	body string
}

// do sends a request with headers as "Name: value".
func (s *site) do(method, path, body string, headers ...string) reply {
	s.t.Helper()
	return s.as(s.key, method, path, strings.NewReader(body), headers...)
}

func (s *site) as(key, method, path string, body io.Reader, headers ...string) reply {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(s.t.Context()), method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	if key != "" {
		r.SetBasicAuth("anybody", key)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return reply{res, string(text)}
}

// want fails the test unless the status is the one.
func (s *site) want(status int, got reply) reply {
	s.t.Helper()
	if got.StatusCode != status {
		s.t.Fatalf("%s %s: %d, want %d: %.300s", got.Request.Method, got.Request.URL.Path, got.StatusCode, status, got.body)
	}
	return got
}
