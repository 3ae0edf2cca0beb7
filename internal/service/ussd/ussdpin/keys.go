package ussdpin

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math/big"
	"strings"
	"sync"
)

// Keys are the keys that protect PINs, the newest first. Old ones only open, but for
// what Follow says.
type Keys struct {
	ring    []key
	inForce func(context.Context) ([]byte, error)
}

type key struct {
	id   [KeyIDSize]byte
	aead cipher.AEAD
	mac  []byte // derived: never the sealing key itself
	// hashers are keyed already: making one costs as much as using it, and every
	// hop makes three digests.
	hashers *sync.Pool // of *hasher
}

// hasher makes digests, one at a time.
type hasher struct {
	mac hash.Hash
	buf []byte
}

const (
	idLabel = "castalia/ussd/key-id"
	// KeyIDSize is how many bytes in front of a sealed PIN name its key.
	KeyIDSize = 4
	macSize   = 16
)

// NewKeys makes a key ring of 32-byte keys, the newest first.
func NewKeys(newest []byte, old ...[]byte) (*Keys, error) {
	k := &Keys{}
	for _, raw := range append([][]byte{newest}, old...) {
		if len(raw) != 32 {
			return nil, errors.New("a PIN encryption key must have 32 bytes")
		}
		one, err := newKey(raw)
		if err != nil {
			return nil, err
		}
		k.ring = append(k.ring, one)
	}
	return k, nil
}

func newKey(raw []byte) (key, error) {
	block, err := aes.NewCipher(raw)
	if err != nil {
		return key{}, fmt.Errorf("make cipher: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return key{}, fmt.Errorf("make cipher: %w", err)
	}
	one := key{aead: aead, mac: derive(raw, "castalia/ussd/mac")}
	one.hashers = &sync.Pool{New: func() any {
		return &hasher{mac: hmac.New(sha256.New, one.mac), buf: make([]byte, 0, 256)}
	}}
	copy(one.id[:], derive(raw, idLabel))
	return one, nil
}

func derive(raw []byte, label string) []byte {
	h := hmac.New(sha256.New, raw)
	h.Write([]byte(label))
	return h.Sum(nil)
}

// Follow has PINs sealed under the key that is in force in the deployment, which this
// node may know as an old one, and not at all where it does not know it: a node that
// was forgotten when keys were changed would else bring the former key back (ADR 0238).
func (k *Keys) Follow(inForce func(context.Context) ([]byte, error)) { k.inForce = inForce }

// sealing is the key to seal a PIN under now.
func (k *Keys) sealing(ctx context.Context) (key, error) {
	if k.inForce == nil {
		return k.ring[0], nil
	}
	raw, err := k.inForce(ctx)
	if err != nil {
		return key{}, err
	}
	one, ok := k.byID(derive(raw, idLabel)[:KeyIDSize])
	if !ok {
		return key{}, errors.New("the PIN key that is in force is not configured")
	}
	return one, nil
}

// Check returns a value by which two nodes can see whether they have the same
// newest key. It does not say the key.
func (k *Keys) Check() string { return hex.EncodeToString(k.ring[0].id[:]) }

// Knows reports whether there is a key of a name, and whether it is the newest.
func (k *Keys) Knows(id string) (known, newest bool) {
	one, known := k.byID([]byte(id))
	return known, known && one.id == k.ring[0].id
}

func (k *Keys) byID(id []byte) (key, bool) {
	for _, one := range k.ring {
		if subtle.ConstantTimeCompare(one.id[:], id) == 1 {
			return one, true
		}
	}
	return key{}, false
}

// seal encrypts plain for one owner, under the newest key: it opens for no other.
func (k *Keys) seal(owner string, plain []byte) []byte { return k.ring[0].seal(owner, plain) }

func (o key) seal(owner string, plain []byte) []byte {
	out := make([]byte, KeyIDSize+o.aead.NonceSize(), KeyIDSize+o.aead.NonceSize()+len(plain)+o.aead.Overhead())
	copy(out, o.id[:])
	nonce := out[KeyIDSize:]
	_, _ = rand.Read(nonce) // never fails, by its contract
	return o.aead.Seal(out, nonce, plain, aad(owner))
}

// open decrypts what seal made. fresh is false when an old key opened it.
func (k *Keys) open(owner string, sealed []byte) (plain []byte, fresh bool, err error) {
	if len(sealed) < KeyIDSize+12 {
		return nil, false, errors.New("sealed value is too short")
	}
	one, ok := k.byID(sealed[:KeyIDSize])
	if !ok {
		return nil, false, errors.New("sealed under a key that is not configured")
	}
	n := one.aead.NonceSize()
	plain, err = one.aead.Open(nil, sealed[KeyIDSize:KeyIDSize+n], sealed[KeyIDSize+n:], aad(owner))
	if err != nil {
		return nil, false, fmt.Errorf("open sealed value: %w", err)
	}
	return plain, one.id == k.ring[0].id, nil
}

// SealText encrypts a text that waits under a name, and opens for no other.
func (k *Keys) SealText(name, text string) []byte { return k.seal("text\x00"+name, []byte(text)) }

// OpenText decrypts what SealText made.
func (k *Keys) OpenText(name string, sealed []byte) (string, error) {
	plain, _, err := k.open("text\x00"+name, sealed)
	return string(plain), err
}

func aad(owner string) []byte { return append([]byte("castalia/ussd/pin\x00"), owner...) }

// Digest is a keyed hash of parts, with the key's id in front.
func (k *Keys) Digest(parts ...string) []byte { return k.ring[0].digest(parts) }

func (o key) digest(parts []string) []byte {
	h := o.hashers.Get().(*hasher)
	h.mac.Reset()
	h.buf = h.buf[:0]
	for _, p := range parts {
		h.buf = append(binary.BigEndian.AppendUint32(h.buf, uint32(len(p))), p...) //nolint:gosec // bounded by validation
	}
	h.mac.Write(h.buf)
	clear(h.buf) // a PIN may have been in it
	out := make([]byte, 0, KeyIDSize+sha256.Size)
	out = h.mac.Sum(append(out, o.id[:]...))
	o.hashers.Put(h)
	return out[:KeyIDSize+macSize]
}

// Alias stands for a telephone where its number must not be written. It is the
// same on every node that has the same newest key.
func (k *Keys) Alias(phone string) string {
	return aliasMark + hex.EncodeToString(k.Digest("telephone", phone))
}

const aliasMark = "tel-"

// Names reports whether the alias stands for the telephone, under any known key.
func (k *Keys) Names(alias, phone string) bool {
	digest, err := hex.DecodeString(strings.TrimPrefix(alias, aliasMark))
	return err == nil && strings.HasPrefix(alias, aliasMark) && k.Matches(digest, "telephone", phone)
}

// NewCode makes a one-time code of an account, and what is kept of it.
func (k *Keys) NewCode(purpose, account, issuer string) (code string, mac []byte) {
	n, err := rand.Int(rand.Reader, big.NewInt(codeSpace))
	if err != nil {
		panic(err) // never happens, by the contract of the reader
	}
	code = fmt.Sprintf("%0*d", CodeDigits, n.Int64())
	return code, k.Digest("code", purpose, account, issuer, code)
}

// CodeDigits is how many digits a one-time code has: guesses at it are rationed as
// those at PINs are, and it lives for minutes.
const (
	CodeDigits = 8
	codeSpace  = 100_000_000
)

// MatchesCode reports whether mac is what was kept of the code.
func (k *Keys) MatchesCode(mac []byte, purpose, account, issuer, code string) bool {
	return k.Matches(mac, "code", purpose, account, issuer, code)
}

// Matches reports whether digest was made of the parts, under any known key.
func (k *Keys) Matches(digest []byte, parts ...string) bool {
	if len(digest) != KeyIDSize+macSize {
		return false
	}
	one, ok := k.byID(digest[:KeyIDSize])
	return ok && hmac.Equal(digest, one.digest(parts))
}
