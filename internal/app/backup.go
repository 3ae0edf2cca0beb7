package app

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/datadir"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/filestoresql"
)

// keyFile is where the embedded shape keeps a key that it made.
func keyFile(s *config.Settings, name string) string {
	return filepath.Join(s.Storage.Data, "keys", name)
}

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
	place := archive.Place{DB: r.db, Blobs: r.blobs, Migrations: allMigrations(), Program: opt.Version, Keys: map[string][]byte{}}
	if withKeys {
		for _, secret := range secretsOf(s) {
			text, err := os.ReadFile(keyFile(s, secret.name))
			switch {
			case err == nil:
				place.Keys[secret.name] = text
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
		PutKey: func(name string, text []byte) error { return restoreKey(s, name, text) },
	})
	if err != nil {
		return did, err
	}
	// Objects are copied after the tables: those of files that came in between
	// belong to nothing here.
	late, err := filestore.DropOrphans(ctx, filestoresql.New(r.db), r.blobs)
	did.Objects -= late
	return did, err
}

// restoreKey stores a key of an archive, or checks that it is the one in force.
func restoreKey(s *config.Settings, name string, text []byte) error {
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return errors.New("it does not hold 64 hexadecimal digits")
	}
	for _, secret := range secretsOf(s) {
		if secret.name != name {
			continue
		}
		if len(*secret.key) > 0 {
			if subtle.ConstantTimeCompare(*secret.key, key) != 1 {
				return fmt.Errorf("%s is set to another key than the archive's", name)
			}
			return nil
		}
		if s.Storage.Database.Given() {
			return fmt.Errorf("set %s to the archive's key first: a fleet keeps no keys in files", name)
		}
		if _, err := os.Stat(keyFile(s, name)); err == nil {
			return fmt.Errorf("%s exists: an archive is restored into an empty place only", keyFile(s, name))
		}
		return writeKey(keyFile(s, name), key)
	}
	return errors.New("this program knows no such key")
}
