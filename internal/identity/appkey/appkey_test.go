package appkey_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeysql"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeytest"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

var (
	alice = identitytest.Alice
	bob   = identitytest.Bob
)

// node is one process: its own memory of what was withdrawn, on shared records.
type node struct {
	*appkey.Service
	who *identity.Service
}

func newNode(t *testing.T, db *sqldb.DB, now func() time.Time) node {
	t.Helper()
	who := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Store, d.Now = identitysql.New(db), now })
	return node{appkeytest.New(t, appkeysql.New(db), who, func(d *appkey.Deps) { d.Now = now }), who}
}

// each runs body on both engines with two nodes.
func each(t *testing.T, body func(t *testing.T, here, there node)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), identitysql.Migrations())
		body(t, newNode(t, db, time.Now), newNode(t, db, time.Now))
	})
}

// opens reports the code of the refusal of an app key, or "" when it opens the scope.
func opens(t *testing.T, s *appkey.Service, scope appkey.Scope, text string) string {
	t.Helper()
	_, err := s.Authenticate(t.Context(), scope, text)
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}

func TestAnAppKeyGivesWhatATokenGives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here, there node) {
		k, text := appkeytest.Make(t, here.Service, alice, "openwebui", appkeytest.For(alice, appkey.Oracle),
			identitytest.Can("fs/read", alice.Home("/docs")))
		a, err := there.Authenticate(t.Context(), appkey.Oracle, text)
		if err != nil {
			t.Fatal(err)
		}
		if p := a.Principal; p.DID != alice.DID || p.Root != alice.DID || p.Sponsor != alice.DID ||
			p.Kind != identity.ByAppKey || p.TokenCID != k.Proof || p.CIDs != nil {
			t.Errorf("at the oracle it is %+v", p)
		}
		if a.Key.ID != k.ID || a.Key.Name != "openwebui" || a.Key.Maker != alice.DID {
			t.Errorf("the key is %+v", a.Key)
		}
		a, err = there.Authenticate(t.Context(), appkey.Files, text)
		if err != nil {
			t.Fatal(err)
		}
		if p := a.Principal; p.DID != k.DID || p.Root != alice.DID || p.DID == p.Root {
			t.Errorf("at the files it is %+v", p)
		}
		namespace, areas, err := a.Principal.Areas("fs/read")
		if err != nil || namespace != alice.DID || len(areas) != 1 || areas[0].Root != "/docs" || len(areas[0].Reveal) != 0 {
			t.Errorf("reads %v in %s, %v", areas, namespace, err)
		}
		if _, _, err := a.Principal.Areas("fs/write"); !fault.Is(err, fault.Forbidden) {
			t.Errorf("writes: %v", err)
		}
		if code := opens(t, there.Service, appkey.Knowledge, text); code != appkey.CodeScope {
			t.Errorf("knowledge: %q", code)
		}
	})
}

func TestAWrongKeyOpensNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here, there node) {
		_, text := appkeytest.Make(t, here.Service, alice, "one")
		if len(text) != appkey.TextLength || !identity.IsAppKey(text) {
			t.Fatalf("the key is %q", text)
		}
		flip := func(i int) string {
			b := []byte(text)
			if b[i]++; b[i] > 'z' || b[i] == '8' {
				b[i] = 'a'
			}
			return string(b)
		}
		for what, other := range map[string]string{
			"nothing": "", "the prefix": identity.AppKeyPrefix, "upper case": strings.ToUpper(text), "a blank": text + " ", "padded": text + "=",
			"a line break": text[:10] + "\n" + text[10:], "a line break for a character": text[:10] + "\n" + text[11:], "cut": text[:len(text)-1],
			"another secret": flip(10), "another checksum": flip(len(text) - 1), "no prefix": text[4:], "twice": text + text,
		} {
			if code := opens(t, there.Service, appkey.Any, other); code != appkey.CodeUnknown {
				t.Errorf("%s: %q", what, code)
			}
		}
		if code := opens(t, there.Service, appkey.Any, text); code != "" {
			t.Errorf("the key itself: %q", code)
		}
	})
}

// TestAppKeyHasOneSpelling: of all texts that differ from a key in one character none
// is that key, or another one.
func TestAppKeyHasOneSpelling(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here, _ node) {
		_, text := appkeytest.Make(t, here.Service, alice, "one")
		for i := range len(text) {
			for _, c := range "AZaz27018=-_ \n\x00" {
				if other := text[:i] + string(c) + text[i+1:]; other != text {
					if _, err := here.Authenticate(t.Context(), appkey.Any, other); !errors.Is(err, appkey.ErrUnknown) {
						t.Fatalf("%q is taken for %q: %v", other, text, err)
					}
				}
			}
		}
	})
}

func TestRevokedIsRevokedEverywhere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here, there node) {
		k, text := appkeytest.Make(t, here.Service, alice, "one")
		a, err := there.Authenticate(t.Context(), appkey.Oracle, text) // which the other node remembers
		if err != nil {
			t.Fatal(err)
		}
		ended, stop := there.who.Watch(a.Principal)
		defer stop()
		if _, err := here.Revoke(t.Context(), bob.DID, k.ID); !fault.Is(err, fault.NotFound) {
			t.Errorf("Bob revokes Alice's key: %v", err)
		}
		for range 2 { // a second time is fine
			if _, err := here.Revoke(t.Context(), alice.DID, k.ID); err != nil {
				t.Fatal(err)
			}
			for _, n := range []node{here, there} {
				if code := opens(t, n.Service, appkey.Oracle, text); code != appkey.CodeRevoked {
					t.Errorf("after its revocation: %q", code)
				}
			}
		}
		if err := there.who.Load(t.Context()); err != nil { // as its worker does
			t.Fatal(err)
		}
		<-ended
		if list, err := there.List(t.Context(), alice.DID); err != nil || len(list) != 1 ||
			list[0].State(time.Now()) != "revoked" {
			t.Errorf("listed as %v, %v", list, err)
		}
		appkeytest.Make(t, there.Service, alice, "one") // the name is free
	})
}

// TestTheKeyEndsWithWhatItStandsOn withdraws by tokens' own means.
func TestTheKeyEndsWithWhatItStandsOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here, there node) {
		proof := identitytest.Delegation(t, bob, alice.DID, identitytest.Can("fs/read", bob.Home("/shared")),
			identitytest.TTL(30*time.Minute))
		k, direct := appkeytest.Make(t, here.Service, alice, "direct")
		by, through := appkeytest.Make(t, here.Service, alice, "through", identitytest.Can("fs/read", bob.Home("/shared/x")),
			identitytest.Proof(proof))
		if !by.Expires.Before(k.Expires) {
			t.Errorf("it lasts until %v, longer than Bob's word", by.Expires)
		}
		a, err := there.Authenticate(t.Context(), appkey.Files, through)
		if err != nil || a.Principal.Root != bob.DID {
			t.Fatalf("on Bob's word: %+v, %v", a, err)
		}
		for what, c := range map[string]struct{ token, text string }{
			"the maker's delegation": {k.Delegation, direct},
			"a proof":                {proof, through},
		} {
			token, err := ucan.Parse(c.token)
			if err != nil {
				t.Fatal(err)
			}
			if code := opens(t, here.Service, appkey.Any, c.text); code != "" {
				t.Fatalf("%s before: %q", what, code)
			}
			if _, err := here.who.RevokeByOperator(t.Context(), identity.RevokedToken, token.CID()); err != nil {
				t.Fatal(err)
			}
			if code := opens(t, here.Service, appkey.Any, c.text); code != appkey.CodeRevoked {
				t.Errorf("%s after: %q", what, code)
			}
		}
		if list, err := here.List(t.Context(), alice.DID); err != nil || list[0].State(time.Now()) != "revoked" ||
			list[1].State(time.Now()) != "revoked" {
			t.Errorf("listed as %v, %v", list, err)
		}
	})
}

func TestNoKeyIsWiderThanItsMaker(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, here, _ node) {
		proof := identitytest.Delegation(t, bob, alice.DID, identitytest.Can("fs/read", bob.Home("/shared")))
		elsewhere := identitytest.UserToOracle(t, alice, here.who.DID())
		for what, c := range map[string]struct {
			options []identitytest.Option
			change  func(*appkey.NewKey)
			kind    fault.Kind
		}{
			"Bob's files": {
				options: []identitytest.Option{identitytest.Can("fs/read", bob.Home(""))}, kind: fault.Forbidden,
			},
			"some of it Bob's": {options: []identitytest.Option{
				identitytest.Can("fs/read", alice.Home("")), identitytest.Can("fs/read", bob.Home("")),
			}, kind: fault.Forbidden},
			"more than Bob's word": {options: []identitytest.Option{
				identitytest.Can("fs/write", bob.Home("/shared")), identitytest.Proof(proof),
			}, kind: fault.Forbidden},
			"beside Bob's word": {options: []identitytest.Option{
				identitytest.Can("fs/read", bob.Home("/other")), identitytest.Proof(proof),
			}, kind: fault.Forbidden},
			"restricted to CIDs": {options: []identitytest.Option{identitytest.CIDs("fs/read", alice.Home(""))}, kind: fault.Forbidden},
			"for ever":           {options: []identitytest.Option{identitytest.Expires(time.Time{})}, kind: fault.Invalid},
			"for too long":       {options: []identitytest.Option{identitytest.TTL(368 * 24 * time.Hour)}, kind: fault.Invalid},
			"expired": {
				options: []identitytest.Option{identitytest.TTL(-time.Minute)}, kind: fault.Unauthenticated,
			},
			"everything":              {options: []identitytest.Option{identitytest.Can("*", "ucan:*")}, kind: fault.Invalid},
			"everything in the files": {options: []identitytest.Option{identitytest.Can("*", alice.Home(""))}, kind: fault.Invalid},
			"a tool":                  {options: []identitytest.Option{identitytest.Can("mcp/call", "ixo:oracle:x:mcp/db/query")}, kind: fault.Invalid},
			"revocations":             {options: []identitytest.Option{identitytest.Can("ucan/revoke", alice.DID)}, kind: fault.Invalid},
			"to the service itself":   {change: func(n *appkey.NewKey) { n.Delegation = elsewhere }, kind: fault.Invalid},
			"signed by another": {change: func(n *appkey.NewKey) {
				n.Delegation = appkeytest.Request(t, here.Service, bob, "x").Delegation
			}, kind: fault.Invalid},
			"for another id": {change: func(n *appkey.NewKey) {
				n.ID = appkeytest.Request(t, here.Service, bob, "x").ID
			}, kind: fault.Invalid},
			"an id of their own":          {change: func(n *appkey.NewKey) { n.ID = "me" }, kind: fault.Invalid},
			"garbage":                     {change: func(n *appkey.NewKey) { n.Delegation = "garbage" }, kind: fault.Invalid},
			"a delegation without an end": {change: func(n *appkey.NewKey) { n.Delegation += strings.Repeat("A", 32<<10) }, kind: fault.Invalid},
			"no name":                     {change: func(n *appkey.NewKey) { n.Name = "" }, kind: fault.Invalid},
			"a name in capitals":          {change: func(n *appkey.NewKey) { n.Name = "OpenWebUI" }, kind: fault.Invalid},
			"a name that is a flag":       {change: func(n *appkey.NewKey) { n.Name = "-x" }, kind: fault.Invalid},
			"a name that is too long":     {change: func(n *appkey.NewKey) { n.Name = strings.Repeat("x", 41) }, kind: fault.Invalid},
			"less than nothing to use":    {change: func(n *appkey.NewKey) { n.Budget.Tokens = -1 }, kind: fault.Invalid},
			"more than can be counted":    {change: func(n *appkey.NewKey) { n.Budget.Micros = 1 << 62 }, kind: fault.Invalid},
			"the word of someone absent": {options: []identitytest.Option{identitytest.Can("fs/read",
				identity.FileResource("did:ixo:entity:1", ""))}, kind: fault.Unavailable},
		} {
			n := appkeytest.Request(t, here.Service, alice, "one", c.options...)
			if c.change != nil {
				c.change(&n)
			}
			if _, _, err := here.Make(t.Context(), identity.Principal{DID: alice.DID}, n); !fault.Is(err, c.kind) {
				t.Errorf("%s: %v, want %v", what, err, c.kind)
			}
		}
		if list, err := here.List(t.Context(), alice.DID); err != nil || len(list) != 0 {
			t.Errorf("%v were made, %v", list, err)
		}
	})
}

func TestAKeyExpiresAndIsSpent(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		now := time.Now()
		s := newNode(t, sqldbtest.Migrate(t, open(t), identitysql.Migrations()), func() time.Time { return now })
		n := appkeytest.Request(t, s.Service, alice, "one", appkeytest.For(alice, appkey.Oracle),
			appkeytest.For(alice, appkey.Files), appkeytest.For(alice, appkey.Knowledge))
		n.Budget = appkey.Amount{Tokens: 100}
		k, text, err := s.Make(t.Context(), identity.Principal{DID: alice.DID}, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, used := range []int64{99, 0, -50} {
			if err := s.Settle(t.Context(), k.ID, appkey.Amount{}, appkey.Amount{Tokens: used, Micros: 7}); err != nil {
				t.Fatal(err)
			}
			if code := opens(t, s.Service, appkey.Oracle, text); code != "" {
				t.Errorf("with a token left: %q", code)
			}
		}
		if err := s.Settle(t.Context(), k.ID, appkey.Amount{}, appkey.Amount{Tokens: 1}); err != nil {
			t.Fatal(err)
		}
		for scope, want := range map[appkey.Scope]string{
			appkey.Oracle:    appkey.CodeBudget,
			appkey.Knowledge: appkey.CodeBudget, appkey.Files: "", appkey.Any: "",
		} {
			if code := opens(t, s.Service, scope, text); code != want {
				t.Errorf("spent, for %q: %q", scope, code)
			}
		}
		list, err := s.List(t.Context(), alice.DID)
		if err != nil || len(list) != 1 || list[0].Spent != (appkey.Amount{Tokens: 100, Micros: 21}) ||
			list[0].State(now) != "spent" {
			t.Errorf("listed as %+v, %v", list, err)
		}
		if d := now.Sub(list[0].Used); d < 0 || d >= time.Minute {
			t.Errorf("used %v ago", d)
		}
		now = k.Expires
		if code := opens(t, s.Service, appkey.Any, text); code != appkey.CodeExpired {
			t.Errorf("when it has expired: %q", code)
		}
	})
}

// TestNothingAtRestOpensAnything: the record has neither the text nor anything that
// the doors of tokens take.
func TestNothingAtRestOpensAnything(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), identitysql.Migrations())
		s := newNode(t, db, time.Now)
		k, text := appkeytest.Make(t, s.Service, alice, "one")
		var found int
		if err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM identity_app_keys WHERE digest = $1 OR delegation LIKE $2 OR id = $1`,
			text, "%"+text[4:]+"%").Scan(&found); err != nil || found != 0 {
			t.Errorf("the text is stored: %d, %v", found, err)
		}
		for _, c := range []identity.Credentials{{Delegation: k.Delegation}, {Bearer: k.Delegation, AuthType: "ucan"}} {
			for _, surface := range []identity.Surface{
				identity.Oracle, identity.Files, identity.MCP, identity.Query,
				identity.Entrance,
			} {
				if p, err := s.who.Authenticate(t.Context(), surface, c); err == nil {
					t.Errorf("the stored delegation opens %v as %v", surface, p)
				}
			}
		}
		for _, surface := range []identity.Surface{
			identity.Oracle, identity.Files, identity.MCP, identity.Query,
			identity.Entrance,
		} {
			_, err := s.who.Authenticate(t.Context(), surface, identity.Credentials{Bearer: text, AuthType: "ucan"})
			if !fault.Is(err, fault.Unauthenticated) || fault.From(err).Code != identity.CodeAppKey {
				t.Errorf("%v to an app key: %v", surface, err)
			}
		}
	})
}

func TestAScopedTokenIsRefused(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	scoped := identitytest.FilesPrincipal(t, s,
		identitytest.Files(t, alice, s.DID(), "", identitytest.CIDs("fs/read", alice.Home(""))))
	if err := appkey.RefuseCIDs(scoped); !fault.Is(err, fault.Forbidden) || fault.From(err).Code != appkey.CodeCIDs {
		t.Errorf("a token without a CID: %v", err)
	}
	if err := appkey.RefuseCIDs(identitytest.Principal(t, s, alice)); err != nil {
		t.Errorf("a token of all: %v", err)
	}
}
