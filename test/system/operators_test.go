package system

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/identity/operators"
)

// asOperator signs a request to an operators' route.
func signedByOperator(t *testing.T, w *World, who identitytest.Actor, method, path, body string) Call {
	t.Helper()
	var document struct{ ID string }
	w.Node(0).Get(t, "/.well-known/did.json").JSON(t, &document)
	token := identitytest.Invocation(t, who, document.ID, identitytest.Can("operator/*", operators.OperatorResource))
	return Call{Method: method, Path: path, Body: body, Header: http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token}, "X-Auth-Type": {"ucan"},
	}}
}

// TestASetupLinkMakesOneOwner opens a link that the command line printed, by many at
// once and on all nodes: one becomes the owner, everywhere, gives roles and takes
// them away.
func TestASetupLinkMakesOneOwner(t *testing.T) {
	t.Parallel()
	Each(t, func(t *testing.T, w *World) {
		text, code := Run(t, w.Env, "setup-link", "--server", "https://o.example")
		_, secret, found := strings.Cut(text, "https://o.example/console/setup#")
		if secret, _, _ = strings.Cut(secret, "\n"); code != 0 || !found {
			t.Fatalf("setup-link: %d %s", code, text)
		}
		var (
			running sync.WaitGroup
			mu      sync.Mutex
			owners  []identitytest.Actor
		)
		for i := range 6 {
			who := newGuest(t, w, identitytest.NewActor(fmt.Sprint("opener", i)))
			running.Go(func() {
				got := w.Node(i).Do(t, who.call(http.MethodPost, "/api/setup", `{"code":"`+secret+`"}`))
				mu.Lock()
				defer mu.Unlock()
				switch got.Status {
				case http.StatusOK:
					owners = append(owners, who.Actor)
				case http.StatusGone:
				default:
					t.Errorf("opener %d: %d %s", i, got.Status, got.Body)
				}
			})
		}
		running.Wait()
		if len(owners) != 1 {
			t.Fatalf("%d owners", len(owners))
		}
		owner, viewer := owners[0], identitytest.NewActor("viewer")
		newGuest(t, w, owner).inside(t, w)
		path := "/operator/operators/" + viewer.DID
		if got := w.Node(0).Do(t, signedByOperator(t, w, owner, http.MethodPut, path, `{"role":"viewer","note":"keeps the books"}`)); got.Status != http.StatusOK {
			t.Fatalf("give a role: %d %s", got.Status, got.Body)
		}
		for i, n := range w.Nodes {
			for what, c := range map[string]struct {
				call Call
				want int
			}{
				"look":   {signedByOperator(t, w, viewer, http.MethodGet, "/operator/members", ""), http.StatusOK},
				"change": {signedByOperator(t, w, viewer, http.MethodPost, "/operator/invitations", "{}"), http.StatusForbidden},
				"own":    {signedByOperator(t, w, viewer, http.MethodDelete, "/operator/operators/"+owner.DID, ""), http.StatusForbidden},
			} {
				if got := n.Do(t, c.call); got.Status != c.want {
					t.Errorf("%s at node %d: %d %s, want %d", what, i, got.Status, got.Body, c.want)
				}
			}
		}
		if text, code := Run(t, w.Env, "operators", "list"); code != 0 || !strings.Contains(text, owner.DID) ||
			!strings.Contains(text, "keeps the books") {
			t.Errorf("operators list: %d %s", code, text)
		}
		if text, code := Run(t, w.Env, "operators", "remove", viewer.DID); code != 0 {
			t.Errorf("operators remove: %d %s", code, text)
		}
		for i, n := range w.Nodes {
			if got := n.Do(t, signedByOperator(t, w, viewer, http.MethodGet, "/operator/members",
				"")); got.Status != http.StatusUnauthorized {
				t.Errorf("after the role was taken away, at node %d: %d", i, got.Status)
			}
			if strings.Contains(n.Log(), secret) {
				t.Errorf("node %d logs the code of the link", i)
			}
		}
	}, "ACCESS=invite", "OPERATOR_TOKEN="+gatekeeper)
}
