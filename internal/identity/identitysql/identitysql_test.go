package identitysql_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		identitytest.TestStore(t, func(t *testing.T) identity.Store {
			return identitysql.New(sqldbtest.Migrate(t, open(t), identitysql.Migrations()))
		})
	})
}

// TestNodesShareOneTruth has two services on one database: what one revokes or
// uses up is gone for the other, and for one that starts later.
func TestNodesShareOneTruth(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), identitysql.Migrations())
		node := func() *identity.Service {
			return identitytest.New(t, func(d *identity.Deps, _ *identity.Config) { d.Store = identitysql.New(db) })
		}
		here, there := node(), node()
		alice := identitytest.Alice
		text := identitytest.Invocation(t, alice, here.DID())
		p, err := there.Authenticate(t.Context(), identity.Oracle, identity.Handshake(text, ""))
		if err != nil {
			t.Fatal(err)
		}
		call := identitytest.Invocation(t, alice, here.DID(), identitytest.Can("mcp/call", here.MCPResource("s", "t")))
		if err := here.UseInvocation(t.Context(), p, "s", "t", call); err != nil {
			t.Fatal(err)
		}
		if _, err := here.Revoke(t.Context(), identitytest.Revocation(t, alice, here.DID(), text)); err != nil {
			t.Fatal(err)
		}
		if err := there.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]*identity.Service{"here": here, "there": there, "later": node()} {
			if _, err := s.Authenticate(t.Context(), identity.Oracle, identity.Handshake(text, "")); !fault.Is(err,
				fault.Unauthenticated) {
				t.Errorf("%s: the revoked token: %v", name, err)
			}
			if err := s.UseInvocation(t.Context(), p, "s", "t", call); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: the used invocation: %v", name, err)
			}
		}
	})
}
