package mcp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/plugins/mcp"
	"github.com/castalia-org/castalia/internal/plugins/mcp/mcptest"
)

// shared is a node whose operator has the server wiki, at which Alice has authorized, beside
// notes, which is her own.
func shared(t *testing.T) (w *world, own, operators *mcptest.Issuer) {
	t.Helper()
	own, operators = mcptest.NewIssuer(t), mcptest.NewIssuer(t)
	notes, wiki := mcptest.NewProtected(t, own), mcptest.NewProtected(t, operators)
	cfg := private
	cfg.Servers = []string{"wiki=" + wiki.URL + "/mcp"}
	w = open(t, cfg)
	w.server, w.alice = notes, w.As(t, identitytest.Alice)
	authorized(t, w.alice, "notes", notes.URL+"/mcp")
	var link mcp.Authorization
	w.alice.Do("POST", "/mcp-servers/wiki/authorize", nil).JSON(t, &link)
	code := mcptest.Code(t, mcptest.Agree(t, link.URL))
	if r := w.alice.Do("POST", "/mcp-servers/wiki/confirm", mcp.Confirmation{Code: code}); r.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", r.Status, r.Body)
	}
	return w, own, operators
}

// erased gives back and forgets what Alice has, as an operator who erases her does.
func (w *world) erased(t *testing.T) []string {
	t.Helper()
	left, err := w.plugin.ReturnUser(t.Context(), identitytest.Alice.DID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.plugin.ForgetUser(t.Context(), identitytest.Alice.DID); err != nil {
		t.Fatal(err)
	}
	if kept := w.kept(t); len(kept["g"].Value)+len(kept["s"].Value) != 0 {
		t.Errorf("kept: %v", kept)
	}
	return left
}

// Whoever is erased takes back what they authorized, at their own servers and at the operator's.
func TestWhoIsErasedLeavesNoTokens(t *testing.T) {
	t.Parallel()
	w, own, operators := shared(t)
	if left := w.erased(t); len(left) != 0 || own.Revoked == 0 || operators.Revoked == 0 {
		t.Errorf("left %q; %d revoked at their own, %d at the operator's", left, own.Revoked, operators.Revoked)
	}
	if left := w.erased(t); len(left) != 0 {
		t.Errorf("again: %q", left)
	}
}

// An authorization server that is away holds nothing up, and what it was not told is said.
func TestTokensThatCannotBeGivenBackAreNamed(t *testing.T) {
	t.Parallel()
	w, own, operators := shared(t)
	operators.Web.Close()
	left := w.erased(t)
	if len(left) != 1 || !strings.Contains(left[0], "wiki") || own.Revoked == 0 {
		t.Errorf("left %q; %d revoked", left, own.Revoked)
	}
	for _, secret := range operators.Secrets() {
		if strings.Contains(strings.Join(left, " ")+w.log.String(), secret) {
			t.Error("a secret is told")
		}
	}
}

// One without a place for revoking is named as such.
func TestTokensThatNobodyTakesBackAreNamed(t *testing.T) {
	t.Parallel()
	a := mcptest.NewIssuer(t)
	delete(a.Meta, "revocation_endpoint")
	server := mcptest.NewProtected(t, a)
	w := open(t, private)
	authorized(t, w.As(t, identitytest.Alice), "notes", server.URL+"/mcp")
	if left := w.erased(t); len(left) != 1 || !strings.Contains(left[0], "takes no tokens back") {
		t.Errorf("left %q", left)
	}
}
