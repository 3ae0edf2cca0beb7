package identity_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
)

// A delegation alone stands for its issuer only if it is about the oracle.
func TestWhichDelegationsLogIn(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	can, cids := identitytest.Can, identitytest.CIDs
	const cid = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
	for name, test := range map[string]struct {
		with []identitytest.Option
		want bool
	}{
		"everything on the oracle":     {[]identitytest.Option{can("*", "ixo:oracle")}, true},
		"everything":                   {[]identitytest.Option{can("*", "ixo:*")}, true},
		"memory":                       {[]identitytest.Option{can("memory/*", "ixo:memory")}, true},
		"sandbox":                      {[]identitytest.Option{can("sandbox/*", "ixo:sandbox")}, true},
		"skills":                       {[]identitytest.Option{can("skills/*", "ixo:skills")}, true},
		"subscriptions":                {[]identitytest.Option{can("subscriptions/read", "ixo:subscriptions")}, true},
		"as published clients mint it": {[]identitytest.Option{can("memory/*", "ixo:memory"), can("*", "ixo:filesystem/.oracles")}, true},
		"queries beside the oracle":    {[]identitytest.Option{can("query/read", "ixo:query"), can("*", "ixo:oracle")}, true},

		"knowledge":                     {[]identitytest.Option{can("knowledge/read", "ixo:knowledge")}, false},
		"all of knowledge":              {[]identitytest.Option{can("*", "ixo:knowledge")}, false},
		"looking as an operator":        {[]identitytest.Option{can("operator/view", "ixo:operator")}, false},
		"all that an operator may":      {[]identitytest.Option{can("*", "ixo:operator")}, false},
		"operators on everything":       {[]identitytest.Option{can("operator/*", "ixo:*")}, false},
		"queries":                       {[]identitytest.Option{can("query/read", "ixo:query")}, false},
		"everything on queries":         {[]identitytest.Option{can("*", "ixo:query")}, false},
		"queries of a kind":             {[]identitytest.Option{can("*", "ixo:query/bank")}, false},
		"queries in another spelling":   {[]identitytest.Option{can("*", "IXO:%71uery")}, false},
		"queries in capitals":           {[]identitytest.Option{can("*", "ixo:QUERY")}, false},
		"queries with a parameter":      {[]identitytest.Option{can("*", "ixo:query;x")}, false},
		"queries with a star":           {[]identitytest.Option{can("*", "ixo:query*")}, false},
		"queries in wide letters":       {[]identitytest.Option{can("*", "ixo:\uff51uery")}, false},
		"queries on everything":         {[]identitytest.Option{can("query/read", "ixo:*")}, false},
		"files by path":                 {[]identitytest.Option{can("fs/list", alice.Home("/nothing"))}, false},
		"everything in the file store":  {[]identitytest.Option{can("*", alice.Home(""))}, false},
		"the filesystem":                {[]identitytest.Option{can("*", "ixo:filesystem")}, false},
		"a folder of the filesystem":    {[]identitytest.Option{can("*", "ixo:filesystem/.oracles")}, false},
		"the filesystem, with a colon":  {[]identitytest.Option{can("*", "ixo:filesystem:x")}, false},
		"the filesystem, escaped":       {[]identitytest.Option{can("*", "ixo:file%73ystem")}, false},
		"files on everything":           {[]identitytest.Option{can("fs/read", "ixo:*")}, false},
		"files and queries":             {[]identitytest.Option{can("*", "ixo:filesystem"), can("query/read", "ixo:query")}, false},
		"one tool":                      {[]identitytest.Option{can("mcp/call", "ixo:oracle:did:ixo:entity:1:mcp/db/query")}, false},
		"everything on one tool":        {[]identitytest.Option{can("*", "ixo:oracle:did:ixo:entity:1:mcp/db/query")}, false},
		"a revocation":                  {[]identitytest.Option{can("ucan/revoke", alice.DID)}, false},
		"everything that its issuer is": {[]identitytest.Option{can("*", "ucan:*")}, false},
		"no name":                       {[]identitytest.Option{can("*", "ixo:")}, false},
		"a fragment":                    {[]identitytest.Option{can("*", "ixo:oracle#x")}, false},
		"another scheme":                {[]identitytest.Option{can("*", "https://oracle.example")}, false},
		"no CID":                        {[]identitytest.Option{cids("fs/list", alice.Home("/nothing"))}, false},
		"the oracle beside a CID":       {[]identitytest.Option{can("*", "ixo:oracle"), cids("fs/read", alice.Home(""), cid)}, false},
		"the oracle with CIDs":          {[]identitytest.Option{cids("*", "ixo:oracle", cid)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			token := identitytest.Delegation(t, alice, s.DID(), test.with...)
			for range 2 { // the second time it is remembered
				p, err := s.Authenticate(t.Context(), identity.Oracle, identity.Credentials{Delegation: token})
				if test.want {
					if err != nil || p.DID != alice.DID {
						t.Errorf("%s, %v", p.DID, err)
					}
					continue
				}
				if f := fault.From(err); f == nil || f.Kind != fault.Unauthenticated || f.Message != identity.TextMissing ||
					f.Code != identity.CodeNoLogin {
					t.Errorf("%s, %v", p.DID, err)
				}
			}
			// What does not log in is still a proof for downstream work.
			p := identitytest.Principal(t, s, alice)
			if _, err := s.StoreDelegation(t.Context(), p, identity.Deposit{Raw: token}); err != nil {
				t.Errorf("deposit: %v", err)
			}
			beside, err := s.Authenticate(t.Context(), identity.Oracle, identity.Credentials{
				Bearer: identitytest.Invocation(t, alice, s.DID()), AuthType: "ucan", Delegation: token,
			})
			if err != nil || beside.Delegation != token {
				t.Errorf("beside an invocation: %v", err)
			}
		})
	}
}

// What the program calls ixo:… by a name of its own, and whether a delegation for it
// alone stands for its issuer. A new name needs a row: it is for one purpose, unless
// somebody says why it is for all of a user's conversations.
var resourceLogsIn = map[string]bool{
	"oracle": true, "subscriptions": true,
	"filesystem": false, "knowledge": false, "operator": false, "query": false,
}

func TestEveryResourceSaysWhetherItLogsIn(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	for name, want := range resourceLogsIn {
		token := identitytest.Delegation(t, alice, s.DID(), identitytest.Can("*", "ixo:"+name))
		if _, err := s.Authenticate(t.Context(), identity.Oracle,
			identity.Credentials{Delegation: token}); (err == nil) != want {
			t.Errorf("a delegation for ixo:%s: %v", name, err)
		}
	}
	named := regexp.MustCompile(`"ixo:([a-z]+)`)
	seen := 0
	for _, root := range []string{"..", "../../plugin"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range named.FindAllSubmatch(source, -1) {
				seen++
				if _, ok := resourceLogsIn[string(m[1])]; !ok {
					t.Errorf("%s names ixo:%s: say in resourceLogsIn whether it logs in", path, m[1])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < len(resourceLogsIn) {
		t.Errorf("found %d names", seen)
	}
}
