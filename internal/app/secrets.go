package app

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
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
	"github.com/castalia-org/castalia/internal/platform/sqldb"
)

// secret is one key of this deployment: its setting, earlier keys that are
// still good, and what is lost with it.
type secret struct {
	name string
	key  *config.Key
	old  []config.Key
	lost string
}

func secretsOf(s *config.Settings) []secret {
	return []secret{
		{"ORACLE_KEY", &s.Identity.OracleKey, nil, "the identity of this oracle"},
		{"PIN_ENCRYPTION_KEY", &s.USSD.PINKey, s.USSD.PINKeysOld, "every PIN"},
		{"FILES_MASTER_KEY", &s.Files.MasterKey, s.Files.MasterKeysOld, "every file"},
	}
}

// keySource reads the key in a file, and says whether it made it.
type keySource func(file string) (key config.Key, made bool, err error)

// loadSecrets fills keys that were not given. The embedded shape keeps its own
// in the data folder; a server makes them on the first start, saying so loudly.
// A fleet has no such folder in common, so it must be given them.
func loadSecrets(s *config.Settings, embedded bool, from keySource, log *slog.Logger) error {
	var missing []string
	var errs []error
	for _, secret := range secretsOf(s) {
		if len(*secret.key) > 0 {
			continue
		}
		if !embedded {
			missing = append(missing, secret.name)
			continue
		}
		file := keyFile(s, secret.name)
		key, made, err := from(file)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", secret.name, err))
			continue
		}
		if made {
			log.Warn("a new key was made: back it up, without it you lose what it guards",
				slog.String("setting", secret.name), slog.String("file", file), slog.String("guards", secret.lost))
		}
		*secret.key = key
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: not given, a fleet needs 64 hexadecimal digits for each, the same on every node (deploy/secrets makes fresh ones)", strings.Join(missing, ", "))
	}
	return errors.Join(errs...)
}

// readSecret reads a key that is there. It makes none: only a server does.
func readSecret(file string) (key config.Key, made bool, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, false, fmt.Errorf("read key: %w", err)
	}
	if err := key.UnmarshalText([]byte(strings.TrimSpace(string(text)))); err != nil || len(key) == 0 {
		return nil, false, fmt.Errorf("read key %s: it does not hold 64 hexadecimal digits", file)
	}
	return key, false, nil
}

func readOrMakeSecret(file string) (config.Key, bool, error) {
	key, _, err := readSecret(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	key = make(config.Key, 32)
	_, _ = rand.Read(key) // never fails
	if err := writeKey(file, key); err != nil {
		return nil, false, fmt.Errorf("write key: %w", err)
	}
	return key, true, nil
}

// writeKey puts the key on disk before anything is sealed under it: a crash
// must not leave data whose key never reached the platter.
func writeKey(file string, key config.Key) error {
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

// checkSecrets compares each key with the check value that the first node
// stored, so that a node with another key stops before it writes what the
// others can not read.
func checkSecrets(ctx context.Context, db *sqldb.DB, s *config.Settings) error {
	return db.Write(ctx, func(ctx context.Context, tx sqldb.Querier) error {
		for _, secret := range secretsOf(s) {
			mine := keyCheck(secret.name, *secret.key)
			if _, err := tx.ExecContext(ctx, `INSERT INTO app_keys (name, check_value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, secret.name, mine); err != nil {
				return fmt.Errorf("store key check: %w", err)
			}
			var stored string
			if err := tx.QueryRowContext(ctx, `SELECT check_value FROM app_keys WHERE name = $1`, secret.name).Scan(&stored); err != nil {
				return fmt.Errorf("read key check: %w", err)
			}
			if hmac.Equal([]byte(stored), []byte(mine)) {
				continue
			}
			if !rotated(secret, stored) {
				return fmt.Errorf("%s: another key than the one this database was made with; give the old key back, or list it as an earlier one", secret.name)
			}
			if _, err := tx.ExecContext(ctx, `UPDATE app_keys SET check_value = $1 WHERE name = $2`, mine, secret.name); err != nil {
				return fmt.Errorf("store key check: %w", err)
			}
		}
		return nil
	})
}

// compareSecrets is checkSecrets for those who only look: it stores nothing, and
// a key that follows an earlier one is as good as that one.
func compareSecrets(ctx context.Context, q sqldb.Querier, s *config.Settings) error {
	var errs []error
	for _, secret := range secretsOf(s) {
		var stored string
		err := q.QueryRowContext(ctx, `SELECT check_value FROM app_keys WHERE name = $1`, secret.name).Scan(&stored)
		switch {
		case errors.Is(err, sql.ErrNoRows): // no node has started with this kind of key yet
		case err != nil:
			errs = append(errs, fmt.Errorf("read key check: %w", err))
		case stored != keyCheck(secret.name, *secret.key) && !rotated(secret, stored):
			errs = append(errs, fmt.Errorf("%s: another key than the one this database was made with", secret.name))
		}
	}
	return errors.Join(errs...)
}

func rotated(s secret, stored string) bool {
	for _, old := range s.old {
		if hmac.Equal([]byte(stored), []byte(keyCheck(s.name, old))) {
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
