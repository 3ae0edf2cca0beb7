package identity_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
)

var (
	alice   = identitytest.Alice
	bob     = identitytest.Bob
	mallory = identitytest.Mallory
)

func TestOracleHeaderRules(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	strict := identitytest.New(t, func(_ *identity.Deps, c *identity.Config) { c.RefuseBareDelegation = true })
	good := identitytest.Invocation(t, alice, s.DID())
	expired := identitytest.Invocation(t, alice, s.DID(), identitytest.TTL(-time.Second))
	delegation := identitytest.UserToOracle(t, alice, s.DID())
	foreign := identitytest.UserToOracle(t, bob, s.DID())
	misdirected := identitytest.UserToOracle(t, alice, bob.DID)
	tests := []struct {
		name    string
		service *identity.Service
		with    identity.Credentials
		want    string // DID
		text    string
		kept    bool // delegation kept for downstream use
	}{
		{name: "nothing", text: identity.TextMissing},
		{name: "invocation", with: identity.Credentials{Bearer: good, AuthType: "ucan"}, want: alice.DID},
		{name: "bearer without type", with: identity.Credentials{Bearer: good}, text: identity.TextMissing},
		{name: "bearer of other type", with: identity.Credentials{Bearer: good, AuthType: "jwt"}, text: identity.TextMissing},
		{name: "type without bearer", with: identity.Credentials{AuthType: "ucan"}, text: identity.TextMissing},
		{name: "garbage", with: identity.Credentials{Bearer: "garbage", AuthType: "ucan"}, text: identity.TextInvalid},
		{name: "expired", with: identity.Credentials{Bearer: expired, AuthType: "ucan"}, text: identity.TextInvalid},
		{
			name: "expired beside a good delegation",
			with: identity.Credentials{Bearer: expired, AuthType: "ucan", Delegation: delegation}, text: identity.TextInvalid,
		},
		{name: "delegation alone", with: identity.Credentials{Delegation: delegation}, want: alice.DID, kept: true},
		{name: "delegation beside ignored bearer", with: identity.Credentials{Bearer: good, Delegation: foreign}, want: bob.DID, kept: true},
		{name: "bad delegation alone", with: identity.Credentials{Delegation: misdirected}, text: identity.TextMissing},
		{name: "delegation switched off", service: strict, with: identity.Credentials{Delegation: delegation}, text: identity.TextMissing},
		{
			name: "both", with: identity.Credentials{Bearer: good, AuthType: "ucan", Delegation: delegation},
			want: alice.DID, kept: true,
		},
		{
			name: "delegation of somebody else", want: alice.DID,
			with: identity.Credentials{Bearer: good, AuthType: "ucan", Delegation: foreign},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			service := s
			if test.service != nil {
				service = test.service
			}
			p, err := service.Authenticate(t.Context(), identity.Oracle, test.with)
			if test.text != "" {
				if f := fault.From(err); f == nil || f.Kind != fault.Unauthenticated || f.Message != test.text {
					t.Fatalf("got %v, want 401 %q", err, test.text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.DID != test.want || (p.Delegation != "") != test.kept {
				t.Errorf("got %s, delegation kept %t; want %s, %t", p.DID, p.Delegation != "", test.want, test.kept)
			}
		})
	}
}

func TestOracleRefusesOtherStatements(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	tests := map[string]struct {
		token string
		code  string
	}{
		"other ability":  {identitytest.Invocation(t, alice, s.DID(), identitytest.Can("oracle/call", "ixo:oracle")), "ability_mismatch"},
		"other resource": {identitytest.Invocation(t, alice, s.DID(), identitytest.Can("*", "ixo:sandbox")), "resource_mismatch"},
		"other audience": {identitytest.Invocation(t, alice, bob.DID), "wrong_audience"},
		"lives too long": {identitytest.Invocation(t, alice, s.DID(), identitytest.TTL(time.Hour)), "ttl_exceeds_max"},
		"lives for ever": {identitytest.Invocation(t, alice, s.DID(), identitytest.Expires(time.Time{})), "no_expiry"},
		"not yet": {
			identitytest.Invocation(t, alice, s.DID(), identitytest.NotBefore(time.Now().Add(time.Minute))), "not_yet_valid",
		},
		"stapled nothing": {identitytest.Invocation(t, alice, s.DID(),
			identitytest.Proof(identitytest.Delegation(t, bob, mallory.DID))), "broken_chain"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Authenticate(t.Context(), identity.Oracle, identity.Credentials{Bearer: test.token, AuthType: "UCAN"})
			f := fault.From(err)
			if f == nil || f.Message != identity.TextInvalid || f.Code != test.code {
				t.Errorf("got %v, want %s", err, test.code)
			}
		})
	}
}

func TestFilesScope(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	reports := identitytest.Delegation(t, alice, bob.DID, identitytest.CanNB("fs/read", alice.Home("/reports"), `{"hidden":["/reports/.x"],"cids":["a","b"]}`))
	token := identitytest.Files(t, bob, s.DID(), "", identitytest.Proof(reports),
		identitytest.CanNB("fs/read", alice.Home("/reports/2026")+"/*", `{"hidden":["*"],"cids":["b","c"]}`))
	p := identitytest.FilesPrincipal(t, s, token)
	if p.DID != bob.DID || p.Root != alice.DID {
		t.Errorf("got %s for %s, want bob for alice", p.DID, p.Root)
	}
	namespace, areas, err := p.Areas("fs/list")
	if err != nil {
		t.Fatal(err)
	}
	if namespace != alice.DID {
		t.Errorf("namespace %s, want alice's", namespace)
	}
	want := []vfspath.Area{{Root: "/reports/2026/", Reveal: []vfspath.Root{"/reports/.x"}, Named: []string{"a", "b"}}}
	if diff := cmp.Diff(want, areas); diff != "" {
		t.Errorf("areas, where hidden paths are the intersection along the chain (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b"}, p.CIDs.Sorted()); diff != "" {
		t.Errorf("CIDs (-want +got):\n%s", diff)
	}
	for path, want := range map[string]bool{
		"/reports/2026/a": true, "/reports/2026/a/b": true, "/reports/2026": false, "/reports/2026x": false, "/": false,
	} {
		if areas[0].Allows(path) != want {
			t.Errorf("%s is reached: %t", path, !want)
		}
	}
	if _, _, err := p.Areas("fs/write"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("areas of an ability that was not granted: %v", err)
	}
}
