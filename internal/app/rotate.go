package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/app/knowledgekit"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/upkeep"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
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
	keys, err := keyring.PINsOf(r.db, &opt.Settings)
	if err != nil {
		return err
	}
	telephones, err := ussd.New(ussdsql.New(r.db), ussd.Config{Keys: keys, Logger: opt.Log})
	if err != nil {
		return err
	}
	pins, err := untilNothing(ctx, telephones.Rekey)
	if err != nil {
		return fmt.Errorf("PIN_ENCRYPTION_KEY: %w", err)
	}
	tell(Finding{Part: "PINs", Text: fmt.Sprintf("%d re-encrypted; PIN_ENCRYPTION_KEYS_OLD may be dropped", pins)})
	files, err := newFiles(ctx, r, opt, filestore.Config{})
	if err != nil {
		return err
	}
	namespaces, err := untilNothing(ctx, upkeep.New(files).RotateKeys)
	if err != nil {
		return fmt.Errorf("FILES_MASTER_KEY: %w", err)
	}
	master, err := keyring.FilesOf(r.db, &opt.Settings)
	if err != nil {
		return err
	}
	knowledge, err := untilNothing(ctx, func(ctx context.Context) (int, error) {
		return knowledgekit.RotateKeys(ctx, r.db, master)
	})
	if err != nil {
		return fmt.Errorf("FILES_MASTER_KEY: %w", err)
	}
	tell(Finding{Part: "knowledge", Text: fmt.Sprintf("%d keys of collections and names of askers re-encrypted", knowledge)})
	tell(Finding{Part: "files", Text: fmt.Sprintf("%d namespace keys re-encrypted; FILES_MASTER_KEYS_OLD may be dropped", namespaces)})
	return nil
}

// untilNothing repeats a pass until one finds nothing: a node that was sealing something
// when the key was changed may have stored it behind the first one.
func untilNothing(ctx context.Context, pass func(context.Context) (int, error)) (int, error) {
	for all := 0; ; {
		n, err := pass(ctx)
		if all += n; err != nil || n == 0 {
			return all, err
		}
	}
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
