package telephonekit

import (
	"context"

	"github.com/castalia-org/castalia/internal/identity"
	"github.com/castalia-org/castalia/internal/identity/appkey/appkeysql"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/vfspath"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/oracle/oraclesql"
)

// OwnThings knows whether a DID was used for something of its own, by the records of the
// services, also where other nodes have them.
type OwnThings struct {
	DB *sqldb.DB
	// Runs reports whether a DID has a role, Migrated whether a service's tables are there.
	Runs     func(ctx context.Context, did string) (bool, error)
	Migrated func(ctx context.Context, db *sqldb.DB, m sqldb.Migrations) (bool, error)
}

// Has reports whether the DID has a role, app keys, files or conversations.
func (o OwnThings) Has(ctx context.Context, did string) (bool, error) {
	if runs, err := o.Runs(ctx, did); err != nil || runs {
		return runs, err
	}
	// An app key would act for the person, who could neither see nor revoke it.
	if keys, err := appkeysql.New(o.DB).Keys(ctx, did, 1); err != nil || len(keys) > 0 {
		return err == nil, err
	}
	is, err := o.Migrated(ctx, o.DB, filestoresql.Migrations())
	if err != nil {
		return false, err
	}
	if is {
		all := filestore.Scope{Namespace: identity.NamespaceOf(did), Areas: []vfspath.Area{vfspath.Whole()}}
		u, err := filestoresql.New(o.DB).Usage(ctx, all)
		if err != nil || u.Files+u.TrashFiles > 0 {
			return err == nil, err
		}
	}
	if is, err = o.Migrated(ctx, o.DB, oraclesql.Migrations()); err != nil || !is {
		return false, err
	}
	_, talks, err := oraclesql.New(o.DB).Sessions(ctx, did, 1, 0)
	return talks > 0, err
}
