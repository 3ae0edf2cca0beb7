// Package rekeying puts what tables hold under the newest keys, so that earlier ones can
// be dropped: PINs, the keys of knowledge and that of archived conversations. Files have
// their own way, which needs their service.
//
// It promises to end only when a pass has found nothing, and makes no key.
package rekeying

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/app/knowledgekit"
	"github.com/castalia-org/castalia/internal/app/retaining"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/ussd"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdsql"
)

// Tables re-encrypts what tables hold, and tells of each part what was done.
func Tables(ctx context.Context, db *sqldb.DB, s *config.Settings, log *slog.Logger,
	tell func(part, text string),
) error {
	pins, err := keyring.PINsOf(db, s)
	if err != nil {
		return err
	}
	telephones, err := ussd.New(ussdsql.New(db), ussd.Config{Keys: pins, Logger: log})
	if err != nil {
		return err
	}
	cold, err := retaining.NewCold(db, nil, s, log)
	if err != nil {
		return err
	}
	files, err := keyring.FilesOf(db, s)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		part, text, key string
		pass            func(context.Context) (int, error)
	}{
		{"PINs", "%d re-encrypted; PIN_ENCRYPTION_KEYS_OLD may be dropped", "PIN_ENCRYPTION_KEY", telephones.Rekey},
		{"knowledge", "%d keys of collections and names of askers re-encrypted", "FILES_MASTER_KEY", func(ctx context.Context) (int, error) {
			return knowledgekit.RotateKeys(ctx, db, files)
		}},
		{"conversations", "%d keys of the archive re-encrypted", "FILES_MASTER_KEY", cold.RotateKeys},
	} {
		n, err := UntilNothing(ctx, one.pass)
		if err != nil {
			return fmt.Errorf("%s: %w", one.key, err)
		}
		tell(one.part, fmt.Sprintf(one.text, n))
	}
	return nil
}

// UntilNothing repeats a pass until one finds nothing: a node that was sealing something
// when the key was changed may have stored it behind the first one.
func UntilNothing(ctx context.Context, pass func(context.Context) (int, error)) (int, error) {
	for all := 0; ; {
		n, err := pass(ctx)
		if all += n; err != nil || n == 0 {
			return all, err
		}
	}
}
