package did

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"math/big"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	secpecdsa "github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"github.com/mr-tron/base58"
	"github.com/multiformats/go-varint"
)

// Algorithm is the code in front of a signature.
type Algorithm uint64

// The signature codes that a token may carry. Only the first four can be
// checked; the others decode, and never verify.
const (
	EdDSA       Algorithm = 0xd0ed
	ES256K      Algorithm = 0xd0e7
	ES256       Algorithm = 0xd01200
	RS256       Algorithm = 0xd01205
	ES384       Algorithm = 0xd01201
	ES512       Algorithm = 0xd01202
	BLS12381G1  Algorithm = 0xd0ea
	BLS12381G2  Algorithm = 0xd0eb
	EIP191      Algorithm = 0xd191
	NonStandard Algorithm = 0xd000
)

// Name returns the algorithm's name in the header of a JWT, and false for a
// code that is not known. NonStandard has no name of its own.
func (a Algorithm) Name() (string, bool) {
	switch a {
	case EdDSA:
		return "EdDSA", true
	case ES256K:
		return "ES256K", true
	case ES256:
		return "ES256", true
	case RS256:
		return "RS256", true
	case ES384:
		return "ES384", true
	case ES512:
		return "ES512", true
	case BLS12381G1:
		return "BLS12381G1", true
	case BLS12381G2:
		return "BLS12381G2", true
	case EIP191:
		return "EIP191", true
	case NonStandard:
		return "", true
	}
	return "", false
}

// The sizes of RSA keys that are neither weak nor a way to burn our time.
const (
	minRSABits = 2048
	maxRSABits = 4096
)

// Key is a public key that can check signatures.
type Key struct {
	tagged string
	ed     ed25519.PublicKey
	p256   *ecdsa.PublicKey
	secp   *secp256k1.PublicKey
	rsa    *rsa.PublicKey
}

// ParseKey returns the key inside a did:key.
func ParseKey(d DID) (Key, error) {
	tagged, err := taggedKey(string(d))
	if err != nil {
		return Key{}, err
	}
	return KeyFromTagged(tagged)
}

// KeyFromTagged reads a key with its multicodec tag in front.
func KeyFromTagged(tagged string) (Key, error) {
	tag, n, err := varint.FromUvarint([]byte(tagged[:min(len(tagged), 9)]))
	if err != nil {
		return Key{}, fmt.Errorf("%w: tag: %w", ErrInvalid, err)
	}
	raw := []byte(tagged[n:])
	k := Key{tagged: tagged}
	switch tag {
	case tagEd25519:
		if len(raw) != ed25519.PublicKeySize {
			return Key{}, fmt.Errorf("%w: Ed25519 key of %d bytes", ErrInvalid, len(raw))
		}
		if !plainPoint(raw) {
			return Key{}, fmt.Errorf("%w: Ed25519 key is of small order, or a second spelling of another", ErrInvalid)
		}
		k.ed = raw
	case tagP256:
		if len(raw) != 33 {
			return Key{}, fmt.Errorf("%w: P-256 key of %d bytes", ErrInvalid, len(raw))
		}
		x, y := elliptic.UnmarshalCompressed(elliptic.P256(), raw)
		if x == nil {
			return Key{}, fmt.Errorf("%w: point is not on P-256", ErrInvalid)
		}
		point := make([]byte, 65)
		point[0] = 4 // uncompressed
		x.FillBytes(point[1:33])
		y.FillBytes(point[33:])
		if k.p256, err = ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point); err != nil {
			return Key{}, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	case tagSecp256k1:
		if len(raw) != 33 {
			return Key{}, fmt.Errorf("%w: secp256k1 key of %d bytes", ErrInvalid, len(raw))
		}
		if k.secp, err = secp256k1.ParsePubKey(raw); err != nil {
			return Key{}, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	case tagRSA:
		if k.rsa, err = x509.ParsePKCS1PublicKey(raw); err != nil {
			return Key{}, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		if bits := k.rsa.N.BitLen(); bits < minRSABits || bits > maxRSABits {
			return Key{}, fmt.Errorf("%w: RSA key of %d bits", ErrInvalid, bits)
		}
	default:
		return Key{}, fmt.Errorf("%w: no verifier for key tag 0x%x", ErrInvalid, tag)
	}
	return k, nil
}

// KeyFromEd25519 wraps a raw Ed25519 public key.
func KeyFromEd25519(raw []byte) (Key, error) {
	return KeyFromTagged(string(varint.ToUvarint(tagEd25519)) + string(raw))
}

// DID returns the did:key of the key.
func (k Key) DID() DID { return DID(keyPrefix + base58.Encode([]byte(k.tagged))) }

// Verify reports whether sig is the key's signature of message by the
// algorithm. An algorithm that belongs to another kind of key is a no.
func (k Key) Verify(alg Algorithm, message, sig []byte) bool {
	switch {
	case k.ed != nil:
		return alg == EdDSA && len(sig) == ed25519.SignatureSize && ed25519.Verify(k.ed, message, sig)
	case k.p256 != nil:
		if alg != ES256 || len(sig) != 64 {
			return false
		}
		sum := sha256.Sum256(message)
		r, s := new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])
		return ecdsa.Verify(k.p256, sum[:], r, s)
	case k.secp != nil:
		if alg != ES256K || len(sig) != 64 {
			return false
		}
		var r, s secp256k1.ModNScalar
		if r.SetByteSlice(sig[:32]) || s.SetByteSlice(sig[32:]) {
			return false
		}
		sum := sha256.Sum256(message)
		return secpecdsa.NewSignature(&r, &s).Verify(sum[:], k.secp)
	case k.rsa != nil:
		sum := sha256.Sum256(message)
		return alg == RS256 && rsa.VerifyPKCS1v15(k.rsa, crypto.SHA256, sum[:], sig) == nil
	}
	return false
}

// Mirror returns the other signature that the same ECDSA statement has: whoever
// sees (r, s) can also write (r, -s). It returns nil for algorithms that have
// no such twin. Stores keyed by a token's CID must look for both.
func Mirror(alg Algorithm, sig []byte) []byte {
	var order *big.Int
	switch {
	case len(sig) != 64:
		return nil
	case alg == ES256:
		order = elliptic.P256().Params().N
	case alg == ES256K:
		order = secp256k1.Params().N
	default:
		return nil
	}
	s := new(big.Int).SetBytes(sig[32:])
	if s.Sign() == 0 || s.Cmp(order) >= 0 {
		return nil
	}
	twin := make([]byte, 64)
	copy(twin, sig[:32])
	s.Sub(order, s).FillBytes(twin[32:])
	return twin
}

// plainPoint refuses encodings of an Ed25519 point beyond the field, which the
// verifier would read as another one's second spelling, and points of small order,
// for which anybody can make signatures. Both are known by y alone.
func plainPoint(raw []byte) bool {
	y := [ed25519.PublicKeySize]byte(raw)
	y[31] &= 0x7f // without the sign of x
	if y[31] == 0x7f && y[0] >= 0xec {
		beyond := true
		for _, b := range y[1:31] {
			beyond = beyond && b == 0xff
		}
		if beyond { // p-1, which has order 2, and all above it
			return false
		}
	}
	switch string(y[:]) {
	case "\x00" + zeros31, "\x01" + zeros31, smallOrderA, smallOrderB:
		return false
	}
	return true
}

// The values of y of the points of order 8; those of order 1, 2 and 4 are 1, -1 and 0.
const (
	zeros31 = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	smallOrderA = "\x26\xe8\x95\x8f\xc2\xb2\x27\xb0\x45\xc3\xf4\x89\xf2\xef\x98\xf0" +
		"\xd5\xdf\xac\x05\xd3\xc6\x33\x39\xb1\x38\x02\x88\x6d\x53\xfc\x05"
	smallOrderB = "\xc7\x17\x6a\x70\x3d\x4d\xd8\x4f\xba\x3c\x0b\x76\x0d\x10\x67\x0f" +
		"\x2a\x20\x53\xfa\x2c\x39\xcc\xc6\x4e\xc7\xfd\x77\x92\xac\x03\x7a"
)
