package identity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/did"
)

func (r *countingResolver) Keys(_ context.Context, d did.DID) ([]did.Key, error) {
	return r.known[d], r.answer()
}

func (r *countingResolver) Controllers(_ context.Context, d did.DID) ([]did.DID, error) {
	return r.rules[d], r.answer()
}

func contextUntil(t *testing.T, stop <-chan struct{}) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func TestOwnersOfNamespaces(t *testing.T) {
	t.Parallel()
	const entity, orphan = "did:ixo:entity:abc", "did:ixo:entity:none"
	known := &countingResolver{
		known: map[did.DID][]did.Key{"did:ixo:ixo1alice": {alice.Signer.Key()}},
		rules: map[did.DID][]did.DID{entity: {"did:ixo:ixo1alice"}},
	}
	away := &countingResolver{err: errors.New("away")}
	asAccount := alice.As("did:ixo:ixo1alice")
	tests := []struct {
		name      string
		from      identitytest.Actor
		with      string
		away      bool
		namespace string
		want      fault.Kind
	}{
		{name: "own", from: alice, with: alice.Home(""), namespace: alice.DID},
		{name: "own without any resolver", from: alice, with: alice.Home(""), away: true, namespace: alice.DID},
		{name: "bare spelling of own", from: alice, with: "vfs:///" + alice.DID + "/x", namespace: alice.DID},
		{name: "of another key", from: alice, with: bob.Home(""), want: fault.Forbidden},
		{name: "personal", from: alice, with: "ixo:filesystem", namespace: alice.DID},
		{name: "personal folder", from: alice, with: "ixo:filesystem/reports", namespace: alice.DID},
		{name: "address by its key", from: alice, with: "vfs://ixo1alice", namespace: "ixo1alice"},
		{name: "address by its DID", from: asAccount, with: "vfs://ixo1alice/x", namespace: "ixo1alice"},
		{name: "account DID as namespace", from: asAccount, with: "vfs://did%3Aixo%3Aixo1alice", namespace: "ixo1alice"},
		{name: "personal of an account", from: asAccount, with: "ixo:filesystem", namespace: "ixo1alice"},
		{name: "address by a stranger", from: mallory, with: "vfs://ixo1alice", want: fault.Forbidden},
		{name: "address that cannot be looked up", from: alice, with: "vfs://ixo1alice", away: true, want: fault.Unavailable},
		{name: "entity by a controller", from: asAccount, with: "ixo:filesystem/" + entity, namespace: entity},
		{name: "entity by a controller's key", from: alice, with: "vfs:///" + entity + "/x", namespace: entity},
		{name: "entity by a stranger", from: mallory, with: "vfs:///" + entity, want: fault.Forbidden},
		{name: "entity without controllers", from: alice, with: "vfs:///" + orphan, want: fault.Forbidden},
		{name: "entity that cannot be looked up", from: alice, with: "vfs:///" + entity, away: true, want: fault.Unavailable},
		{name: "no namespace at all", from: alice, with: "vfs://somewhere", want: fault.Forbidden},
		{name: "no file", from: alice, with: "ixo:memory", want: fault.Forbidden},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := known
			if test.away {
				r = away
			}
			s := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Resolver = r })
			token := identitytest.Files(t, test.from, s.DID(), "", identitytest.Can("fs/read", test.with))
			p, err := s.Authenticate(t.Context(), identity.Files, identity.Credentials{Bearer: token})
			if test.namespace == "" {
				if !fault.Is(err, test.want) {
					t.Fatalf("got %v, want %s", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			namespace, _, err := p.Areas("fs/read")
			if err != nil || namespace != test.namespace {
				t.Errorf("namespace %q, %v; want %q", namespace, err, test.namespace)
			}
		})
	}
}

// What no while mends is told so: nobody waits for an address that does not
// exist, and the operator's missing setting has its name.
func TestOwnersThatNobodyCanName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		resolver identity.Resolver
		from     identitytest.Actor
		kind     fault.Kind
		says     string
	}{
		"unknown address":   {&countingResolver{err: fmt.Errorf("ask: %w", identity.ErrUnknownDID)}, alice, fault.Forbidden, "does not know"},
		"no resolver":       {nil, alice, fault.Unavailable, "DID_RESOLVER_URL"},
		"no resolver, keys": {nil, alice.As("did:ixo:ixo1alice"), fault.Unauthenticated, "DID_RESOLVER_URL"},
		"away":              {&countingResolver{err: errors.New("away")}, alice, fault.Unavailable, "at the moment"},
	} {
		s := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Resolver = c.resolver })
		token := identitytest.Files(t, c.from, s.DID(), "", identitytest.Can("fs/read", "vfs://ixo1alice"))
		_, err := s.Authenticate(t.Context(), identity.Files, identity.Credentials{Bearer: token})
		if !fault.Is(err, c.kind) || !strings.Contains(fault.From(err).Message, c.says) {
			t.Errorf("%s: %s, %v", name, fault.KindOf(err), err)
		}
	}
}

func TestTokenAsksOnlySoMuch(t *testing.T) {
	t.Parallel()
	r := &countingResolver{}
	s := identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Resolver = r })
	var options []identitytest.Option
	for i := range 60 {
		options = append(options, identitytest.Can("fs/read", fmt.Sprintf("vfs:///did:web:host%d.test", i)))
	}
	token := identitytest.Files(t, mallory, s.DID(), "", options...)
	_, err := s.Authenticate(t.Context(), identity.Files, identity.Credentials{Bearer: token})
	if err == nil || r.asked.Load() > 32 {
		t.Errorf("%d questions, %v", r.asked.Load(), err)
	}
}

func TestFilesRefusals(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	tests := map[string]struct {
		surface identity.Surface
		token   string
		want    fault.Kind
	}{
		"nothing":        {identity.Files, "", fault.Unauthenticated},
		"garbage":        {identity.Files, "x", fault.Unauthenticated},
		"other audience": {identity.Files, identitytest.Files(t, alice, bob.DID, "fs/read"), fault.Unauthenticated},
		"expired": {
			identity.Files, identitytest.Files(t, alice, s.DID(), "fs/read", identitytest.TTL(-1)), fault.Unauthenticated,
		},
		"two namespaces, none owned": {
			identity.Files,
			identitytest.Files(t, alice, s.DID(), "", identitytest.Can("fs/read", bob.Home(""))), fault.Forbidden,
		},
		"mcp for a week": {
			identity.MCP,
			identitytest.Files(t, alice, s.DID(), "fs/read", identitytest.TTL(7*24*3600e9)), fault.Unauthenticated,
		},
		"query for files only": {identity.Query, identitytest.Files(t, alice, s.DID(), "fs/read"), fault.Forbidden},
	}
	for name, test := range tests {
		if _, err := s.Authenticate(t.Context(), test.surface, identity.Credentials{Bearer: test.token}); !fault.Is(err,
			test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	for name, token := range map[string]string{
		"own word": identitytest.Invocation(t, alice, s.DID(), identitytest.Can("query/read", "ixo:query")),
		"oracle's": identitytest.Invocation(t, alice, s.DID()),
	} {
		if _, err := s.Authenticate(t.Context(), identity.Query, identity.Credentials{Bearer: token}); err != nil {
			t.Errorf("query by %s: %v", name, err)
		}
	}
}

// TestPersonalNamespaceIsThatOfTheRoot has an agent act for a user: the files
// are the user's, never the agent's own.
func TestPersonalNamespaceIsThatOfTheRoot(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	grant := identitytest.Delegation(t, alice, bob.DID, identitytest.Can("*", "ixo:filesystem/.oracles"))
	p := identitytest.FilesPrincipal(t, s, identitytest.Files(t, bob, s.DID(), "", identitytest.Proof(grant),
		identitytest.Can("fs/read", "ixo:filesystem/.oracles/x")))
	namespace, areas, err := p.Areas("fs/read")
	if err != nil || p.DID != bob.DID || namespace != alice.DID || areas[0].Root != "/.oracles/x" {
		t.Errorf("%s in %s at %+v, %v", p.DID, namespace, areas, err)
	}
	expired := identitytest.Delegation(t, alice, bob.DID, identitytest.Can("*", "ixo:filesystem"), identitytest.TTL(-1))
	token := identitytest.Files(t, bob, s.DID(), "", identitytest.Proof(expired), identitytest.Can("fs/read", "ixo:filesystem"))
	if _, err := s.Authenticate(t.Context(), identity.Files, identity.Credentials{Bearer: token}); !fault.Is(err,
		fault.Unauthenticated) {
		t.Errorf("with an expired grant the agent is let into its own files: %v", err)
	}
}

func TestTokenInTwoNamespacesIsAmbiguous(t *testing.T) {
	t.Parallel()
	s := identitytest.New(t)
	grant := identitytest.Delegation(t, bob, alice.DID)
	p := identitytest.FilesPrincipal(t, s, identitytest.Files(t, alice, s.DID(), "", identitytest.Proof(grant),
		identitytest.Can("fs/read", alice.Home("")), identitytest.Can("fs/read", bob.Home("")), identitytest.Can("fs/write",
			mallory.Home(""))))
	if len(p.Grants) != 2 {
		t.Errorf("capabilities that hold: %+v", p.Grants)
	}
	if _, _, err := p.Areas("fs/read"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("areas in two namespaces: %v", err)
	}
	if p.Allows("fs/write", alice.Home("")) || !p.Allows("fs/list", bob.Home("/x")) {
		t.Error("Allows says otherwise")
	}
}
