package appkeyhttp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeyhttp"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeysql"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeytest"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

var alice = identitytest.Alice

// site has the routes of app keys and, for each scope, a face that says who came and
// one that streams until it is told to end.
type site struct {
	*appkey.Service
	server *httpserver.Server
	began  chan struct{}
}

func open(t *testing.T) *site {
	t.Helper()
	db := sqldbtest.Migrate(t, sqldbtest.SQLite(t), identitysql.Migrations())
	who := identitytest.New(t)
	s := &site{Service: appkeytest.New(t, appkeysql.New(db), who), began: make(chan struct{})}
	face := appkeyhttp.Face{Keys: s, Identity: who, Limits: identityhttp.Limits{
		Principals: ratelimit.NewLimiter(ratelimit.LimiterConfig{Name: "principal", PerMinute: 5}),
	}}
	surfaces := appkeyhttp.Surfaces(appkeyhttp.Deps{
		Service: s.Service, Face: face, Authenticate: identityhttp.Wrap(who, identity.Oracle),
	})
	for _, scope := range []appkey.Scope{appkey.Oracle, appkey.Files, appkey.Knowledge} {
		surfaces = append(surfaces, httpserver.Surface{
			Name: string(scope), Authenticate: face.Wrap(scope),
			Routes: []httpserver.Route{
				{Method: http.MethodGet, Pattern: "/" + string(scope), Auth: httpserver.Principal, Handler: tell},
				{
					Method: http.MethodGet, Pattern: "/" + string(scope) + "/stream", Auth: httpserver.Principal, Stream: true,
					Handler: s.stream,
				},
			},
		})
	}
	var err error
	if s.server, err = httpserver.New(httpserver.Config{}); err != nil {
		t.Fatal(err)
	}
	for _, surface := range surfaces {
		if err := s.server.Mount(surface); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func tell(w http.ResponseWriter, r *http.Request) error {
	p, _ := identity.FromContext(r.Context())
	k, by := appkey.FromContext(r.Context())
	return httpserver.WriteJSON(w, http.StatusOK, map[string]any{"did": p.DID, "root": p.Root, "key": k.Name, "byKey": by})
}

func (s *site) stream(_ http.ResponseWriter, r *http.Request) error {
	ctx, end := identity.UntilEnded(r.Context(), r.Context())
	defer end()
	close(s.began)
	<-ctx.Done()
	return identity.ErrEnded
}

func (s *site) get(t *testing.T, path, user, secret string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	switch {
	case user != "":
		r.SetBasicAuth(user, secret)
	case secret != "":
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	got := httptest.NewRecorder()
	s.server.ServeHTTP(got, r)
	return got
}

func TestAFaceKnowsWhoCame(t *testing.T) {
	t.Parallel()
	s := open(t)
	k, text := appkeytest.Make(t, s.Service, alice, "one", appkeytest.For(alice, appkey.Oracle),
		appkeytest.For(alice, appkey.Files), appkeytest.For(alice, appkey.Knowledge))
	invocation := identitytest.Invocation(t, alice, identitytest.Oracle.DID)
	files := identitytest.Files(t, alice, identitytest.Oracle.DID, "fs/*")
	for name, c := range map[string]struct {
		path, user, secret, did string
		byKey                   bool
	}{
		"oracle":                       {"/oracle", "", text, alice.DID, true},
		"oracle by password":           {"/oracle", "x", text, alice.DID, true},
		"knowledge":                    {"/knowledge", "", text, alice.DID, true},
		"files":                        {"/files", "", text, k.DID, true},
		"oracle by token alone":        {"/oracle", "", invocation, alice.DID, false},
		"files by token":               {"/files", "", files, alice.DID, false},
		"files by password and a name": {"/files", alice.DID, text, k.DID, true},
	} {
		var got struct {
			DID, Root, Key string
			ByKey          bool
		}
		reply := s.get(t, c.path, c.user, c.secret)
		if err := json.Unmarshal(reply.Body.Bytes(), &got); err != nil || reply.Code != http.StatusOK {
			t.Errorf("%s: %d %s", name, reply.Code, reply.Body)
			continue
		}
		if got.DID != c.did || got.Root != alice.DID || got.ByKey != c.byKey {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAFaceAsksForWhatItTakes(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, narrow := appkeytest.Make(t, s.Service, alice, "narrow")
	for name, c := range map[string]struct {
		path, secret, want string
		status             int
	}{
		"nothing":      {"/oracle", "", "Bearer", 401},
		"files":        {"/files", "", `Basic realm="app key", charset="UTF-8"|Bearer`, 401},
		"wrong":        {"/oracle", identity.AppKeyPrefix + "x", `Bearer error="invalid_token"`, 401},
		"garbage":      {"/oracle", "garbage", `Bearer error="invalid_token"`, 401},
		"out of scope": {"/knowledge", narrow, `Bearer error="insufficient_scope"`, 403},
	} {
		got := s.get(t, c.path, "", c.secret)
		if asks := strings.Join(got.Header().Values("Www-Authenticate"), "|"); got.Code != c.status || asks != c.want {
			t.Errorf("%s: %d, asks for %s; want %d, %s", name, got.Code, asks, c.status, c.want)
		}
	}
}

// TestAStreamEndsWithItsKey: what is open when a key is revoked does not go on.
func TestAStreamEndsWithItsKey(t *testing.T) {
	t.Parallel()
	for _, scope := range []appkey.Scope{appkey.Oracle, appkey.Files} {
		s := open(t)
		k, text := appkeytest.Make(t, s.Service, alice, "one", appkeytest.For(alice, scope))
		ended := make(chan *httptest.ResponseRecorder, 1)
		go func() { ended <- s.get(t, "/"+string(scope)+"/stream", "", text) }()
		<-s.began
		if _, err := s.Revoke(t.Context(), alice.DID, k.ID); err != nil {
			t.Fatal(err)
		}
		if got := <-ended; got.Code != http.StatusUnauthorized {
			t.Errorf("%s: the stream ended with %d %s", scope, got.Code, got.Body)
		}
	}
}

// TestAProgramDoesNotLockItsMakerOut: each is counted for itself.
func TestAProgramDoesNotLockItsMakerOut(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, text := appkeytest.Make(t, s.Service, alice, "one")
	last := 0
	for range 7 {
		last = s.get(t, "/oracle", "", text).Code
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the last of many requests: %d", last)
	}
	if got := s.get(t, "/oracle", "", identitytest.Invocation(t, alice, identitytest.Oracle.DID)); got.Code != http.StatusOK {
		t.Errorf("its maker: %d %s", got.Code, got.Body)
	}
}

// TestMakingOverHTTP goes the way of the console and the command line.
func TestMakingOverHTTP(t *testing.T) {
	t.Parallel()
	s := open(t)
	do := func(method, path, body string, into any) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+identitytest.Invocation(t, alice, identitytest.Oracle.DID))
		r.Header.Set("X-Auth-Type", "ucan")
		got := httptest.NewRecorder()
		s.server.ServeHTTP(got, r)
		if into != nil {
			if err := json.Unmarshal(got.Body.Bytes(), into); err != nil {
				t.Fatalf("%s %s: %d %s", method, path, got.Code, got.Body)
			}
		}
		return got
	}
	var offer appkeyhttp.Offer
	do(http.MethodPost, "/api/keys/offer", "", &offer)
	body := fmt.Sprintf(`{"id":%q,"name":"phone","delegation":%q,"budget":{"tokens":10,"costMicros":20}}`, offer.ID, identitytest.UserToOracle(t, alice, offer.Holder))
	var made appkeyhttp.MadeKey
	got := do(http.MethodPost, "/api/keys", body, &made)
	if got.Code != http.StatusCreated || got.Header().Get("Cache-Control") != "no-store" || made.ID != offer.ID ||
		made.DID != offer.Holder || made.State != "active" {
		t.Errorf("made: %d %v %s", got.Code, got.Header(), got.Body)
	}
	if got := do(http.MethodPost, "/api/keys", body, nil); got.Code != http.StatusConflict ||
		strings.Contains(got.Body.String(), identity.AppKeyPrefix) {
		t.Errorf("the same again: %d %s", got.Code, got.Body)
	}
	for what, bad := range map[string]string{
		"no JSON": `{`, "an unknown field": `{"id":"x","scope":"all"}`, "nothing": `{}`, "a word for a number": `{"budget":{"tokens":"many"}}`,
	} {
		if got := do(http.MethodPost, "/api/keys", bad, nil); got.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", what, got.Code, got.Body)
		}
	}
	var list appkeyhttp.KeyList
	if got := do(http.MethodGet, "/api/keys", "", &list); len(list.Keys) != 1 || list.Keys[0].Name != "phone" ||
		*list.Keys[0].Left != (appkeyhttp.Amount{Tokens: 10, CostMicros: 20}) ||
		strings.Contains(got.Body.String(), made.Text) {
		t.Errorf("listed: %s", got.Body)
	}
	for range 2 {
		if got := do(http.MethodDelete, "/api/keys/"+made.ID, "", nil); got.Code != http.StatusNoContent {
			t.Errorf("revoked: %d %s", got.Code, got.Body)
		}
	}
	if got := do(http.MethodDelete, "/api/keys/none", "", nil); got.Code != http.StatusNotFound {
		t.Errorf("none: %d %s", got.Code, got.Body)
	}
	if got := s.get(t, "/v1/key", "", made.Text); got.Code != http.StatusUnauthorized {
		t.Errorf("after that: %d %s", got.Code, got.Body)
	}
}
