package telephonekit

import (
	"context"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeysql"
	"github.com/castalia-org/castalia/internal/identity/operators"
	"github.com/castalia-org/castalia/internal/identity/operators/operatorssql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdkey"
)

// standing is a ussdkey.Witness by the records of the services, also of those that other
// nodes have.
type standing struct {
	db *sqldb.DB
	// q is the transaction that goes by what is said.
	q sqldb.Querier
}

// Standing says how people stand, as a transaction sees it.
func Standing(db *sqldb.DB) func(q sqldb.Querier) ussdkey.Witness {
	return func(q sqldb.Querier) ussdkey.Witness { return standing{db, q} }
}

// Role implements ussdkey.Witness.
func (s standing) Role(ctx context.Context, did string) (operators.Role, error) {
	return operatorssql.RoleIn(ctx, s.q, did)
}

// Used implements ussdkey.Witness: by a role, app keys, files or conversations.
func (s standing) Used(ctx context.Context, did string) (bool, error) {
	if role, err := s.Role(ctx, did); err != nil || role != operators.None {
		return err == nil, err
	}
	// An app key would act for the person, who could neither see nor revoke it.
	if has, err := appkeysql.HasKeys(ctx, s.q, did); err != nil || has {
		return has, err
	}
	for _, kept := range []struct {
		tables sqldb.Migrations
		owner  string
		has    func(ctx context.Context, q sqldb.Querier, owner string) (bool, error)
	}{
		{filestoresql.Migrations(), identity.NamespaceOf(did), filestoresql.HasFiles},
		{oraclesql.Migrations(), did, oraclesql.HasSessions},
	} {
		is, err := s.db.HasTablesOf(ctx, s.q, kept.tables)
		if err != nil {
			return false, err
		}
		if !is {
			continue // nobody has that service
		}
		if has, err := kept.has(ctx, s.q, kept.owner); err != nil || has {
			return has, err
		}
	}
	return false, nil
}
