package identitytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"testing"

	"github.com/castalia-org/castalia/internal/protocol/did"
	"github.com/castalia-org/castalia/internal/protocol/ucan"
)

// Wallet signs with P-256. Somebody who has what it signed can write the same
// statement with the mirrored signature: Mirror makes it do so.
type Wallet struct {
	Mirror bool

	tb      testing.TB
	private *ecdsa.PrivateKey
	key     did.Key
	seen    map[string][]byte
}

// NewWallet returns a wallet with a new key.
func NewWallet(tb testing.TB) *Wallet {
	tb.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	public, err := private.PublicKey.Bytes()
	if err != nil {
		tb.Fatal(err)
	}
	key, err := did.KeyFromTagged("\x80\x24" + string(append([]byte{2 + public[64]&1}, public[1:33]...)))
	if err != nil {
		tb.Fatal(err)
	}
	return &Wallet{tb: tb, private: private, key: key, seen: map[string][]byte{}}
}

// DID is the wallet's name.
func (w *Wallet) DID() did.DID { return w.key.DID() }

// Algorithm is that of its signatures.
func (w *Wallet) Algorithm() did.Algorithm { return did.ES256 }

// Sign signs a message: the same one always alike, but for the mirror.
func (w *Wallet) Sign(message []byte) []byte {
	sig := w.seen[string(message)]
	if sig == nil {
		sum := sha256.Sum256(message)
		r, s, err := ecdsa.Sign(rand.Reader, w.private, sum[:])
		if err != nil {
			w.tb.Fatal(err)
		}
		sig = make([]byte, 64)
		r.FillBytes(sig[:32])
		s.FillBytes(sig[32:])
		w.seen[string(message)] = sig
	}
	if w.Mirror {
		return did.Mirror(did.ES256, sig)
	}
	return sig
}

// Issue signs a statement.
func (w *Wallet) Issue(s ucan.Statement) *ucan.Token {
	w.tb.Helper()
	token, err := ucan.Issue(w, s)
	if err != nil {
		w.tb.Fatal(err)
	}
	return token
}
