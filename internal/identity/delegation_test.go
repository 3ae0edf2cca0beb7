package identity_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

func TestStoredDelegation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := identitytest.New(t)
		p := identitytest.Principal(t, s, alice)
		if got, err := s.DelegationOf(t.Context(), alice.DID); err != nil || got.Authorized {
			t.Fatalf("before: %+v, %v", got, err)
		}
		raw := identitytest.Delegation(t, alice, s.DID())
		stored, err := s.StoreDelegation(t.Context(), p, identity.Deposit{Raw: raw, Issuer: alice.DID, Audience: s.DID()})
		if err != nil || !stored.Authorized || stored.Expires.IsZero() {
			t.Fatalf("store: %+v, %v", stored, err)
		}
		if got, err := s.DelegationOf(t.Context(), alice.DID); err != nil || !got.Authorized ||
			!got.Expires.Equal(stored.Expires) {
			t.Errorf("after: %+v, %v", got, err)
		}
		if err := s.ForgetDelegation(t.Context(), alice.DID); err != nil {
			t.Fatal(err)
		}
		if got, _ := s.DelegationOf(t.Context(), alice.DID); got.Authorized {
			t.Error("forgotten, and still there")
		}
		if _, err := s.StoreDelegation(t.Context(), p, identity.Deposit{Raw: raw}); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Hour)
		if got, _ := s.DelegationOf(t.Context(), alice.DID); got.Authorized {
			t.Error("expired, and still there")
		}
	})
}

// TestACopyOfTheDatabaseIsNoLogin: a delegation that comes alone is one.
func TestACopyOfTheDatabaseIsNoLogin(t *testing.T) {
	t.Parallel()
	store := identitytest.NewStore()
	s := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Store = store })
	p := identitytest.Principal(t, s, alice)
	raw := identitytest.UserToOracle(t, alice, s.DID())
	logIn := func(delegation string) error {
		_, err := s.Authenticate(t.Context(), identity.Oracle, identity.Credentials{Delegation: delegation})
		return err
	}
	if err := logIn(raw); err != nil {
		t.Fatalf("the delegation itself: %v", err)
	}
	if _, err := s.StoreDelegation(t.Context(), p, identity.Deposit{Raw: raw}); err != nil {
		t.Fatal(err)
	}
	kept, _, err := store.Delegation(t.Context(), alice.DID)
	if err != nil || strings.Contains(kept.Raw, raw) || logIn(kept.Raw) == nil {
		t.Errorf("what is stored logs in: %.40s, %v", kept.Raw, err)
	}
	// Another user's row is no delegation of Bob's, nor is what another service sealed.
	kept.User = bob.DID
	if err := store.PutDelegation(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	if got, err := s.DelegationOf(t.Context(), bob.DID); err != nil || got.Authorized {
		t.Errorf("a row that was copied to another user: %+v, %v", got, err)
	}
	other := identitytest.New(t, func(d *identity.Deps, c *identity.Config) { d.Store, c.Signer = store, bob.Signer })
	if got, err := other.DelegationOf(t.Context(), alice.DID); err != nil || got.Authorized {
		t.Errorf("another service opens it: %+v, %v", got, err)
	}
	// The release before kept them in clear.
	if err := store.PutDelegation(t.Context(), identity.StoredDelegation{
		User: alice.DID, Raw: raw, CID: kept.CID,
		Expires: kept.Expires,
	}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.DelegationOf(t.Context(), alice.DID); err != nil || !got.Authorized {
		t.Errorf("one in clear: %+v, %v", got, err)
	}
}

func TestStoreDelegationRefuses(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	p := identitytest.Principal(t, s, alice)
	good := identitytest.Delegation(t, alice, s.DID())
	wrong := 1.0
	for name, d := range map[string]identity.Deposit{
		"garbage":              {Raw: "x"},
		"of somebody else":     {Raw: identitytest.Delegation(t, bob, s.DID())},
		"for somebody else":    {Raw: identitytest.Delegation(t, alice, bob.DID)},
		"expired":              {Raw: identitytest.Delegation(t, alice, s.DID(), identitytest.TTL(-time.Second))},
		"issuer contradicts":   {Raw: good, Issuer: bob.DID},
		"audience contradicts": {Raw: good, Audience: bob.DID},
		"expiry contradicts":   {Raw: good, Expiration: &wrong},
	} {
		if _, err := s.StoreDelegation(t.Context(), p, d); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRevokedDelegationIsNoDelegation(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	p := identitytest.Principal(t, s, alice)
	raw := identitytest.Delegation(t, alice, s.DID())
	if _, err := s.StoreDelegation(t.Context(), p, identity.Deposit{Raw: raw}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Revoke(t.Context(), revocation(t, alice, s.DID(), raw)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.DelegationOf(t.Context(), alice.DID); err != nil || got.Authorized {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestMintForAnotherService(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	p := identitytest.Principal(t, s, alice)
	call := identity.Downstream{Audience: "did:web:memory.test", Can: "memory/read", With: "ixo:memory"}
	if _, err := s.Mint(t.Context(), p, call); !fault.Is(err, fault.Forbidden) || fault.From(err).Code != "delegation_required" {
		t.Errorf("without a delegation: %v", err)
	}
	raw := identitytest.Delegation(t, alice, s.DID(), identitytest.Can("memory/*", "ixo:memory"), identitytest.TTL(30*time.Second))
	withHeader := p
	withHeader.Delegation = raw
	if _, err := s.StoreDelegation(t.Context(), p, identity.Deposit{Raw: raw}); err != nil {
		t.Fatal(err)
	}
	for name, user := range map[string]identity.Principal{"stored": p, "with the request": withHeader} {
		text, err := s.Mint(t.Context(), user, call)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		token, err := ucan.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		// The other service sees the oracle invoking with the user's authority.
		r, err := ucan.Verify(token, ucan.Query{
			Audience: "did:web:memory.test", Now: time.Now(), Want: &ucan.Want{Can: "memory/read", With: "ixo:memory"},
			Owner: func(root did.DID, _ ucan.Resource) (bool, error) { return string(root) == alice.DID, nil },
		})
		if err != nil || string(token.Leaf.Issuer) != s.DID() || string(r.Grants[0].Root) != alice.DID {
			t.Errorf("%s: %v", name, err)
		}
		if time.Until(time.Unix(token.Leaf.Expires, 0)) > 31*time.Second {
			t.Errorf("%s: it outlives the delegation", name)
		}
		again, err := s.Mint(t.Context(), user, call)
		if err != nil || again == text {
			t.Errorf("%s: two tokens of one second are the same: %v", name, err)
		}
	}
	bobs := identitytest.Principal(t, s, bob)
	bobs.Delegation = raw
	if _, err := s.Mint(t.Context(), bobs, call); !fault.Is(err, fault.Forbidden) {
		t.Errorf("with somebody else's delegation: %v", err)
	}
	call.Can = "memory/*"
	call.With = "ixo:other"
	if _, err := s.Mint(t.Context(), withHeader, call); !fault.Is(err, fault.Forbidden) {
		t.Errorf("beyond the delegation: %v", err)
	}
}

// A user's word about files that the service owns is worth nothing, by whatever name it
// owns them: whoever verified a token for them would find that its issuer is their owner,
// and ask for no proof.
func TestMintIsNotForOurOwnFiles(t *testing.T) {
	t.Parallel()
	const entity, account, shared = "did:ixo:entity:ours", "ixo1oracle", "did:ixo:entity:shared"
	oracle := identitytest.Oracle
	s := identitytest.New(t, func(d *identity.Deps, c *identity.Config) {
		c.EntityDID = "did:ixo:entity:oracle"
		d.Resolver = &countingResolver{
			known: map[did.DID][]did.Key{"did:ixo:ixo1oracle": {oracle.Signer.Key()}},
			rules: map[did.DID][]did.DID{
				did.DID(c.EntityDID): {"did:ixo:ixo1oracle"}, entity: {"did:ixo:ixo1oracle"}, shared: {did.DID(oracle.DID), did.DID(alice.DID)},
			},
		}
	})
	mint := func(user identitytest.Actor, owner string, options ...identitytest.Option) (string, error) {
		p := identitytest.Principal(t, s, user)
		p.Delegation = identitytest.Delegation(t, user, s.DID(),
			append(options, identitytest.Can("fs/*", identity.FileResource(owner, "/")))...)
		return s.Mint(t.Context(), p,
			identity.Downstream{Audience: s.DID(), Can: "fs/read", With: identity.FileResource(owner, "/private")})
	}
	for _, owner := range []string{s.DID(), s.EntityDID(), entity, account, "did:ixo:" + account, shared} {
		_, err := mint(mallory, owner)
		if !fault.Is(err, fault.Forbidden) || fault.From(err).Code != "delegation_required" {
			t.Errorf("%s: %v", owner, err)
		}
	}
	if _, err := mint(alice, shared); err != nil {
		t.Errorf("somebody who controls it as well: %v", err)
	}
	lent := identitytest.Delegation(t, oracle, bob.DID, identitytest.Can("fs/read", identity.FileResource(s.DID(), "/private")))
	if _, err := mint(bob, s.DID(), identitytest.Proof(lent)); !fault.Is(err, fault.Forbidden) {
		t.Errorf("more than the service lent: %v", err)
	}
	p := identitytest.Principal(t, s, bob)
	p.Delegation = identitytest.Delegation(t, bob, s.DID(),
		identitytest.Can("fs/read", identity.FileResource(s.DID(), "/private")), identitytest.Proof(lent))
	if _, err := s.Mint(t.Context(), p,
		identity.Downstream{Audience: s.DID(), Can: "fs/read", With: identity.FileResource(s.DID(), "/private")}); err != nil {
		t.Errorf("what the service lent: %v", err)
	}
}

// TestLongRunDoesNotOutliveItsDelegation mints after the delegation that came
// with the request has ended.
func TestLongRunDoesNotOutliveItsDelegation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := identitytest.New(t)
		p := identitytest.Principal(t, s, alice)
		p.Delegation = identitytest.Delegation(t, alice, s.DID(), identitytest.Can("memory/*", "ixo:memory"),
			identitytest.TTL(time.Minute))
		call := identity.Downstream{Audience: "did:web:memory.test", Can: "memory/read", With: "ixo:memory"}
		if _, err := s.Mint(t.Context(), p, call); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if _, err := s.Mint(t.Context(), p, call); !fault.Is(err, fault.Forbidden) {
			t.Errorf("after its end: %v", err)
		}
	})
}

func TestInvocationOfAToolIsUsedOnce(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t, func(_ *identity.Deps, c *identity.Config) {
		c.EntityDID = "did:ixo:entity:oracle"
	})
	p := identitytest.Principal(t, s, alice)
	tool := s.MCPResource("postgres", "query")
	if tool != "ixo:oracle:did:ixo:entity:oracle:mcp/postgres/query" {
		t.Errorf("resource %s", tool)
	}
	token := identitytest.Invocation(t, alice, s.DID(), identitytest.Can("mcp/call", tool))
	if err := s.UseInvocation(t.Context(), p, "postgres", "query", token); err != nil {
		t.Fatal(err)
	}
	carols := identitytest.Delegation(t, identitytest.Carol, alice.DID,
		identitytest.Can("mcp/call", s.MCPResource("postgres", "*")))
	for name, test := range map[string]struct {
		token string
		code  string
	}{
		"again": {token, "replay"},
		"other tool": {identitytest.Invocation(t, alice, s.DID(),
			identitytest.Can("mcp/call", s.MCPResource("postgres", "drop"))), "resource_mismatch"},
		"other ability":   {identitytest.Invocation(t, alice, s.DID(), identitytest.Can("mcp/list", tool)), "ability_mismatch"},
		"somebody else's": {identitytest.Invocation(t, bob, s.DID(), identitytest.Can("mcp/call", tool)), "unauthorized_root"},
		"no expiry": {identitytest.Invocation(t, alice, s.DID(), identitytest.Can("mcp/call", tool),
			identitytest.Expires(time.Time{})), "no_expiry"},
		"carol's by bob": {identitytest.Invocation(t, bob, s.DID(), identitytest.Can("mcp/call", tool),
			identitytest.Proof(carols)), "broken_chain"},
		"garbage": {"x", "malformed"},
	} {
		err := s.UseInvocation(t.Context(), p, "postgres", "query", test.token)
		if f := fault.From(err); f == nil || f.Kind != fault.Forbidden || f.Code != test.code {
			t.Errorf("%s: %v, want %s", name, err, test.code)
		}
	}
}

func TestConfiguredRootsAloneLetToolsBeCalled(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t, func(_ *identity.Deps, c *identity.Config) {
		c.EntityDID, c.MCPRoots = "did:ixo:entity:oracle", []string{identitytest.Carol.DID}
	})
	p := identitytest.Principal(t, s, alice)
	tool := identitytest.Can("mcp/call", s.MCPResource("postgres", "query"))
	use := func(proofs ...identitytest.Option) error {
		return s.UseInvocation(t.Context(), p, "postgres", "query", identitytest.Invocation(t, alice, s.DID(), append(proofs, tool)...))
	}
	if err := use(identitytest.Proof(identitytest.Delegation(t, identitytest.Carol, alice.DID, tool))); err != nil {
		t.Errorf("by a configured root: %v", err)
	}
	for name, err := range map[string]error{
		"by the caller alone": use(),
		"by somebody else":    use(identitytest.Proof(identitytest.Delegation(t, bob, alice.DID, tool))),
	} {
		if f := fault.From(err); f == nil || f.Kind != fault.Forbidden {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t, func(_ *identity.Deps, c *identity.Config) {
		c.Signer, c.EntityDID = identitytest.Oracle.Signer.As("did:web:oracle.test"), "did:ixo:entity:oracle"
	})
	d := s.Document()
	if d.ID != "did:web:oracle.test" || len(d.VerificationMethod) != 1 || d.AlsoKnownAs[0] != "did:ixo:entity:oracle" {
		t.Errorf("%+v", d)
	}
	if "did:key:"+d.VerificationMethod[0].PublicKeyMultibase != identitytest.Oracle.DID {
		t.Errorf("key %s", d.VerificationMethod[0].PublicKeyMultibase)
	}
}

// Whoever signs the request has what they stored beside what they bring; whoever only holds a
// delegation has that (ADR 0270).
func TestWhatIsStoredCountsBesideWhatIsBrought(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	p := identitytest.Principal(t, s, alice)
	stored := identitytest.Delegation(t, alice, s.DID(), identitytest.Can("memory/*", "ixo:memory"))
	if _, err := s.StoreDelegation(t.Context(), p, identity.Deposit{Raw: stored}); err != nil {
		t.Fatal(err)
	}
	brought := identitytest.UserToOracle(t, alice, s.DID())
	call := identity.Downstream{Audience: "did:web:memory.test", Can: "memory/read", With: "ixo:memory"}
	for name, c := range map[string]struct {
		brought identity.Brought
		says    []string
		mints   bool
	}{
		"nothing":                 {identity.Brought{}, []string{"memory/*"}, true},
		"nothing, in person":      {identity.Brought{InPerson: true}, []string{"memory/*"}, true},
		"a delegation, in person": {identity.Brought{Delegation: brought, InPerson: true}, []string{"*", "memory/*"}, true},
		"a delegation alone":      {identity.Brought{Delegation: brought}, []string{"*"}, false},
		"nothing is left":         {identity.Brought{Nothing: true}, nil, false},
		"somebody else's, in person": {identity.Brought{
			Delegation: identitytest.UserToOracle(t, bob, s.DID()), InPerson: true,
		}, []string{"memory/*"}, true},
	} {
		granted, err := s.Granted(t.Context(), c.brought.Of(alice.DID))
		if err != nil {
			t.Fatal(err)
		}
		var says []string
		for _, g := range granted {
			says = append(says, g.Can)
		}
		if !slices.Equal(says, c.says) {
			t.Errorf("%s: %q, want %q", name, says, c.says)
		}
		if _, err := s.Mint(t.Context(), c.brought.Of(alice.DID), call); (err == nil) != c.mints {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A principal that authenticated brings what it proved.
	for kind, want := range map[identity.Kind]bool{
		identity.ByInvocation: true, identity.ByDelegation: false, identity.ByAppKey: false,
	} {
		p.Kind, p.Delegation = kind, brought
		if got := p.Brought(); got.InPerson != want || got.Delegation != brought {
			t.Errorf("kind %d: in person %v", kind, got.InPerson)
		}
	}
}
