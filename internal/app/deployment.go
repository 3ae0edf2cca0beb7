package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/castalia-org/castalia/internal/app/stores"
	"github.com/castalia-org/castalia/internal/platform/blob/blobdisk"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// Only `serve` and `restore` make a deployment. Every other command looks at one
// that is there: a command that is run in the wrong folder must say so, and not
// make an empty deployment in which all is well.

// howToName ends every sentence about a deployment that is not there.
const howToName = "`castalia serve` starts a new one, `castalia restore` fills it from an archive"

// Place says in one line where a deployment lives, for people.
func Place(s config.Settings) string {
	if s.Storage.Database.Given() {
		return s.Storage.Database.String()
	}
	return absolute(s.Storage.Data)
}

func absolute(folder string) string {
	if full, err := filepath.Abs(folder); err == nil {
		return full
	}
	return folder
}

// CheckFolder refuses a data folder in which nobody has started Castalia yet. It
// makes nothing. A fleet has no deployment in its folder, so there it is enough
// that the folder is there.
func CheckFolder(s config.Settings) error {
	folder := absolute(s.Storage.Data)
	name := filepath.Join(folder, sqldb.FileName)
	if s.Storage.Database.Given() {
		name = folder
	}
	_, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no deployment in %s: name its folder with --data or CASTALIA_DATA (`castalia settings` shows that of a running server); %s", folder, howToName)
	case err != nil:
		return fmt.Errorf("look at the data folder: %w", err)
	}
	return nil
}

// opener is how a database is opened: for writing, or only to look at it.
type opener func(ctx context.Context, url string, opt sqldb.Options) (*sqldb.DB, error)

// openExisting opens the database of a deployment that is there already.
func (r *resources) openExisting(ctx context.Context, s *config.Settings, open opener) error {
	if !s.Storage.Database.Given() {
		if err := CheckFolder(*s); err != nil {
			return err
		}
	}
	if err := r.openDatabaseBy(ctx, s, open); err != nil {
		return err
	}
	applied, err := r.db.MigrationStatus(ctx, appMigrations())
	if err != nil {
		return err
	}
	for _, m := range applied {
		if !m.Applied.IsZero() {
			return nil
		}
	}
	return fmt.Errorf("there is no deployment in the database %s: name another with DATABASE_URL, or a data folder with CASTALIA_DATA; %s", Place(*s), howToName)
}

// openBlobsBeside opens the objects of a deployment that another process may be
// using: what that one is writing is left alone.
func (r *resources) openBlobsBeside(ctx context.Context, s *config.Settings) error {
	if s.Storage.Blobs.Given() {
		return r.openBlobs(ctx, s)
	}
	r.blobs = blobdisk.Beside(stores.ObjectFolder(s))
	return nil
}

// pingBlobs reports whether the objects can be reached, without a trace in a
// folder that belongs to a running server.
func (r *resources) pingBlobs(ctx context.Context, s *config.Settings) error {
	if s.Storage.Blobs.Given() {
		return r.blobs.Ping(ctx)
	}
	_, err := os.ReadDir(stores.ObjectFolder(s))
	return err
}
