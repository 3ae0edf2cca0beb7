package app

import (
	"context"
	"errors"
	"io"

	"github.com/castalia-org/castalia/internal/app/keyring"
	"github.com/castalia-org/castalia/internal/app/shipping"
	"github.com/castalia-org/castalia/internal/app/stores"
	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/replica"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
	"github.com/castalia-org/castalia/internal/service/filestore/upkeep"
	"github.com/castalia-org/castalia/internal/service/oracle/coldstore"
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
	signer, err := shipping.Signer(s)
	if err != nil {
		return archive.Summary{}, err
	}
	place := archive.Place{DB: r.db, Blobs: r.blobs, Migrations: allMigrations(), Program: opt.Version, Signer: signer}
	if withKeys {
		if place.Keys, err = keyring.Kept(s); err != nil {
			return archive.Summary{}, err
		}
	}
	return archive.Write(ctx, to, place)
}

// Verify reads an archive to its end, and reports whether it is whole and of the wanted
// author; where none is named, of the deployment of these settings.
func Verify(opt Options, from io.Reader, by archive.Author) error {
	if err := shipping.Expect(&opt.Settings, &by); err != nil {
		return err
	}
	_, err := archive.Verify(from, by)
	return err
}

// Restore fills an empty place from an archive of that author. In the embedded shape it
// needs the data folder for itself.
func Restore(ctx context.Context, opt Options, from io.Reader, by archive.Author) (_ archive.Summary, err error) {
	s := &opt.Settings
	r := &resources{log: opt.Log}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := shipping.Expect(s, &by); err != nil {
		return archive.Summary{}, err
	}
	if err := r.openToRestore(ctx, s); err != nil {
		return archive.Summary{}, err
	}
	if err := r.openDatabase(ctx, s); err != nil {
		return archive.Summary{}, err
	}
	did, err := archive.Read(ctx, from, by, archive.Place{
		DB: r.db, Blobs: r.blobs, Migrations: allMigrations(), Program: opt.Version,
		PutKey: func(name string, text []byte) error { return keyring.Restore(s, name, text) },
	})
	if err != nil {
		return did, err
	}
	late, err := r.dropLate(ctx)
	did.Objects -= late
	return did, err
}

// RestoreReplica fills an empty data folder from a replica.
func RestoreReplica(ctx context.Context, opt Options, from config.URL,
	want replica.Wanted,
) (_ replica.Restored, err error) {
	s := &opt.Settings
	if s.Storage.Database.Given() {
		return replica.Restored{}, errors.New("a replica is restored into a data folder: leave DATABASE_URL out; `castalia backup` and `castalia restore` move it to a fleet then")
	}
	if want.From, err = shipping.Place(from, s, false); err != nil {
		return replica.Restored{}, err
	}
	if err := shipping.Expect(s, &want.Author); err != nil {
		return replica.Restored{}, err
	}
	r := &resources{log: opt.Log}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.openToRestore(ctx, s); err != nil {
		return replica.Restored{}, err
	}
	want.Database, want.Objects = stores.File(s), r.blobs
	want.PutKey = func(name string, text []byte) error { return keyring.Restore(s, name, text) }
	did, err := replica.Restore(ctx, want)
	if err != nil {
		return did, err
	}
	if err := r.openDatabase(ctx, s); err != nil {
		return did, err
	}
	for _, m := range allMigrations() {
		if err := r.db.Migrate(ctx, m); err != nil {
			return did, err
		}
	}
	late, err := r.dropLate(ctx)
	did.Objects -= late
	return did, err
}

// openToRestore takes the data folder, where there is one, and opens the objects.
func (r *resources) openToRestore(ctx context.Context, s *config.Settings) error {
	if !s.Storage.Database.Given() || !s.Storage.Blobs.Given() {
		lock, err := stores.Take(s.Storage.Data, r.log)
		if err != nil {
			return err
		}
		r.closers = append(r.closers, lock.Release)
	}
	return r.openBlobs(ctx, s)
}

// dropLate deletes the objects of files and conversations that came after the tables were
// copied: they belong to nothing here.
func (r *resources) dropLate(ctx context.Context) (int, error) {
	files, err := upkeep.DropOrphans(ctx, filestoresql.New(r.db), r.blobs)
	if err != nil {
		return files, err
	}
	talks, err := coldstore.DropOrphans(ctx, r.db, r.blobs)
	return files + talks, err
}
