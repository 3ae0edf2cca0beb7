package app

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// endedLink returns tokens by a share link that Alice ended: nothing that its holder adds of
// their own makes it another's, or them its owner.
func (w *world) endedLink(t *testing.T) map[string]string {
	t.Helper()
	link := w.link(t)
	var made struct{ ID string }
	w.alices(t, request{
		method: http.MethodPost, target: "/api/fs/shares",
		body: fmt.Sprintf(`{"delegation":"%s","path":"%s"}`, link, w.file(t).Path),
	}, &made)
	w.alices(t, request{method: http.MethodDelete, target: "/api/fs/shares/" + made.ID}, nil)
	by := func(more ...identitytest.Option) string {
		return identitytest.Files(t, mallory, w.DID(), "",
			append(more, identitytest.Can("fs/read", alice.Home("/"+marker)), identitytest.Proof(link), identitytest.TTL(lasting))...)
	}
	return map[string]string{
		"an ended link":                         by(),
		"it beside an unknown ability of one's": by(identitytest.Can("x/y", mallory.Home(""))),
		"it beside one's oracle":                by(identitytest.Can("*", identity.OracleResource)),
		"it beside one's queries":               by(identitytest.Can("query/read", "ixo:query")),
	}
}
