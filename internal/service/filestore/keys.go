package filestore

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/seal"
)

// maxCachedKeys bounds the namespaces whose keys are in memory.
const maxCachedKeys = 4096

// keyring opens namespaces: version keys are wrapped by the namespace's key,
// which is wrapped by the master key.
type keyring struct {
	store   Blobs
	master  map[string]seal.Key // by id
	current string
	inForce func(context.Context) (seal.Key, error)
	now     clock
	mu      sync.Mutex
	cache   map[string]namespaceKeys
}

// namespaceKeys are a namespace's secrets, unwrapped.
type namespaceKeys struct{ content, index seal.Key }

// MasterID names a master key without telling anything about it.
func MasterID(k seal.Key) string {
	m := hmac.New(sha256.New, k[:])
	m.Write([]byte("castalia files master key"))
	return hex.EncodeToString(m.Sum(nil)[:8])
}

func newKeyring(store Blobs, now clock, cfg Config) *keyring {
	k := &keyring{
		store: store, now: now, current: MasterID(cfg.MasterKey), inForce: cfg.InForce, master: map[string]seal.Key{},
		cache: map[string]namespaceKeys{},
	}
	for _, key := range append(cfg.OldKeys, cfg.MasterKey) {
		k.master[MasterID(key)] = key
	}
	if k.inForce == nil {
		k.inForce = func(context.Context) (seal.Key, error) { return cfg.MasterKey, nil }
	}
	return k
}

// namespace returns the keys of a namespace, making them when it is new.
func (k *keyring) namespace(ctx context.Context, name string) (namespaceKeys, error) {
	k.mu.Lock()
	keys, ok := k.cache[name]
	k.mu.Unlock()
	if ok {
		return keys, nil
	}
	row, err := k.store.Namespace(ctx, name)
	if fault.Is(err, fault.NotFound) {
		row, err = k.create(ctx, name)
	}
	if err != nil {
		return namespaceKeys{}, err
	}
	if keys, err = k.unwrap(row); err != nil {
		return namespaceKeys{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.cache) >= maxCachedKeys {
		clear(k.cache)
	}
	k.cache[name] = keys
	return keys, nil
}

func (k *keyring) create(ctx context.Context, name string) (Namespace, error) {
	master, err := k.inForce(ctx)
	if err != nil {
		return Namespace{}, err
	}
	content, index := seal.NewKey(), seal.NewKey()
	row := Namespace{Name: name, MasterID: MasterID(master), KeepVersions: DefaultKeep}
	if row.WrappedKey, err = seal.Wrap(master, content, namespaceAAD(name)); err != nil {
		return Namespace{}, fmt.Errorf("wrap namespace key: %w", err)
	}
	if row.IndexKey, err = seal.Wrap(content, index, indexAAD(name)); err != nil {
		return Namespace{}, fmt.Errorf("wrap index key: %w", err)
	}
	return k.store.CreateNamespace(ctx, row, k.now())
}

func (k *keyring) unwrap(row Namespace) (namespaceKeys, error) {
	master, ok := k.master[row.MasterID]
	if !ok {
		return namespaceKeys{}, fmt.Errorf("namespace is under master key %s, which was not given", row.MasterID)
	}
	content, err := seal.Unwrap(master, row.WrappedKey, namespaceAAD(row.Name))
	if err != nil {
		return namespaceKeys{}, fmt.Errorf("unwrap namespace key: %w", err)
	}
	index, err := seal.Unwrap(content, row.IndexKey, indexAAD(row.Name))
	if err != nil {
		return namespaceKeys{}, fmt.Errorf("unwrap index key: %w", err)
	}
	return namespaceKeys{content, index}, nil
}

// IndexKey is the key of a namespace's search index.
func (s *Service) IndexKey(ctx context.Context, namespace string) (seal.Key, error) {
	keys, err := s.keys.namespace(ctx, namespace)
	return keys.index, err
}

// blobKey opens a blob's key. A shredded one is gone for good.
func (k *keyring) blobKey(ctx context.Context, b Blob) (seal.Key, error) {
	if len(b.WrappedKey) == 0 {
		return seal.Key{}, fault.New(fault.Gone, "the content was destroyed")
	}
	keys, err := k.namespace(ctx, b.Namespace)
	if err != nil {
		return seal.Key{}, err
	}
	return seal.Unwrap(keys.content, b.WrappedKey, blobAAD(b.Namespace, b.ID))
}

// The contexts that bind keys and bytes to their place. A namespace has no NUL.
func namespaceAAD(ns string) []byte  { return []byte("vfs/v1/namespace\x00" + ns) }
func indexAAD(ns string) []byte      { return []byte("vfs/v1/index\x00" + ns) }
func blobAAD(ns, blob string) []byte { return []byte("vfs/v1/key\x00" + ns + "\x00" + blob) }
func extentAAD(ns, blob string, seq int) []byte {
	return []byte("vfs/v1\x00" + ns + "\x00" + blob + "\x00" + strconv.Itoa(seq))
}
