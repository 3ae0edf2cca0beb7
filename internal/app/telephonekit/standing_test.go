package telephonekit_test

import (
	"context"
	"errors"
	"testing"

	"github.com/castalia-org/castalia/internal/app/telephonekit"
	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/identitysql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
)

// What a transaction goes by is what it sees, its own changes among it.
func TestStandingIsThatOfTheTransaction(t *testing.T) {
	t.Parallel()
	const did = "did:key:z6MkjchhfUsD6mmvni8mCdXHw216Xrm9bQe2mBH1P5RDjVJG"
	undone := errors.New("undone")
	sqldbtest.Each(t, func(t *testing.T, open func(*testing.T) *sqldb.DB) {
		db := sqldbtest.Migrate(t, open(t), identitysql.Migrations())
		stands := telephonekit.Standing(db)
		used := func(what, insert string, args ...any) {
			t.Helper()
			err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Querier) error {
				if is, err := stands(tx).Used(ctx, did); err != nil || is {
					t.Errorf("before %s: used %v, %v", what, is, err)
				}
				if _, err := tx.ExecContext(ctx, insert, args...); err != nil {
					return err
				}
				if is, err := stands(tx).Used(ctx, did); err != nil || !is {
					t.Errorf("with %s: used %v, %v", what, is, err)
				}
				return undone
			})
			if !errors.Is(err, undone) {
				t.Errorf("%s: %v", what, err)
			}
		}
		used("a role", `INSERT INTO identity_operators (did, role, note, added_by, added_ms) VALUES ($1, 'viewer', '', '', 1)`, did)
		used("an app key", `INSERT INTO identity_app_keys (id, digest, maker, name, holder, scopes, delegation, proof, budget_tokens, budget_micros,
			spent_tokens, spent_micros, created_ms, expires_ms, revoked_ms, used_ms, ends_ms)
			VALUES ('k', 'd', $1, 'n', '', '', '', '', 0, 0, 0, 0, 1, 1, 1, 0, 1)`, did)
		sqldbtest.Migrate(t, db, filestoresql.Migrations(), oraclesql.Migrations()) // until then nobody has those services
		used("a file in the trash", `INSERT INTO filestore_usage (ns, files, bytes, trash_files, trash_bytes, versions, version_bytes)
			VALUES ($1, 0, 0, 1, 1, 0, 0)`, identity.NamespaceOf(did))
		used("a conversation", `INSERT INTO oracle_sessions (id, owner, title, created_ms, updated_ms) VALUES ('s', $1, '', 1, 1)`, did)
	})
}
