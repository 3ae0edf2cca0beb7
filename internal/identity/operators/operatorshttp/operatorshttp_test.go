package operatorshttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/identity/operators/operatorshttp"
	"github.com/castalia-org/castalia/internal/identity/operators/operatorssql"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

var alice, bob, carol = identitytest.Alice, identitytest.Bob, identitytest.Carol

// desk is a server that only operators may use, with one route for each role.
type desk struct {
	*httpserver.Server
	book     *operators.Book
	identity *identity.Service
	welcomed []string
	acts     []string
}

func newDesk(t *testing.T, token string) *desk {
	t.Helper()
	book := operators.NewBook(operatorssql.New(sqldbtest.Migrate(t, sqldbtest.SQLite(t), identitysql.Migrations())), nil)
	d := &desk{book: book, identity: identitytest.New(t)}
	var err error
	if d.Server, err = httpserver.New(httpserver.Config{
		OperatorToken:  token,
		SignedOperator: operatorshttp.Signed(d.identity, book),
	}); err != nil {
		t.Fatal(err)
	}
	nothing := func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("From", httpserver.OperatorOf(r.Context()).From)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	for _, s := range []httpserver.Surface{
		operatorshttp.Surface(operatorshttp.Deps{
			Book: book, Authenticate: identityhttp.Wrap(d.identity, identity.Entrance), Guessed: func(context.Context) error {
				return nil
			},
			Welcome: func(_ context.Context, did string) error { d.welcomed = append(d.welcomed, did); return nil },
			Audit: func(_ context.Context, who httpserver.OperatorIdentity, act, _ string) (func(int), error) {
				return func(status int) {
					d.acts = append(d.acts, fmt.Sprintf("%s %s %s %d", who.Name, who.Role, act, status))
				}, nil
			},
		}),
		{Name: "test", Routes: []httpserver.Route{
			{Method: http.MethodGet, Pattern: "/look", Auth: httpserver.Operator, Handler: nothing},
			{Method: http.MethodGet, Pattern: "/long", Auth: httpserver.Operator, Stream: true, Handler: endless},
			{Method: http.MethodPost, Pattern: "/change", Auth: httpserver.Operator, Handler: nothing},
			{Method: http.MethodPost, Pattern: "/own", Auth: httpserver.Operator, Role: httpserver.Owner, Handler: nothing},
		}},
	} {
		if err := d.Mount(s); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// endless sends until it cannot any more, and does not say why.
func endless(w http.ResponseWriter, _ *http.Request) error {
	piece := make([]byte, 64<<10)
	for {
		if _, err := w.Write(piece); err != nil {
			return nil //nolint:nilerr // whatever a handler makes of it
		}
	}
}

func (d *desk) ask(t *testing.T, method, path, body, bearer string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
		r.Header.Set("X-Auth-Type", "ucan")
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

func (d *desk) give(t *testing.T, did string, role operators.Role) {
	t.Helper()
	if _, err := d.book.Give(t.Context(), did, role, "", "test"); err != nil {
		t.Fatal(err)
	}
}

func sign(t *testing.T, d *desk, from identitytest.Actor, options ...identitytest.Option) string {
	t.Helper()
	return identitytest.Invocation(t, from, d.identity.DID(), options...)
}

func can(ability string) identitytest.Option {
	return identitytest.Can(ability, operators.OperatorResource)
}

func TestARoleOpensItsRoutes(t *testing.T) {
	t.Parallel()
	const nobody = http.StatusUnauthorized
	const low = http.StatusForbidden
	for name, c := range map[string]struct {
		role            operators.Role
		token           func(t *testing.T, d *desk) string
		look, chg, owns int
	}{
		"an owner": {operators.Owner, func(t *testing.T, d *desk) string {
			return sign(t, d, alice, can("operator/*"))
		}, 204, 204, 204},
		"an operator": {operators.Operator, func(t *testing.T, d *desk) string {
			return sign(t, d, alice, can("operator/*"))
		}, 204, 204, low},
		"a viewer": {operators.Viewer, func(t *testing.T, d *desk) string {
			return sign(t, d, alice, can("*"))
		}, 204, low, low},
		"no role": {operators.None, func(t *testing.T, d *desk) string {
			return sign(t, d, alice, can("operator/*"))
		}, nobody, nobody, nobody},
		"an owner who only chats": {operators.Owner, func(t *testing.T, d *desk) string { return sign(t, d, alice) }, nobody, nobody, nobody},
		"an owner who looks": {operators.Owner, func(t *testing.T, d *desk) string {
			return sign(t, d, alice, can("operator/view"))
		}, 204, low, low},
		"too long a token": {operators.Owner, func(t *testing.T, d *desk) string {
			return sign(t, d, alice, can("operator/*"), identitytest.TTL(time.Hour))
		}, nobody, nobody, nobody},
		"another key": {operators.Owner, func(t *testing.T, d *desk) string {
			return sign(t, d, carol.As(alice.DID), can("operator/*"))
		}, nobody, nobody, nobody},
		"a helper of an owner": {operators.Owner, func(t *testing.T, d *desk) string {
			return sign(t, d, bob, can("operator/change"), identitytest.Proof(identitytest.Delegation(t, alice, bob.DID, can("operator/change"))))
		}, 204, 204, low},
		"a helper of a viewer": {operators.Viewer, func(t *testing.T, d *desk) string {
			return sign(t, d, bob, can("operator/*"), identitytest.Proof(identitytest.Delegation(t, alice, bob.DID, can("operator/*"))))
		}, 204, low, low},
		"a helper who asks for more": {operators.Owner, func(t *testing.T, d *desk) string {
			return sign(t, d, bob, can("operator/*"), identitytest.Proof(identitytest.Delegation(t, alice, bob.DID, can("operator/view"))))
		}, nobody, nobody, nobody},
		"a delegation of everything": {operators.Owner, func(t *testing.T, d *desk) string {
			return sign(t, d, bob, can("operator/*"),
				identitytest.Proof(identitytest.Delegation(t, alice, bob.DID, identitytest.Can("*", "ixo:*"))))
		}, nobody, nobody, nobody},
		"an owner who asks for everything": {operators.Owner, func(t *testing.T, d *desk) string {
			return sign(t, d, alice, identitytest.Can("*", "ixo:*"))
		}, nobody, nobody, nobody},
		"a delegation of everything, and of this": {operators.Owner, func(t *testing.T, d *desk) string {
			both := identitytest.Delegation(t, alice, bob.DID, identitytest.Can("*", "ixo:*"), can("operator/view"))
			return sign(t, d, bob, can("operator/view"), identitytest.Proof(both))
		}, 204, low, low},
		"a share of files": {operators.Owner, func(t *testing.T, d *desk) string {
			return sign(t, d, bob, can("operator/*"), identitytest.Proof(identitytest.Delegation(t, alice, bob.DID)))
		}, nobody, nobody, nobody},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "hush")
			if c.role != operators.None {
				d.give(t, alice.DID, c.role)
			}
			token := c.token(t, d)
			for _, q := range []struct {
				method, path string
				want         int
			}{{http.MethodGet, "/look", c.look}, {http.MethodPost, "/change", c.chg}, {http.MethodPost, "/own", c.owns}} {
				if w := d.ask(t, q.method, q.path, "", token); w.Code != q.want {
					t.Errorf("%s: %d %s, want %d", q.path, w.Code, w.Body, q.want)
				}
			}
		})
	}
}

// TestWithdrawnMeansNo takes a role away, and a delegation back: both count at once.
func TestWithdrawnMeansNo(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	d.give(t, alice.DID, operators.Owner)
	own := sign(t, d, alice, can("operator/*"))
	grant := identitytest.Delegation(t, alice, bob.DID, can("operator/view"))
	lent := sign(t, d, bob, can("operator/view"), identitytest.Proof(grant))
	for _, token := range []string{own, lent} {
		if w := d.ask(t, http.MethodGet, "/look", "", token); w.Code != http.StatusNoContent {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	parsed, err := ucan.Parse(grant)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.identity.RevokeByOperator(t.Context(), identity.RevokedToken, parsed.CID()); err != nil {
		t.Fatal(err)
	}
	if w := d.ask(t, http.MethodGet, "/look", "", lent); w.Code != http.StatusNotFound {
		t.Errorf("a delegation that was revoked: %d", w.Code)
	}
	if err := d.book.Take(t.Context(), alice.DID, "test"); err != nil {
		t.Fatal(err)
	}
	if w := d.ask(t, http.MethodGet, "/look", "", own); w.Code != http.StatusNotFound {
		t.Errorf("a role that was taken away: %d", w.Code)
	}
}

// TestWithdrawnEndsWhatIsSent takes back by what somebody gets a long answer, while it is sent.
func TestWithdrawnEndsWhatIsSent(t *testing.T) {
	t.Parallel()
	for name, withdraw := range map[string]func(t *testing.T, d *desk, token *ucan.Token) error{
		"the role": func(t *testing.T, d *desk, _ *ucan.Token) error {
			t.Helper()
			return d.book.Take(t.Context(), alice.DID, "test")
		},
		"a part of the role": func(t *testing.T, d *desk, _ *ucan.Token) error {
			t.Helper()
			_, err := d.book.Give(t.Context(), alice.DID, operators.Operator, "", "test")
			return err
		},
		"the token": func(t *testing.T, d *desk, token *ucan.Token) error {
			t.Helper()
			_, err := d.identity.RevokeByOperator(t.Context(), identity.RevokedToken, token.CID())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "")
			d.give(t, alice.DID, operators.Owner)
			server := httptest.NewServer(d)
			t.Cleanup(server.Close)
			text := sign(t, d, alice, can("operator/*"))
			token, err := ucan.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/long", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+text)
			r.Header.Set("X-Auth-Type", "ucan")
			resp, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if _, err := io.ReadFull(resp.Body, make([]byte, 1<<20)); err != nil || resp.StatusCode != http.StatusOK {
				t.Fatal(resp.Status, err)
			}
			if err := withdraw(t, d, token); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the answer ended with: %v", err)
			}
		})
	}
}

func TestOwnersGiveAndTakeRoles(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "hush")
	d.give(t, alice.DID, operators.Owner)
	own := sign(t, d, alice, can("operator/*"))
	path := "/operator/operators/" + bob.DID
	for _, c := range []struct {
		what, method, path, body string
		want                     int
	}{
		{"no such role", http.MethodPut, path, `{"role":"king"}`, 400},
		{"no DID", http.MethodPut, "/operator/operators/bob", `{"role":"viewer"}`, 400},
		{"more than the body has", http.MethodPut, path, `{"role":"viewer","did":"x"}`, 400},
		{"a long note", http.MethodPut, path, `{"role":"viewer","note":"` + strings.Repeat("x", 201) + `"}`, 400},
		{"a viewer", http.MethodPut, path, `{"role":"viewer","note":"Bob"}`, 200},
		{"the own role", http.MethodPut, "/operator/operators/" + alice.DID, `{"role":"viewer"}`, 409},
		{"the own role away", http.MethodDelete, "/operator/operators/" + alice.DID, "", 409},
		{"nobody's role away", http.MethodDelete, "/operator/operators/" + carol.DID, "", 404},
	} {
		if w := d.ask(t, c.method, c.path, c.body, own); w.Code != c.want {
			t.Errorf("%s: %d %s, want %d", c.what, w.Code, w.Body, c.want)
		}
	}
	if len(d.welcomed) != 1 || d.welcomed[0] != bob.DID {
		t.Errorf("let in: %v", d.welcomed)
	}
	var me operatorshttp.Me
	read(t, d.ask(t, http.MethodGet, "/operator/me", "", sign(t, d, bob, can("operator/*"))), &me)
	if me != (operatorshttp.Me{Name: bob.DID, Role: "viewer"}) {
		t.Errorf("%+v", me)
	}
	read(t, d.ask(t, http.MethodGet, "/operator/me", "", "hush"), &me)
	if me != (operatorshttp.Me{Name: "operator", Role: "owner"}) {
		t.Errorf("by the token: %+v", me)
	}
	var list operatorshttp.List
	read(t, d.ask(t, http.MethodGet, "/operator/operators", "", own), &list)
	for _, o := range list.Operators {
		if o.DID == bob.DID && (o.Role != "viewer" || o.By != alice.DID || o.Note != "Bob") {
			t.Errorf("%+v", o)
		}
	}
	if len(list.Operators) != 2 {
		t.Errorf("%+v", list)
	}
	if w := d.ask(t, http.MethodDelete, path, "", own); w.Code != http.StatusNoContent {
		t.Errorf("take away: %d %s", w.Code, w.Body)
	}
}

// TestLentOwnershipMakesNothingThatStays gives somebody ownership by a delegation: what it makes
// and takes away would outlive it.
func TestLentOwnershipMakesNothingThatStays(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	d.give(t, alice.DID, operators.Owner)
	lent := sign(t, d, bob, can("operator/*"), identitytest.Proof(identitytest.Delegation(t, alice, bob.DID, can("operator/*"))))
	if w := d.ask(t, http.MethodPost, "/own", "", lent); w.Code != http.StatusNoContent || w.Header().Get("From") != alice.DID {
		t.Errorf("another route for owners: %d %s, by the role of %q", w.Code, w.Body, w.Header().Get("From"))
	}
	refused := func() {
		t.Helper()
		for _, who := range []string{alice.DID, carol.DID} {
			for method, body := range map[string]string{http.MethodPut: `{"role":"owner"}`, http.MethodDelete: ""} {
				if w := d.ask(t, method, "/operator/operators/"+who, body, lent); w.Code != http.StatusForbidden ||
					!strings.Contains(w.Body.String(), "in person") {
					t.Errorf("%s: %d %s", method, w.Code, w.Body)
				}
			}
		}
	}
	refused()
	d.give(t, bob.DID, operators.Operator) // a role of one's own that is lower
	refused()
	d.give(t, bob.DID, operators.Owner)
	if w := d.ask(t, http.MethodPut, "/operator/operators/"+carol.DID, `{"role":"viewer"}`, lent); w.Code != http.StatusOK {
		t.Errorf("an owner in person: %d %s", w.Code, w.Body)
	}
}

func read(t *testing.T, w *httptest.ResponseRecorder, into any) {
	t.Helper()
	if w.Code != http.StatusOK || json.Unmarshal(w.Body.Bytes(), into) != nil {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestASetupLinkMakesItsOpenerTheOwner(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	code, _, err := d.book.NewLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Repeat("A", len(code))
	open := func(who, code string) int {
		return d.ask(t, http.MethodPost, "/api/setup", `{"code":"`+code+`"}`, who).Code
	}
	lent := sign(t, d, carol,
		identitytest.Proof(identitytest.Delegation(t, alice, carol.DID, identitytest.Can("*", identity.OracleResource))))
	for _, c := range []struct {
		what, who, code string
		want            int
	}{
		{"without a key", "", code, 401},
		{"with somebody's delegation", lent, code, 403},
		{"another code", sign(t, d, alice), wrong, 404},
		{"in lower case", sign(t, d, alice), strings.ToLower(code), 404},
		{"half of it", sign(t, d, alice), code[:20], 404},
		{"the first", sign(t, d, alice), code, 200},
		{"the first again", sign(t, d, alice, identitytest.Nonce("2")), code, 200},
		{"another person", sign(t, d, bob), code, 410},
	} {
		if got := open(c.who, c.code); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
	if w := d.ask(t, http.MethodPost, "/own", "", sign(t, d, alice, can("operator/*"))); w.Code != http.StatusNoContent {
		t.Errorf("the owner: %d %s", w.Code, w.Body)
	}
	if len(d.welcomed) == 0 || d.welcomed[0] != alice.DID {
		t.Errorf("let in: %v", d.welcomed)
	}
	// Whoever guesses writes nothing.
	act := alice.DID + " owner POST /api/setup 200"
	if !slices.Equal(d.acts, []string{act, act}) {
		t.Errorf("written down: %q", d.acts)
	}
}
