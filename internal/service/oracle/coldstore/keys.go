package coldstore

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/sqldb"
	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// Keys are the master keys: the current one, others that are still read, and which of
// them is in force.
type Keys struct {
	Current seal.Key
	Old     []seal.Key
	InForce func(context.Context) (seal.Key, error)
}

// MasterID names a master key without telling anything about it.
func MasterID(k seal.Key) string {
	m := hmac.New(sha256.New, k[:])
	m.Write([]byte("castalia cold conversations master key"))
	return hex.EncodeToString(m.Sum(nil)[:8])
}

// There is one key, which wraps those of the objects: masters change by wrapping it anew.
const keyID = "cold"

func keyAAD() []byte { return []byte("oracle/v1/cold\x00" + keyID) }

// open unwraps the key under whichever master it is.
func (k Keys) open(wrapped []byte, masterID string) (seal.Key, error) {
	for _, master := range append([]seal.Key{k.Current}, k.Old...) {
		if MasterID(master) == masterID {
			return seal.Unwrap(master, wrapped, keyAAD())
		}
	}
	return seal.Key{}, fmt.Errorf("archived conversations are under master key %s, which was not given", masterID)
}

func (s *Store) key(ctx context.Context) (wrapped []byte, masterID string, err error) {
	err = s.DB.Read().QueryRowContext(ctx, `SELECT wrapped_key, master_id FROM oracle_cold_keys WHERE id = $1`, keyID).Scan(&wrapped, &masterID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("read key of archived conversations: %w", err)
	}
	return wrapped, masterID, err
}

// vault seals and opens objects.
func (s *Store) vault(ctx context.Context) (seal.Vault, error) {
	wrapped, masterID, err := s.key(ctx)
	if err != nil {
		return seal.Vault{}, err
	}
	key, err := s.Keys.open(wrapped, masterID)
	return seal.Vault{Key: key, Space: "oracle/v1/cold"}, err
}

// vaultToSeal is vault, and makes the key where there is none.
func (s *Store) vaultToSeal(ctx context.Context) (seal.Vault, error) {
	v, err := s.vault(ctx)
	if !errors.Is(err, sql.ErrNoRows) {
		return v, err
	}
	master, err := s.Keys.InForce(ctx)
	if err != nil {
		return v, err
	}
	wrapped, err := seal.Wrap(master, seal.NewKey(), keyAAD())
	if err != nil {
		return v, fmt.Errorf("wrap key of archived conversations: %w", err)
	}
	if _, err := s.DB.WriteOne(ctx, `INSERT INTO oracle_cold_keys (id, wrapped_key, master_id) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING`,
		keyID, wrapped, MasterID(master)); err != nil {
		return v, fmt.Errorf("store key of archived conversations: %w", err)
	}
	return s.vault(ctx) // another node may have been faster
}

// RotateKeys wraps the key under the current master key, and returns how many it wrapped.
// No object is touched.
func (s *Store) RotateKeys(ctx context.Context) (int, error) {
	wrapped, masterID, err := s.key(ctx)
	current := MasterID(s.Keys.Current)
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && masterID == current:
		return 0, nil
	case err != nil:
		return 0, err
	}
	key, err := s.Keys.open(wrapped, masterID)
	if err != nil {
		return 0, err
	}
	if wrapped, err = seal.Wrap(s.Keys.Current, key, keyAAD()); err != nil {
		return 0, fmt.Errorf("wrap key of archived conversations: %w", err)
	}
	n, err := s.DB.WriteOne(ctx, `UPDATE oracle_cold_keys SET wrapped_key = $1, master_id = $2 WHERE id = $3 AND master_id = $4`, wrapped, current, keyID, masterID)
	return int(n), err
}

// MasterKeys names the master keys that cold conversations are under.
func MasterKeys(ctx context.Context, db *sqldb.DB) ([]string, error) {
	return sqldb.Strings(ctx, db.Read(), `SELECT DISTINCT master_id FROM oracle_cold_keys`)
}
