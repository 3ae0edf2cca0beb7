package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/datadir"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/filestore/upkeep"
)

// Backup writes an archive of the deployment. It may run beside live nodes. The
// keys that the embedded shape made are in it when withKeys is set; keys that
// were given by the environment never are.
func Backup(ctx context.Context, opt Options, to io.Writer, withKeys bool) (_ archive.Summary, err error) {
	s := &opt.Settings
	r := &resources{log: opt.Log}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.openExisting(ctx, s, sqldb.OpenReadOnly); err != nil {
		return archive.Summary{}, err
	}
	if err := r.openBlobsBeside(ctx, s); err != nil {
		return archive.Summary{}, err
	}
	place := archive.Place{
		DB: r.db, Blobs: r.blobs, Migrations: allMigrations(), Program: opt.Version, Keys: map[string][]byte{},
	}
	if withKeys {
		for _, secret := range keyring.SecretsOf(s) {
			text, err := os.ReadFile(keyring.File(s, secret.Name))
			switch {
			case err == nil:
				place.Keys[secret.Name] = text
			case !errors.Is(err, fs.ErrNotExist):
				return archive.Summary{}, fmt.Errorf("read key: %w", err)
			}
		}
	}
	return archive.Write(ctx, to, place)
}

// Restore fills an empty place from an archive. In the embedded shape it needs
// the data folder for itself.
func Restore(ctx context.Context, opt Options, from io.Reader) (_ archive.Summary, err error) {
	s := &opt.Settings
	r := &resources{log: opt.Log}
	defer func() { err = errors.Join(err, r.close()) }()
	if !s.Storage.Database.Given() || !s.Storage.Blobs.Given() {
		lock, err := datadir.Lock(s.Storage.Data)
		if err != nil {
			return archive.Summary{}, err
		}
		r.closers = append(r.closers, lock.Release)
		tightenFolder(s.Storage.Data, opt.Log)
	}
	if err := r.openDatabase(ctx, s); err != nil {
		return archive.Summary{}, err
	}
	if err := r.openBlobs(ctx, s); err != nil {
		return archive.Summary{}, err
	}
	for _, m := range allMigrations() {
		if err := r.db.Migrate(ctx, m); err != nil {
			return archive.Summary{}, err
		}
	}
	did, err := archive.Read(ctx, from, archive.Place{
		DB: r.db, Blobs: r.blobs, Migrations: allMigrations(), Program: opt.Version,
		PutKey: func(name string, text []byte) error { return keyring.Restore(s, name, text) },
	})
	if err != nil {
		return did, err
	}
	// Objects are copied after the tables: those of files that came in between
	// belong to nothing here.
	late, err := upkeep.DropOrphans(ctx, filestoresql.New(r.db), r.blobs)
	did.Objects -= late
	return did, err
}
