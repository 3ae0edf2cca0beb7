package identity_test

import (
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// A token opens for agents what it is for, by the rules of each service.
func TestWhatATokenOpensForAgents(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	issue := func(options ...identitytest.Option) string {
		return identitytest.Delegation(t, alice, s.DID(), options...)
	}
	files, talk := identitytest.Can("fs/*", alice.Home("")), identitytest.Can("*", identity.OracleResource)
	minute := identitytest.TTL(time.Minute)
	for name, c := range map[string]struct {
		token         string
		files, oracle bool
		refused       fault.Kind
	}{
		"files":                  {token: issue(files, minute), files: true},
		"the oracle":             {token: issue(talk, minute), oracle: true},
		"both":                   {token: issue(files, talk, minute), files: true, oracle: true},
		"both for hours":         {token: issue(files, talk, identitytest.TTL(2*time.Hour)), files: true},
		"the oracle for hours":   {token: issue(talk, identitytest.TTL(2*time.Hour)), refused: fault.Forbidden},
		"chosen content":         {token: issue(identitytest.CIDs("fs/read", alice.Home("")), minute), files: true},
		"the oracle for content": {token: issue(identitytest.CIDs("*", identity.OracleResource), minute), refused: fault.Forbidden},
		"something else":         {token: issue(identitytest.Can("query/read", "ixo:query"), minute), refused: fault.Forbidden},
		"both, over":             {token: issue(files, talk, identitytest.TTL(-time.Minute)), refused: fault.Unauthenticated},
		"nothing":                {refused: fault.Unauthenticated},
		"an app key":             {token: identity.AppKeyPrefix + "x", refused: fault.Unauthenticated},
	} {
		for range 2 { // also when it is remembered
			a, err := s.AuthenticateAgent(t.Context(), identity.Credentials{Bearer: c.token})
			if c.refused != 0 {
				if !fault.Is(err, c.refused) {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if err != nil || (a.Files != nil) != c.files || (a.Oracle != nil) != c.oracle {
				t.Errorf("%s: files %v, oracle %v, %v", name, a.Files, a.Oracle, err)
			}
			if p, ok := a.Principal(); !ok || p.DID != alice.DID {
				t.Errorf("%s: %v", name, p)
			}
		}
	}
}
