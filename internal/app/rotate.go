package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/app/rekeying"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/upkeep"
)

// RotateKeys re-encrypts what the newest keys guard, so that earlier keys can be
// dropped. It makes neither a deployment nor a key. In the embedded shape it needs the data folder for
// itself; on a fleet it may run beside nodes that have both keys.
func RotateKeys(ctx context.Context, opt Options, tell func(Finding)) (err error) {
	r, err := openToRotate(ctx, &opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for _, m := range allMigrations() {
		if err := r.db.Migrate(ctx, m); err != nil {
			return err
		}
	}
	said := func(part, text string) { tell(Finding{Part: part, Text: text}) }
	if err := rekeying.Tables(ctx, r.db, &opt.Settings, opt.Log, said); err != nil {
		return err
	}
	files, err := newFiles(ctx, r, opt, filestore.Config{})
	if err != nil {
		return err
	}
	namespaces, err := rekeying.UntilNothing(ctx, upkeep.New(files).RotateKeys)
	if err != nil {
		return fmt.Errorf("FILES_MASTER_KEY: %w", err)
	}
	tell(Finding{Part: "files", Text: fmt.Sprintf("%d namespace keys re-encrypted; FILES_MASTER_KEYS_OLD may be dropped", namespaces)})
	return nil
}

// openToRotate opens a deployment that is there already, with its keys, for one
// process alone. It makes neither.
func openToRotate(ctx context.Context, opt *Options) (*resources, error) {
	if !opt.Settings.Storage.Database.Given() || !opt.Settings.Storage.Blobs.Given() {
		if err := CheckFolder(opt.Settings); err != nil {
			return nil, err
		}
	}
	r, err := prepareResources(ctx, opt, keyring.Read)
	if err != nil {
		return nil, err
	}
	for _, open := range []func(context.Context, *config.Settings) error{
		func(ctx context.Context, s *config.Settings) error {
			return r.openExisting(ctx, s, sqldb.Open)
		}, r.useDatabase, r.openOthers,
	} {
		if err := open(ctx, &opt.Settings); err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	return r, nil
}
