// Package appkeytest gives tests app keys, and holds stores to their contract.
package appkeytest

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
)

// Secret is what holders are derived from in tests.
func Secret() []byte {
	sum := sha256.Sum256([]byte("castalia test app keys"))
	return sum[:]
}

// New returns a service over a store, for the identity service of a test.
func New(tb testing.TB, store appkey.Store, who *identity.Service, change ...func(*appkey.Deps)) *appkey.Service {
	tb.Helper()
	d := appkey.Deps{Store: store, Identity: who, Secret: Secret()}
	for _, f := range change {
		f(&d)
	}
	s, err := appkey.New(d)
	if err != nil {
		tb.Fatalf("appkeytest: %v", err)
	}
	return s
}

// Request returns what the actor sends to make an app key. By default it is for the
// oracle, for an hour; options change the delegation.
func Request(tb testing.TB, s *appkey.Service, from identitytest.Actor, name string,
	options ...identitytest.Option,
) appkey.NewKey {
	tb.Helper()
	offer, err := s.Offer()
	if err != nil {
		tb.Fatalf("appkeytest: %v", err)
	}
	return appkey.NewKey{
		ID: offer.ID, Name: name, Delegation: identitytest.UserToOracle(tb, from, offer.Holder, options...),
	}
}

// Make returns an app key of the actor, and its text.
func Make(tb testing.TB, s *appkey.Service, from identitytest.Actor, name string,
	options ...identitytest.Option,
) (appkey.Key, string) {
	tb.Helper()
	k, text, err := s.Make(tb.Context(), identity.Principal{DID: from.DID}, Request(tb, s, from, name, options...))
	if err != nil {
		tb.Fatalf("appkeytest: make %s: %v", name, err)
	}
	return k, text
}

// For is the capability of a scope, as an option of Make. Files is all of the actor's.
func For(from identitytest.Actor, scope appkey.Scope) identitytest.Option {
	if scope == appkey.Files {
		return identitytest.Can("fs/*", from.Home(""))
	}
	c := appkey.CapabilityOf(scope)
	return identitytest.Can(c.Can, c.With)
}

// Record is a key for tests of stores.
func Record(id, maker, name string, created time.Time) appkey.Key {
	return appkey.Key{
		ID: id, Maker: maker, Name: name, DID: "did:key:z" + id, Scopes: []appkey.Scope{appkey.Files, appkey.Oracle},
		Budget: appkey.Amount{Tokens: 1000, Micros: 2000}, Created: created, Expires: created.Add(time.Hour),
		Delegation: "delegation " + id, Proof: "proof " + id,
	}
}
