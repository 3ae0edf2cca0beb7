package filestorehttp_test

import (
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoretest"
)

// Whoever is refused for what the token does not grant is told what it would take.
func TestRefusalsNameTheAbility(t *testing.T) {
	t.Parallel()
	s := newSite(t, filestoretest.Embedded(t))
	f := s.put("/f", "x")
	at := "/api/fs/files/" + f.ID
	for _, c := range []struct{ granted, method, target, body, missing string }{
		{"fs/list", "GET", "/api/fs/content?path=/f", "", "fs/read"},
		{"fs/list", "GET", "/api/fs/cid/" + f.CID, "", "fs/read"},
		{"fs/list", "GET", at + "/read", "", "fs/read"},
		{"fs/list", "GET", at + "/versions", "", "fs/read"},
		{"fs/list", "GET", "/api/fs/search?q=x", "", "fs/read"},
		{"fs/list", "GET", "/api/fs/export", "", "fs/read"},
		{"fs/read", "PUT", "/api/fs/content?path=/f", "y", "fs/write"},
		{"fs/read", "PATCH", at + "/edit", `{"oldString":"x","newString":"y"}`, "fs/write"},
		{"fs/read", "PATCH", at + "/public?public=true", "", "fs/write"},
		{"fs/read", "POST", "/api/fs/move", `{"from":"/f","to":"/g"}`, "fs/write"},
		{"fs/read", "POST", "/api/fs/batch/move", `{"items":[]}`, "fs/write"},
		{"fs/read", "POST", "/api/fs/upload", "", "fs/write"},
		{"fs/write", "DELETE", at, "", "fs/delete"},
		{"fs/write", "POST", "/api/fs/batch/purge", `{"ids":["x"]}`, "fs/delete"},
		{"fs/write", "POST", "/api/fs/move", `{"from":"/f","to":"/g","overwrite":true}`, "fs/delete"},
		{"fs/write", "GET", "/api/fs/audit", "", "fs/delete"},
	} {
		a := s.do(token(t, alice, c.granted), c.method, c.target, c.body, tusHeader, "Upload-Length: 1", "Upload-Metadata: path "+b64("/u")).want(403)
		if !strings.Contains(a.body, c.missing) {
			t.Errorf("%s %s with %s: %s", c.method, c.target, c.granted, a.body)
		}
	}
	// A token that is about something else is told what it is about.
	a := s.do(token(t, alice, "", identitytest.Can("query/read", "ixo:query")), "GET", "/api/fs/tree", "").want(403)
	if !strings.Contains(a.body, "ixo:query") {
		t.Errorf("a token for queries: %s", a.body)
	}
	grant := identitytest.Delegation(t, alice, bob.DID, identitytest.Can("fs/read", alice.Home("")))
	a = s.do(token(t, bob, "", identitytest.Can("fs/write", alice.Home("")), identitytest.Proof(grant)), "PUT", "/api/fs/content?path=/x", "y").want(403)
	if !strings.Contains(a.body, "fs/write") || !strings.Contains(a.body, "fs/read") {
		t.Errorf("more than was delegated: %s", a.body)
	}
}
