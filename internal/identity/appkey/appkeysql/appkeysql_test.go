package appkeysql_test

import (
	"testing"
	"time"

	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeysql"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeytest"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		appkeytest.TestStore(t, func(t *testing.T) (here, there appkey.Store) {
			db := sqldbtest.Migrate(t, open(t), identitysql.Migrations())
			return appkeysql.New(db), appkeysql.New(db)
		})
	})
}

// TestEndedKeysAreForgottenAfterAMonth goes through identity's own upkeep.
func TestEndedKeysAreForgottenAfterAMonth(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, open func(t *testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), identitysql.Migrations())
		s, upkeep := appkeysql.New(db), identitysql.New(db)
		at := time.UnixMilli(1_800_000_000_000)
		long := appkeytest.Record("long", "did:x:alice", "long", at)
		long.Expires = at.AddDate(1, 0, 0)
		revoked := appkeytest.Record("revoked", "did:x:alice", "revoked", at)
		revoked.Expires = at.AddDate(1, 0, 0)
		for _, k := range []appkey.Key{appkeytest.Record("short", "did:x:alice", "short", at), long, revoked} {
			if err := s.AddKey(t.Context(), k, "digest "+k.ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.RevokeKey(t.Context(), "did:x:alice", "revoked", at.Add(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			after time.Duration
			left  int
		}{{30 * 24 * time.Hour, 3}, {30*24*time.Hour + 90*time.Minute, 2}, {31 * 24 * time.Hour, 1}} {
			if _, err := upkeep.Sweep(t.Context(), at.Add(c.after), 100); err != nil {
				t.Fatal(err)
			}
			if list, err := s.Keys(t.Context(), "did:x:alice", 10); err != nil || len(list) != c.left {
				t.Errorf("after %v: %v, %v, want %d", c.after, list, err, c.left)
			}
		}
	})
}
