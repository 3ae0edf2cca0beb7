package filestore_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// A delegate whose token has a grant of their own beside it stays a delegate, wherever it stands.
func TestOneGrantOfOnesOwnMakesNobodyTheOwner(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	alices := identitytest.Can("fs/read", identitytest.Alice.Home("/a"))
	link := identitytest.Delegation(t, identitytest.Alice, identitytest.Bob.DID, alices)
	for name, own := range map[string]identitytest.Option{
		"an ability that no service knows": identitytest.Can("x/y", identitytest.Bob.Home("")),
		"the oracle":                       identitytest.Can("*", identity.OracleResource),
	} {
		for order, options := range map[string][]identitytest.Option{
			"before": {own, alices}, "behind": {alices, own},
		} {
			token := identitytest.Files(t, identitytest.Bob, s.DID(), "", append(options, identitytest.Proof(link))...)
			p := identitytest.FilesPrincipal(t, s, token)
			a, err := filestore.AccessOf(p)
			if err != nil || len(a.Chain) == 0 || a.Actor != identitytest.Alice.DID || a.Invoker != identitytest.Bob.DID {
				t.Errorf("%s %s: %+v, %v", name, order, a, err)
			}
			if p.Root != identitytest.Alice.DID {
				t.Errorf("%s %s: the root is %s", name, order, p.Root)
			}
		}
	}
}
