package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// RotateKeys seals what the newest keys guard anew under them, so that earlier
// keys can be dropped. In the embedded shape it needs the data folder for
// itself; on a fleet it may run beside nodes that have both keys.
func RotateKeys(ctx context.Context, opt Options, tell func(Finding)) (err error) {
	r, err := openResources(ctx, &opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for _, m := range allMigrations() {
		if err := r.db.Migrate(ctx, m); err != nil {
			return err
		}
	}
	keys, err := pinKeys(opt.Settings.USSD)
	if err != nil {
		return err
	}
	telephones, err := ussd.New(ussdsql.New(r.db), ussd.Config{Keys: keys, Logger: opt.Log})
	if err != nil {
		return err
	}
	pins, err := telephones.Rekey(ctx)
	if err != nil {
		return fmt.Errorf("PIN_ENCRYPTION_KEY: %w", err)
	}
	tell(Finding{Part: "PINs", Text: fmt.Sprintf("%d sealed anew; PIN_ENCRYPTION_KEYS_OLD may be dropped", pins)})
	files, err := newFiles(ctx, r, opt)
	if err != nil {
		return err
	}
	namespaces, err := files.RotateKeys(ctx)
	if err != nil {
		return fmt.Errorf("FILES_MASTER_KEY: %w", err)
	}
	tell(Finding{Part: "files", Text: fmt.Sprintf("%d namespace keys wrapped anew; FILES_MASTER_KEYS_OLD may be dropped", namespaces)})
	return nil
}
