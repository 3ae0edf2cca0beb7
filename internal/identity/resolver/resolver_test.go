package resolver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/resolver"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

const keyText = "z6Mkupw5FqjX2ob5Q8bNEnNvCPchkDhEhTmPoRZVcYWeVXZo"

func document(id string) string {
	return fmt.Sprintf(`{"id":%q,"controller":"did:ixo:ixo1boss","verificationMethod":[{"type":"Ed25519VerificationKey2020","publicKeyMultibase":%q}]}`, id, keyText)
}

func open(t *testing.T, cfg resolver.Config) *resolver.Resolver {
	t.Helper()
	r, err := resolver.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// webDID is the did:web of a test server, with a path.
func webDID(s *httptest.Server, path string) did.DID {
	return did.DID("did:web:" + strings.ReplaceAll(strings.TrimPrefix(s.URL, "http://"), ":", "%3A") + path)
}

func TestWeb(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		self := "did:web:" + strings.ReplaceAll(r.Host, ":", "%3A")
		switch r.URL.Path {
		case "/.well-known/did.json":
			_, _ = w.Write([]byte(document(self)))
		case "/a/b/did.json":
			_, _ = w.Write([]byte(document(self + ":a:b")))
		case "/lies/did.json":
			_, _ = w.Write([]byte(document("did:web:victim.test")))
		case "/moved/did.json":
			http.Redirect(w, r, "/.well-known/did.json", http.StatusFound)
		case "/long/did.json":
			_, _ = w.Write([]byte(strings.Repeat(" ", did.MaxDocument) + document(self+":long")))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	r := open(t, resolver.Config{AllowPrivate: true})
	for _, path := range []string{"", ":a:b"} {
		keys, err := r.Keys(t.Context(), webDID(server, path))
		if err != nil || len(keys) != 1 || keys[0].DID() != "did:key:"+keyText {
			t.Errorf("%q: %v, %v", path, keys, err)
		}
	}
	for _, path := range []string{":lies", ":moved", ":long", ":gone", ":..", ":a%2Fb"} {
		if keys, err := r.Keys(t.Context(), webDID(server, path)); err == nil {
			t.Errorf("%q: %v", path, keys)
		}
	}
	before := asked.Load()
	for range 10 {
		if _, err := r.Controllers(t.Context(), webDID(server, "")); err != nil {
			t.Error(err)
		}
		if _, err := r.Keys(t.Context(), webDID(server, ":gone")); err == nil {
			t.Error("a failure is not remembered")
		}
	}
	if asked.Load() != before {
		t.Errorf("%d questions instead of remembered answers", asked.Load()-before)
	}
}

func TestWebNeverGoesInside(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a private address was reached") }))
	defer server.Close()
	r := open(t, resolver.Config{})
	_, err := r.Keys(t.Context(), webDID(server, ""))
	if !errors.Is(err, resolver.ErrPrivate) {
		t.Errorf("got %v", err)
	}
	// A name that leads inside is caught as well, after it was looked up.
	local := did.DID("did:web:localhost%3A" + server.URL[strings.LastIndex(server.URL, ":")+1:])
	if _, err := r.Keys(t.Context(), local); !errors.Is(err, resolver.ErrPrivate) {
		t.Errorf("by name: %v", err)
	}
}

func TestOwnResolver(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path == "/graphql" {
			var q struct {
				Query     string
				Variables struct{ ID string }
			}
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil || !strings.Contains(q.Query, "iids(filter:{id:{equalTo:$id}})") {
				t.Errorf("question %+v, %v", q, err)
			}
			if reply, ok := map[string]string{
				"did:ixo:unknown": `{"data":{"iids":{"nodes":[]}}}`,
				"did:ixo:failing": `{"errors":[{"message":"timeout"}],"data":{"iids":{"nodes":[]}}}`,
				"did:ixo:null":    `{"data":{"iids":null}}`,
			}[q.Variables.ID]; ok {
				_, _ = w.Write([]byte(reply))
				return
			}
			_, _ = fmt.Fprintf(w, `{"data":{"iids":{"nodes":[%s]}}}`, document(q.Variables.ID))
			return
		}
		if strings.HasPrefix(r.URL.Path, "/none/") {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"didDocument":` + document(strings.TrimPrefix(r.URL.Path, "/1.0/identifiers/")) + `}`))
	}))
	defer server.Close()
	for _, url := range []string{"/graphql", "/1.0/identifiers", "/1.0/identifiers/{did}"} {
		r := open(t, resolver.Config{URL: server.URL + url})
		controllers, err := r.Controllers(t.Context(), "did:ixo:entity:abc")
		if err != nil || len(controllers) != 1 || controllers[0] != "did:ixo:ixo1boss" {
			t.Errorf("%s: %v, %v", url, controllers, err)
		}
	}
	r := open(t, resolver.Config{URL: server.URL + "/graphql"})
	if _, err := r.Keys(t.Context(), "did:ixo:unknown"); !errors.Is(err, identity.ErrUnknownDID) {
		t.Errorf("an unknown DID: %v", err)
	}
	for _, d := range []did.DID{"did:ixo:failing", "did:ixo:null"} {
		if _, err := r.Keys(t.Context(), d); err == nil || errors.Is(err, identity.ErrUnknownDID) {
			t.Errorf("%s: a failure was taken for an answer: %v", d, err)
		}
	}
	if _, err := open(t, resolver.Config{URL: server.URL + "/none/"}).Keys(t.Context(), "did:ixo:absent"); !errors.Is(err,
		identity.ErrUnknownDID) {
		t.Errorf("404: %v", err)
	}
	if _, err := open(t, resolver.Config{}).Keys(t.Context(), "did:ixo:any"); !errors.Is(err, identity.ErrNoResolver) {
		t.Errorf("no resolver: %v", err)
	}
	before := asked.Load()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := r.Keys(t.Context(), "did:ixo:ixo1many"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := asked.Load() - before; n != 1 {
		t.Errorf("%d questions for one DID", n)
	}
}

func TestLookUpsEnd(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}))
	defer server.Close()
	defer close(stop)
	r := open(t, resolver.Config{URL: server.URL, Timeout: 20 * time.Millisecond})
	if _, err := r.Keys(t.Context(), "did:ixo:slow"); err == nil {
		t.Error("no answer is an answer")
	}
	if _, err := open(t, resolver.Config{}).Keys(t.Context(), "did:ixo:x"); err == nil {
		t.Error("nobody was asked, and there is an answer")
	}
	for _, url := range []string{"ftp://x", "x", "http://"} {
		if _, err := resolver.New(resolver.Config{URL: url}); err == nil {
			t.Errorf("%q is a resolver", url)
		}
	}
}

// TestAHostIsLeftAlone has strangers make up DIDs of a host that has none of them.
func TestAHostIsLeftAlone(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ann/did.json" {
			_, _ = w.Write([]byte(document("did:web:" + strings.ReplaceAll(r.Host, ":", "%3A") + ":ann")))
			return
		}
		asked.Add(1)
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	r := open(t, resolver.Config{AllowPrivate: true, TTL: time.Nanosecond})
	if _, err := r.Keys(t.Context(), webDID(server, ":ann")); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			if _, err := r.Keys(t.Context(), webDID(server, fmt.Sprintf(":made-up-%d", i))); err == nil {
				t.Error("a made-up DID has keys")
			}
		})
	}
	all.Wait()
	if n := asked.Load(); n > 11 { // eight, and who was asking with the eighth
		t.Errorf("the host was asked %d times", n)
	}
	if _, err := r.Keys(t.Context(), webDID(server, ":ann")); err != nil {
		t.Errorf("one that it had: %v", err)
	}
}
