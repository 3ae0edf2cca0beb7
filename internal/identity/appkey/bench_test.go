package appkey_test

import (
	"testing"

	"github.com/castalia-org/castalia/internal/identity/appkey"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeysql"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeytest"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/identity/identitytest"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// BenchmarkAuthenticate is what an app key costs a face for each request.
func BenchmarkAuthenticate(b *testing.B) {
	db := sqldbtest.Migrate(b, sqldbtest.SQLite(b), identitysql.Migrations())
	s := appkeytest.New(b, appkeysql.New(db), identitytest.New(b))
	_, text := appkeytest.Make(b, s, alice, "one")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Authenticate(b.Context(), appkey.Oracle, text); err != nil {
			b.Fatal(err)
		}
	}
}
