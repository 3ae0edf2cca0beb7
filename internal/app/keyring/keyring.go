// Package keyring finds the keys of a deployment and holds every node to the
// same ones. It makes a key only where it is told to, writes it so that it
// survives a crash before anything is sealed under it, and refuses a key that
// differs from the one the database was made with. Its table is made by the
// migrations of app.
package keyring

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/config"
	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/seal"
	"github.com/castalia-org/castalia/internal/service/ussd/ussdpin"
)

// Secret is one key of this deployment: its setting, earlier keys that are
// still good, and what is lost with it.
type Secret struct {
	Name string
	Key  *config.Key
	Old  []config.Key
	Lost string
}

// The names of keys that can be changed.
const (
	pinKey   = "PIN_ENCRYPTION_KEY"
	filesKey = "FILES_MASTER_KEY"
)

// SecretsOf lists the keys that every deployment has.
func SecretsOf(s *config.Settings) []Secret {
	return []Secret{
		{"ORACLE_KEY", &s.Identity.OracleKey, nil, "the identity of this oracle"},
		{pinKey, &s.USSD.PINKey, s.USSD.PINKeysOld, "every PIN"},
		{filesKey, &s.Files.MasterKey, s.Files.MasterKeysOld, "every file"},
	}
}

// File is where the embedded shape keeps a key that it made.
func File(s *config.Settings, name string) string {
	return filepath.Join(s.Storage.Data, "keys", name)
}

// Kept returns the keys that the embedded shape made, as they are in their files, by
// their names. Keys that were given to it are not among them.
func Kept(s *config.Settings) (map[string][]byte, error) {
	kept := map[string][]byte{}
	for _, secret := range SecretsOf(s) {
		text, err := os.ReadFile(File(s, secret.Name))
		switch {
		case err == nil:
			kept[secret.Name] = text
		case !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("read key: %w", err)
		}
	}
	return kept, nil
}

// Source reads the key in a file, and says whether it made it.
type Source func(file string) (key config.Key, made bool, err error)

// Load fills keys that were not given. The embedded shape keeps its own
// in the data folder; a server makes them on the first start, saying so loudly.
// A fleet has no such folder in common, so it must be given them.
func Load(s *config.Settings, embedded bool, from Source, log *slog.Logger) error {
	var missing []string
	var errs []error
	for _, secret := range SecretsOf(s) {
		if len(*secret.Key) > 0 {
			continue
		}
		if !embedded {
			missing = append(missing, secret.Name)
			continue
		}
		file := File(s, secret.Name)
		key, made, err := from(file)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", secret.Name, err))
			continue
		}
		if made {
			log.Warn("a new key was made: back it up, without it you lose what it guards", slog.String("event", "key.made"),
				slog.String("setting", secret.Name), slog.String("file", file), slog.String("guards", secret.Lost))
		}
		*secret.Key = key
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: not given, a fleet needs 64 hexadecimal digits for each, the same on every node (deploy/secrets makes fresh ones)", strings.Join(missing, ", "))
	}
	return errors.Join(errs...)
}

// Read reads a key that is there. It makes none: only a server does.
func Read(file string) (key config.Key, made bool, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, false, fmt.Errorf("read key: %w", err)
	}
	if err := key.UnmarshalText([]byte(strings.TrimSpace(string(text)))); err != nil || len(key) == 0 {
		return nil, false, fmt.Errorf("read key %s: it does not hold 64 hexadecimal digits", file)
	}
	return key, false, nil
}

// ReadOrMake reads a key, or makes it where there is none.
func ReadOrMake(file string) (config.Key, bool, error) {
	key, _, err := Read(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	key = make(config.Key, 32)
	_, _ = rand.Read(key) // never fails
	if err := Write(file, key); err != nil {
		return nil, false, fmt.Errorf("write key: %w", err)
	}
	return key, true, nil
}

// Write puts the key on disk before anything is sealed under it: a crash
// must not leave data whose key never reached the platter.
func Write(file string, key config.Key) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp := file + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(hex.EncodeToString(key) + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temp, file)
	}
	if err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Restore stores a key of an archive, or checks that it is the one in force.
func Restore(s *config.Settings, name string, text []byte) error {
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return errors.New("it does not hold 64 hexadecimal digits")
	}
	for _, secret := range SecretsOf(s) {
		if secret.Name != name {
			continue
		}
		if len(*secret.Key) > 0 {
			if subtle.ConstantTimeCompare(*secret.Key, key) != 1 {
				return fmt.Errorf("%s is set to another key than the archive's", name)
			}
			return nil
		}
		if s.Storage.Database.Given() {
			return fmt.Errorf("set %s to the archive's key first: a fleet keeps no keys in files", name)
		}
		if _, err := os.Stat(File(s, name)); err == nil {
			return fmt.Errorf("%s exists: an archive is restored into an empty place only", File(s, name))
		}
		return Write(File(s, name), key)
	}
	return errors.New("this program knows no such key")
}

// Check compares each key with the check value that the first node
// stored, so that a node with another key stops before it writes what the
// others cannot read.
func Check(ctx context.Context, db *sqldb.DB, s *config.Settings) error {
	return db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		for _, secret := range SecretsOf(s) {
			mine := keyCheck(secret.Name, *secret.Key)
			if _, err := tx.ExecContext(ctx, `INSERT INTO app_keys (name, check_value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, secret.Name, mine); err != nil {
				return fmt.Errorf("store key check: %w", err)
			}
			var stored string
			if err := tx.QueryRowContext(ctx, `SELECT check_value FROM app_keys WHERE name = $1`, secret.Name).Scan(&stored); err != nil {
				return fmt.Errorf("read key check: %w", err)
			}
			if hmac.Equal([]byte(stored), []byte(mine)) {
				continue
			}
			if !rotated(secret, stored) {
				return fmt.Errorf("%s: not the key that this database was made with; give the old key back, or list it as an earlier one", secret.Name)
			}
			if _, err := tx.ExecContext(ctx, `UPDATE app_keys SET check_value = $1 WHERE name = $2`, mine, secret.Name); err != nil {
				return fmt.Errorf("store key check: %w", err)
			}
		}
		return nil
	})
}

// Compare is Check for those who only look: it stores nothing, and
// a key that follows an earlier one is as good as that one.
func Compare(ctx context.Context, q sqldb.Querier, s *config.Settings) error {
	var errs []error
	for _, secret := range SecretsOf(s) {
		var stored string
		err := q.QueryRowContext(ctx, `SELECT check_value FROM app_keys WHERE name = $1`, secret.Name).Scan(&stored)
		switch {
		case errors.Is(err, sql.ErrNoRows): // no node has started with this kind of key yet
		case err != nil:
			errs = append(errs, fmt.Errorf("read key check: %w", err))
		case stored != keyCheck(secret.Name, *secret.Key) && !rotated(secret, stored):
			errs = append(errs, fmt.Errorf("%s: not the key that this database was made with", secret.Name))
		}
	}
	return errors.Join(errs...)
}

// InForce is the key of a name that every node is to seal under now: the one that a
// node last began with. A node that has it as an earlier one only must not bring the
// former key back while it is being changed, so it is looked up for each new secret;
// one that does not have it seals nothing.
//
// Decision: ADR 0238.
func InForce(ctx context.Context, q sqldb.Querier, s *config.Settings, name string) (config.Key, error) {
	var stored string
	if err := q.QueryRowContext(ctx, `SELECT check_value FROM app_keys WHERE name = $1`, name).Scan(&stored); err != nil {
		return nil, fmt.Errorf("read key check: %w", err)
	}
	for _, secret := range SecretsOf(s) {
		if secret.Name != name {
			continue
		}
		for _, key := range append([]config.Key{*secret.Key}, secret.Old...) {
			if hmac.Equal([]byte(stored), []byte(keyCheck(name, key))) {
				return key, nil
			}
		}
	}
	return nil, fault.Wrap(fault.Unavailable, "This node cannot keep new secrets: it has another key than the others.",
		fmt.Errorf("%s: the key that is in force was not given to this node", name))
}

// Files are the keys that files and knowledge are under: the current one, others that
// are still read, and which of them is in force.
type Files struct {
	Current seal.Key
	Old     []seal.Key
	InForce func(context.Context) (seal.Key, error)
}

// FilesOf are those of the settings.
func FilesOf(db *sqldb.DB, s *config.Settings) (Files, error) {
	if len(s.Files.MasterKey) != seal.KeySize {
		return Files{}, fmt.Errorf("%s: not given", filesKey)
	}
	f := Files{Current: seal.Key(s.Files.MasterKey), InForce: func(ctx context.Context) (seal.Key, error) {
		key, err := InForce(ctx, db.Read(), s, filesKey)
		if err != nil {
			return seal.Key{}, err
		}
		return seal.Key(key), nil
	}}
	for _, key := range s.Files.MasterKeysOld {
		f.Old = append(f.Old, seal.Key(key))
	}
	return f, nil
}

// PINsOf are the keys that PINs are under.
func PINsOf(db *sqldb.DB, s *config.Settings) (*ussdpin.Keys, error) {
	old := make([][]byte, 0, len(s.USSD.PINKeysOld))
	for _, key := range s.USSD.PINKeysOld {
		old = append(old, key)
	}
	keys, err := ussdpin.NewKeys(s.USSD.PINKey, old...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pinKey, err)
	}
	keys.Follow(func(ctx context.Context) ([]byte, error) { return InForce(ctx, db.Read(), s, pinKey) })
	return keys, nil
}

func rotated(s Secret, stored string) bool {
	for _, old := range s.Old {
		if hmac.Equal([]byte(stored), []byte(keyCheck(s.Name, old))) {
			return true
		}
	}
	return false
}

func keyCheck(name string, key config.Key) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("castalia key check " + name))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
