package knowledge

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/castalia-org/castalia/internal/platform/blob"
	"github.com/castalia-org/castalia/internal/platform/textindex/shelf"
	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// keyring opens collections: the keys of segments are wrapped by the collection's
// key, which is wrapped by the master key.
type keyring struct {
	master  map[string]seal.Key // by id
	current string
	inForce func(context.Context) (seal.Key, error)
}

// MasterID names a master key without telling anything about it.
func MasterID(k seal.Key) string {
	m := hmac.New(sha256.New, k[:])
	m.Write([]byte("castalia knowledge master key"))
	return hex.EncodeToString(m.Sum(nil)[:8])
}

func newKeyring(cfg Config) *keyring {
	k := &keyring{current: MasterID(cfg.MasterKey), inForce: cfg.InForce, master: map[string]seal.Key{}}
	for _, key := range append(cfg.OldKeys, cfg.MasterKey) {
		k.master[MasterID(key)] = key
	}
	if k.inForce == nil {
		k.inForce = func(context.Context) (seal.Key, error) { return cfg.MasterKey, nil }
	}
	return k
}

// lock wraps a new collection's key under the master key that is in force.
func (k *keyring) lock(ctx context.Context, collection string, key seal.Key) (wrapped []byte, id string, err error) {
	master, err := k.inForce(ctx)
	if err != nil {
		return nil, "", err
	}
	wrapped, err = seal.Wrap(master, key, collectionAAD(collection))
	return wrapped, MasterID(master), err
}

func (k *keyring) collection(c Collection) (seal.Key, error) {
	master, ok := k.master[c.MasterID]
	if !ok {
		return seal.Key{}, fmt.Errorf("collection is under master key %s, which was not given", c.MasterID)
	}
	key, err := seal.Unwrap(master, c.WrappedKey, collectionAAD(c.ID))
	if err != nil {
		return seal.Key{}, fmt.Errorf("unwrap key of collection: %w", err)
	}
	return key, nil
}

// vault seals the segments of a collection.
func (k *keyring) vault(c Collection) (seal.Vault, error) {
	key, err := k.collection(c)
	return seal.Vault{Key: key, Space: "knowledge/v1"}, err
}

// collectionAAD binds a collection's key to its place. Identifiers have no NUL.
func collectionAAD(id string) []byte { return []byte("knowledge/v1/collection\x00" + id) }

// segmentsOf are the segments in an object store.
func segmentsOf(blobs blob.Store) shelf.Shelf {
	return shelf.Shelf{Blobs: blobs, Prefix: "knowledge/"}
}

// RotateKeys wraps every collection's key under the current master key, and
// returns how many it wrapped. No segment is touched.
func (s *Service) RotateKeys(ctx context.Context) (int, error) {
	return s.Store.Rewrap(ctx, s.keys.current, func(c Collection) ([]byte, error) {
		key, err := s.keys.collection(c)
		if err != nil {
			return nil, err
		}
		return seal.Wrap(s.keys.master[s.keys.current], key, collectionAAD(c.ID))
	})
}
