package identityhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

var alice = identitytest.Alice

// whoami answers with the caller's DID, or "nobody".
func whoami(w http.ResponseWriter, r *http.Request) error {
	p, ok := identity.FromContext(r.Context())
	if !ok {
		p.DID = "nobody"
	}
	return httpserver.WriteJSON(w, http.StatusOK, p.DID)
}

func serve(t *testing.T, s *identity.Service, limits identityhttp.Limits) *httpserver.Server {
	t.Helper()
	return serveLimited(t, s, limits, nil, nil)
}

// serveLimited also limits revocations, by address and in all.
func serveLimited(t *testing.T, s *identity.Service, limits identityhttp.Limits, byAddress,
	all *ratelimit.Limiter,
) *httpserver.Server {
	t.Helper()
	var config httpserver.Config
	if byAddress != nil {
		config.Limits = map[httpserver.LimitClass]*ratelimit.Limiter{
			httpserver.LimitRevocations: byAddress, httpserver.LimitPages: nil,
		}
	}
	server, err := httpserver.New(config)
	if err != nil {
		t.Fatal(err)
	}
	route := func(pattern string, auth httpserver.Auth) httpserver.Route {
		return httpserver.Route{Method: http.MethodGet, Pattern: pattern, Auth: auth, Handler: whoami}
	}
	endless := httpserver.Route{
		Method: http.MethodGet, Pattern: "/oracle/stream", Auth: httpserver.Principal, Stream: true,
		Handler: func(w http.ResponseWriter, r *http.Request) error {
			if err := httpserver.Stream(w, r).Start(http.StatusOK); err != nil {
				return err
			}
			<-r.Context().Done()
			return nil
		},
	}
	for _, surface := range []httpserver.Surface{
		{
			Name: "oracle", Routes: []httpserver.Route{
				route("/oracle", httpserver.Principal), route("/oracle/open", httpserver.Public), route("/oracle/either", httpserver.Optional), endless,
			},
			Authenticate: identityhttp.WrapLimited(s, identity.Oracle, limits),
		},
		{
			Name: "files", Routes: []httpserver.Route{route("/files", httpserver.Principal)},
			Authenticate: identityhttp.Wrap(s, identity.Files),
		},
		identityhttp.Surface(s, httpserver.OpenCORS("*"), all),
	} {
		if err := server.Mount(surface); err != nil {
			t.Fatal(err)
		}
	}
	return server
}

func get(h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func post(h http.Handler, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestRequestsByTheRules(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	server := serve(t, s, identityhttp.Limits{})
	good := "Bearer " + identitytest.Invocation(t, alice, s.DID())
	file := "Bearer " + identitytest.Files(t, alice, s.DID(), "fs/read")
	foreign := "Bearer " + identitytest.Files(t, alice, s.DID(), "", identitytest.Can("fs/read", identitytest.Bob.Home("")))
	delegation := identitytest.UserToOracle(t, alice, s.DID())
	me := `"` + alice.DID + `"`
	tests := []struct {
		name    string
		path    string
		headers []string
		status  int
		body    string
		demand  string // WWW-Authenticate
	}{
		{name: "nothing", path: "/oracle", status: 401, body: `{"message":"` + identity.TextMissing + `","statusCode":401}`},
		{name: "invocation", path: "/oracle", headers: []string{"Authorization", good, "X-Auth-Type", "ucan"}, status: 200, body: me},
		{
			name: "without type", path: "/oracle", headers: []string{"Authorization", good}, status: 401,
			body: `{"message":"` + identity.TextMissing + `","statusCode":401}`,
		},
		{name: "garbage", path: "/oracle", headers: []string{"Authorization", "Bearer x", "X-Auth-Type", "ucan"}, status: 401, body: `{"message":"Invalid UCAN invocation","statusCode":401}`},
		{name: "delegation", path: "/oracle", headers: []string{"x-ucan-delegation", delegation}, status: 200, body: me},
		{
			name: "x-did alone", path: "/oracle", headers: []string{"x-did", alice.DID}, status: 401,
			body: `{"message":"` + identity.TextMissing + `","statusCode":401}`,
		},
		{name: "x-did of another", path: "/oracle", headers: []string{"x-did", "did:x:y", "Authorization", good, "X-Auth-Type", "ucan"}, status: 200, body: me},
		{name: "public with garbage", path: "/oracle/open", headers: []string{"Authorization", "Bearer x", "X-Auth-Type", "ucan"}, status: 200, body: `"nobody"`},
		{name: "optional without", path: "/oracle/either", status: 200, body: `"nobody"`},
		{name: "optional with", path: "/oracle/either", headers: []string{"Authorization", good, "X-Auth-Type", "ucan"}, status: 200, body: me},
		{name: "optional with garbage", path: "/oracle/either", headers: []string{"Authorization", "Bearer x", "X-Auth-Type", "ucan"}, status: 401, body: `{"message":"Invalid UCAN invocation","statusCode":401}`},
		{name: "files", path: "/files", headers: []string{"Authorization", file}, status: 200, body: me},
		{name: "files without", path: "/files", status: 401, demand: "Bearer"},
		{name: "files with garbage", path: "/files", headers: []string{"Authorization", "Bearer x"}, status: 401, demand: `Bearer error="invalid_token"`},
		{name: "files of another", path: "/files", headers: []string{"Authorization", foreign}, status: 403, demand: `Bearer error="insufficient_scope"`},
		{name: "files by delegation header", path: "/files", headers: []string{"x-ucan-delegation", delegation}, status: 401, demand: "Bearer"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := get(server, test.path, test.headers...)
			if body := strings.TrimSpace(w.Body.String()); w.Code != test.status || test.body != "" && body != test.body {
				t.Errorf("%d %s, want %d %s", w.Code, body, test.status, test.body)
			}
			if got := w.Header().Get("WWW-Authenticate"); test.demand != "" && got != test.demand {
				t.Errorf("WWW-Authenticate %q, want %q", got, test.demand)
			}
		})
	}
}

// TestNeighboursAreNotLockedOut tries wrong tokens far beyond the time that their
// address has: who shares the address is served.
func TestNeighboursAreNotLockedOut(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) {
		d.Gate = ratelimit.NewGate(ratelimit.GateConfig{Budget: time.Microsecond})
	})
	server := serve(t, s, identityhttp.Limits{})
	for i := range 500 {
		for _, wrong := range []string{
			fmt.Sprint("garbage", i), identitytest.Invocation(t, identitytest.Mallory, "did:web:elsewhere", identitytest.Nonce(fmt.Sprint(i))),
		} {
			if w := get(server, "/oracle", "Authorization", "Bearer "+wrong, "X-Auth-Type", "ucan"); w.Code != http.StatusUnauthorized {
				t.Fatalf("wrong token %d: %d", i, w.Code)
			}
		}
	}
	if w := get(server, "/oracle", "Authorization", "Bearer "+identitytest.Invocation(t, alice, s.DID()), "X-Auth-Type",
		"ucan"); w.Code != http.StatusOK {
		t.Errorf("a neighbour on the oracle: %d %s", w.Code, w.Body)
	}
	if w := get(server, "/files", "Authorization",
		"Bearer "+identitytest.Files(t, alice, s.DID(), "fs/read")); w.Code != http.StatusOK {
		t.Errorf("a neighbour on the files: %d %s", w.Code, w.Body)
	}
}

// TestCrowdedGateAnswers429 has every slot taken for longer than anybody waits.
func TestCrowdedGateAnswers429(t *testing.T) {
	t.Parallel()
	gate := ratelimit.NewGate(ratelimit.GateConfig{Budget: time.Second, Slots: 2, Wait: time.Millisecond})
	s := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Gate = gate })
	server := serve(t, s, identityhttp.Limits{})
	for range 2 {
		turn, err := gate.Enter(t.Context(), netip.MustParseAddr("203.0.113.1"))
		if err != nil {
			t.Fatal(err)
		}
		defer turn.Leave()
	}
	w := get(server, "/oracle", "Authorization", "Bearer "+identitytest.Invocation(t, alice, s.DID()), "X-Auth-Type", "ucan")
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" ||
		!strings.Contains(w.Body.String(), "ThrottlerException") {
		t.Errorf("oracle: %d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := get(server, "/files", "Authorization", "Bearer x"); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
		t.Errorf("files: %d %v", w.Code, w.Header())
	}
	if w := get(server, "/oracle"); w.Code != http.StatusUnauthorized {
		t.Errorf("no credentials at all: %d", w.Code)
	}
}

func TestRequestsAreLimitedByPrincipal(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	server := serve(t, s,
		identityhttp.Limits{Principals: ratelimit.NewLimiter(ratelimit.LimiterConfig{Name: "principals", PerMinute: 2})})
	for i, want := range []int{200, 200, 429} {
		// A fresh token is the same principal.
		token := identitytest.Invocation(t, alice, s.DID(), identitytest.Nonce(string(rune('a'+i))))
		if w := get(server, "/oracle", "Authorization", "Bearer "+token, "X-Auth-Type", "ucan"); w.Code != want {
			t.Errorf("request %d: %d, want %d", i, w.Code, want)
		}
	}
	bob := identitytest.Invocation(t, identitytest.Bob, s.DID())
	if w := get(server, "/oracle", "Authorization", "Bearer "+bob, "X-Auth-Type", "ucan"); w.Code != http.StatusOK {
		t.Errorf("somebody else: %d", w.Code)
	}
}

// TestRequestsUnderWayAreLimitedByPrincipal opens streams with fresh tokens, on as many
// connections.
func TestRequestsUnderWayAreLimitedByPrincipal(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	server := httptest.NewServer(serve(t, s, identityhttp.Limits{Open: ratelimit.NewPlaces(3)}))
	t.Cleanup(server.Close)
	nonce := 0
	open := func(who identitytest.Actor) (status int, end func()) {
		t.Helper()
		nonce++
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/oracle/stream", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+identitytest.Invocation(t, who, s.DID(), identitytest.Nonce(strconv.Itoa(nonce))))
		r.Header.Set("X-Auth-Type", "ucan")
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer.StatusCode, cancel
	}
	var last func()
	for i, want := range []int{200, 200, 200, 429, 429} {
		status, end := open(alice)
		if status != want {
			t.Errorf("stream %d: %d, want %d", i+1, status, want)
		}
		if status == http.StatusOK {
			last = end
		}
	}
	if status, _ := open(identitytest.Bob); status != http.StatusOK {
		t.Errorf("somebody else: %d", status)
	}
	last()
	for status := 0; status != http.StatusOK; { // when the server has heard of it
		if status, _ = open(alice); status != http.StatusOK && status != http.StatusTooManyRequests {
			t.Fatalf("after one ended: %d", status)
		}
	}
}

func TestDocumentAndRevocation(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	server := serve(t, s, identityhttp.Limits{})
	var document struct{ ID string }
	if w := get(server, "/.well-known/did.json", "Authorization", "Bearer junk"); w.Code != http.StatusOK ||
		json.Unmarshal(w.Body.Bytes(), &document) != nil || document.ID != s.DID() {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	token := identitytest.Invocation(t, alice, document.ID)
	headers := []string{"Authorization", "Bearer " + token, "X-Auth-Type", "ucan"}

	// A stream that is open when its token is revoked.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	live := httptest.NewServer(server)
	defer live.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, live.URL+"/oracle/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(headers[0], headers[1])
	request.Header.Set(headers[2], headers[3])
	stream, err := live.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Body.Close() }()

	revoked, err := ucan.Parse(token)
	if err != nil {
		t.Fatal(err)
	}
	if w := post(server, "/api/revocations", `{"revocation":"`+identitytest.Revocation(t, alice, s.DID(), token)+
		`"}`); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), revoked.CID()) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if _, err := io.ReadAll(stream.Body); ctx.Err() != nil {
		t.Errorf("the stream did not end: %v", err)
	}
	if w := get(server, "/oracle", headers...); w.Code != http.StatusUnauthorized {
		t.Errorf("revoked token: %d", w.Code)
	}
	if w := post(server, "/api/revocations/check",
		`{"cids":["`+revoked.CID()+`","bafyother"]}`); strings.TrimSpace(w.Body.String()) != `{"revoked":["`+revoked.CID()+`"]}` {
		t.Errorf("check: %d %s", w.Code, w.Body)
	}
	for path, body := range map[string]string{
		"/api/revocations":       `{"other":1}`,
		"/api/revocations/check": `{"cids":["` + strings.Repeat(`a","`, 40) + `"]}`,
	} {
		if w := post(server, path, body); w.Code != http.StatusBadRequest {
			t.Errorf("%s %s: %d", path, body, w.Code)
		}
	}
}

// revocationOf signs the revocation of a token that a fresh key made.
func revocationOf(t *testing.T, by identitytest.Actor, audience string) string {
	t.Helper()
	signer, err := did.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	made, err := ucan.Issue(signer, ucan.Statement{Audience: did.DID(audience), Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if by.DID == "" {
		by = identitytest.Actor{DID: string(signer.DID()), Signer: signer}
	}
	return identitytest.Revocation(t, by, audience, made.Encode())
}

// Anybody can make keys and tokens and revoke them; what has to be remembered is
// limited, by address and in all. The operator is not kept from revoking, and
// what is revoked already costs nothing.
func TestRevocationsAreLimited(t *testing.T) {
	t.Parallel()
	limit := func(name string, n int) *ratelimit.Limiter {
		return ratelimit.NewLimiter(ratelimit.LimiterConfig{Name: name, PerMinute: n})
	}
	from := func(server http.Handler, address, revocation string) int {
		r := httptest.NewRequest(http.MethodPost, "/api/revocations", strings.NewReader(`{"revocation":"`+revocation+`"}`))
		r.Header.Set("Content-Type", "application/json")
		r.RemoteAddr = address + ":1"
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
			t.Error("nobody is told when to come back")
		}
		return w.Code
	}
	s := identitytest.New(t)
	server := serveLimited(t, s, identityhttp.Limits{}, limit("address", 3), limit("all", 5))
	first := revocationOf(t, identitytest.Actor{}, s.DID())
	for i, want := range []int{200, 200, 200, 429} {
		text := first
		if i > 0 {
			text = revocationOf(t, identitytest.Actor{}, s.DID())
		}
		if got := from(server, "192.0.2.1", text); got != want {
			t.Errorf("revocation %d of one address: %d, want %d", i, got, want)
		}
	}
	for i, want := range []int{200, 200, 429} {
		if got := from(server, "192.0.2.2", revocationOf(t, identitytest.Actor{}, s.DID())); got != want {
			t.Errorf("revocation %d of another address: %d, want %d", i, got, want)
		}
	}
	if got := from(server, "192.0.2.3", first); got != http.StatusOK {
		t.Errorf("what is revoked already: %d", got)
	}
	if got := from(server, "192.0.2.3", revocationOf(t, identitytest.Oracle, s.DID())); got != http.StatusOK {
		t.Errorf("the operator: %d", got)
	}
	if got := from(server, "192.0.2.3", revocationOf(t, identitytest.Actor{}, s.DID())); got != http.StatusTooManyRequests {
		t.Errorf("a third address: %d", got)
	}
	if n := s.Stats().Revocations; n != 6 {
		t.Errorf("%d are remembered", n)
	}
}
