package membershiphttp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identityhttp"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/identity/membership"
	"github.com/castalia-org/castalia/internal/identity/membership/membershiphttp"
	"github.com/castalia-org/castalia/internal/identity/membership/membershipsql"
	"github.com/castalia-org/castalia/internal/platform/httpserver"
	"github.com/castalia-org/castalia/internal/platform/ratelimit"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// tries lets so many wrong codes through.
type tries int

func (n *tries) Guessed(context.Context) error {
	if *n--; *n < 0 {
		return ratelimit.Refusal(time.Minute)
	}
	return nil
}

func serve(t *testing.T, failures *tries) *httpserver.Server {
	t.Helper()
	return serveWith(t, membership.Invite, failures)
}

func serveWith(t *testing.T, mode membership.Mode, failures *tries) *httpserver.Server {
	t.Helper()
	book, err := membership.NewBook(membershipsql.New(sqldbtest.Migrate(t, sqldbtest.SQLite(t),
		membershipsql.Migrations())), []string{identitytest.Carol.DID}, nil)
	if err != nil {
		t.Fatal(err)
	}
	door, err := membership.NewDoor(book, membership.Config{
		Mode: func() membership.Mode { return mode }, ServiceDID: identitytest.Oracle.DID,
	})
	if err != nil {
		t.Fatal(err)
	}
	service := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Door = door })
	server, err := httpserver.New(httpserver.Config{LocalOperator: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Mount(membershiphttp.Surface(membershiphttp.Deps{
		Book: book, Door: door, Failures: failures, Authenticate: identityhttp.Wrap(service, identity.Entrance),
	})); err != nil {
		t.Fatal(err)
	}
	return server
}

func ask(t *testing.T, server http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.RemoteAddr, r.Host = "127.0.0.1:4000", "localhost"
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w
}

func TestBadRequestsOfOperators(t *testing.T) {
	t.Parallel()
	few := tries(10)
	server := serve(t, &few)
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/operator/members?limit=0", "", 400, "limit must be a whole number from 1 to 500"},
		{"GET", "/operator/members?limit=x", "", 400, "limit must be a whole number from 1 to 500"},
		{"GET", "/operator/invitations?limit=501", "", 400, "limit must be a whole number from 1 to 500"},
		{"PUT", "/operator/members/ann", "", 400, `"ann\" is not a DID`},
		{"PUT", "/operator/members/" + identitytest.Bob.DID, `{"name":"Bob"}`, 400, "name"},
		{"PUT", "/operator/members/" + identitytest.Bob.DID, `{"note":"` + strings.Repeat("x", 201) + `"}`, 400, "note must be shorter"},
		{"PUT", "/operator/members/" + identitytest.Bob.DID, "", 201, identitytest.Bob.DID},
		{"PUT", "/operator/members/" + identitytest.Bob.DID, `{"note":"Bob"}`, 200, identitytest.Bob.DID},
		{"GET", "/operator/members?limit=1", "", 200, `"next":"` + identitytest.Bob.DID},
		{"GET", "/operator/members?search=" + identitytest.Bob.DID[:20], "", 200, identitytest.Bob.DID},
		{"GET", "/operator/members?search=" + identitytest.Bob.DID + "x", "", 200, `{"members":[]}`},
		{"GET", "/operator/members?search=" + identitytest.Bob.DID[:20] + "&after=" + identitytest.Bob.DID, "", 200, `{"members":[]}`},
		{"PUT", "/operator/members/" + identitytest.Alice.DID, `{"note":"Wanjiru, treasurer"}`, 201, "treasurer"},
		{"GET", "/operator/members?search=wanj", "", 200, `{"members":[{"did":"` + identitytest.Alice.DID + `","note":"Wanjiru, treasurer"`},
		{"GET", "/operator/members?search=bob", "", 200, `{"members":[]}`},
		{"GET", "/operator/members?search=" + strings.Repeat("x", 201), "", 400, "search of at most 200 bytes"},
		{"GET", "/operator/members?search=%00", "", 400, "text in UTF-8"},
		{"DELETE", "/operator/members/" + identitytest.Alice.DID, "", 204, ""},
		{"GET", "/operator/access", "", 200, `{"access":"invite","members":1,"named":1}`},
		{"DELETE", "/operator/members/" + identitytest.Carol.DID, "", 409, "named by ACCESS_DIDS"},
		{"DELETE", "/operator/members/" + identitytest.Bob.DID, "", 204, ""},
		{"DELETE", "/operator/members/" + identitytest.Bob.DID, "", 404, "The DID is not a member."},
		{"POST", "/operator/invitations", `{"maxUses":-1}`, 400, "uses must be a whole number from 1 to 10000"},
		{"POST", "/operator/invitations", `{"maxUses":10001}`, 400, "uses must be a whole number from 1 to 10000"},
		{"POST", "/operator/invitations", `{"expiresIn":59}`, 400, "an invitation lasts from one minute to 90 days"},
		{"POST", "/operator/invitations", `{"expiresIn":9000000000}`, 400, "at most 90 days"},
		{"POST", "/operator/invitations", `{"uses":1}`, 400, "uses"},
		{"DELETE", "/operator/invitations/none", "", 404, "no such invitation"},
	} {
		if w := ask(t, server, c.method, c.path, c.body); w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s %s: %d %s; want %d with %s", c.method, c.path, c.body, w.Code, w.Body, c.status, c.says)
		}
	}
}

func TestRedeeming(t *testing.T) {
	t.Parallel()
	few := tries(3)
	server := serve(t, &few)
	var made membershiphttp.MadeInvitation
	if err := json.Unmarshal(ask(t, server, "POST", "/operator/invitations", `{}`).Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	if list := ask(t, server, "GET", "/operator/invitations", "").Body.String(); strings.Contains(list, made.Code) ||
		!strings.Contains(list, made.ID) {
		t.Errorf("the list of invitations: %s", list)
	}
	bob := []string{"X-Auth-Type", "ucan", "Authorization", "Bearer " + identitytest.Invocation(t, identitytest.Bob, identitytest.Oracle.DID)}
	for _, c := range []struct {
		body   string
		header []string
		status int
		says   string
	}{
		{`{"code":"` + made.Code + `"}`, nil, 401, identity.TextMissingInvocation},
		{`{"code":"` + made.Code + `"}`, bob[2:], 401, identity.TextMissingInvocation},
		{`{"code":1}`, bob, 400, "code"},
		{`{"link":"x"}`, bob, 400, "link"},
		{`{}`, bob, 404, "There is no such invitation"},
		{`{"code":"` + strings.ToLower(made.Code) + `"}`, bob, 404, "There is no such invitation"},
		{`{"code":"` + made.Code + `"}`, bob, 200, identitytest.Bob.DID},
		{`{"code":"` + made.Code[1:] + `"}`, bob, 404, "There is no such invitation"},
		{`{"code":"` + made.Code[1:] + `"}`, bob, 429, ""},               // enough wrong ones
		{`{"code":"` + made.Code + `"}`, bob, 200, identitytest.Bob.DID}, // the right one is served
	} {
		if w := ask(t, server, "POST", "/api/invitations/redeem", c.body, c.header...); w.Code != c.status ||
			!strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: %d %s; want %d with %s", c.body, w.Code, w.Body, c.status, c.says)
		}
	}
}

// An invitation outlives the choice to take people by it: once the door is
// closed it makes no members, and does no harm to those who are.
func TestNobodyComesToAClosedDoorByInvitation(t *testing.T) {
	t.Parallel()
	few := tries(3)
	server := serveWith(t, membership.Closed, &few)
	var made membershiphttp.MadeInvitation
	if err := json.Unmarshal(ask(t, server, "POST", "/operator/invitations", `{}`).Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	redeem := func(who identitytest.Actor) *httptest.ResponseRecorder {
		return ask(t, server, "POST", "/api/invitations/redeem", `{"code":"`+made.Code+`"}`,
			"X-Auth-Type", "ucan", "Authorization", "Bearer "+identitytest.Invocation(t, who, identitytest.Oracle.DID))
	}
	if w := redeem(identitytest.Bob); w.Code != http.StatusForbidden ||
		!strings.Contains(w.Body.String(), membership.CodeNotMember) {
		t.Errorf("a stranger: %d %s", w.Code, w.Body)
	}
	if w := redeem(identitytest.Carol); w.Code != http.StatusOK {
		t.Errorf("a member: %d %s", w.Code, w.Body)
	}
	if list := ask(t, server, "GET", "/operator/members", "").Body.String(); strings.Contains(list, identitytest.Bob.DID) {
		t.Errorf("members: %s", list)
	}
}
