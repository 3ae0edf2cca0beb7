package appkey

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"strings"

	"github.com/castalia-org/castalia/internal/identity"
)

// The text of an app key is its prefix and 40 characters of base32: 20 random bytes
// and 5 of a checksum, so that no bit is left over and a slip of the pen is told from
// a guess without asking the database.
const (
	secretSize   = 20
	checksumSize = 5
	// TextLength is how long every app key is.
	TextLength = len(identity.AppKeyPrefix) + (secretSize+checksumSize)*8/5
)

func alphabet() *base32.Encoding {
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
}

// newText returns a new app key.
func newText() string {
	var secret [secretSize]byte
	_, _ = rand.Read(secret[:]) // never fails: crypto/rand ends the program instead
	return textOf(secret)
}

func textOf(secret [secretSize]byte) string {
	sum := checksum(secret[:])
	return identity.AppKeyPrefix + alphabet().EncodeToString(append(secret[:], sum[:]...))
}

func checksum(secret []byte) (sum [checksumSize]byte) {
	whole := sha256.Sum256(append([]byte("castalia app key checksum "), secret...))
	copy(sum[:], whole[:])
	return sum
}

// wellFormed reports whether the text could be an app key. There is one spelling:
// another case, padding or blanks make another text, which nobody made.
func wellFormed(text string) bool {
	rest, ok := strings.CutPrefix(text, identity.AppKeyPrefix)
	if !ok || len(text) != TextLength || strings.ContainsAny(rest, "\r\n") { // which the decoder would skip
		return false
	}
	raw, err := alphabet().DecodeString(rest)
	if err != nil || len(raw) != secretSize+checksumSize {
		return false
	}
	sum := checksum(raw[:secretSize])
	return subtle.ConstantTimeCompare(sum[:], raw[secretSize:]) == 1
}

// digestOf names a text in the store. It has 160 random bits, so that a fast hash does.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte("castalia app key " + text))
	return hex.EncodeToString(sum[:])
}
