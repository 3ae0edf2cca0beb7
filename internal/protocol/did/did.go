// Package did knows decentralized identifiers as capability tokens use them:
// their text, their bytes inside a token, and the public keys that a did:key
// contains or a DID document lists.
//
// It is pure. It never resolves anything over a network: whoever needs the keys
// of a did:web or did:ixo brings them. It refuses keys that it cannot check
// (wrong length, point not on the curve, RSA outside 2048 to 4096 bits) and a
// signature whose algorithm does not belong to the key.
package did

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mr-tron/base58"
	"github.com/multiformats/go-varint"
)

// MaxLen bounds the text of a DID. An RSA did:key of 4096 bits has 725 characters.
const MaxLen = 1024

// ErrInvalid is in the chain of every error about a DID that cannot be read.
var ErrInvalid = errors.New("invalid DID")

// DID is a decentralized identifier in its text form, as made by Parse or
// FromBytes. Two DIDs are the same principal only when the texts are equal.
type DID string

// The multicodec tags of keys, and of a DID that is not a key.
const (
	tagEd25519   = 0xed
	tagSecp256k1 = 0xe7
	tagBLSG1     = 0xea
	tagBLSG2     = 0xeb
	tagP256      = 0x1200
	tagP384      = 0x1201
	tagP521      = 0x1202
	tagRSA       = 0x1205
	tagDID       = 0x0d1d
)

const keyPrefix = "did:key:z"

// Parse checks the text of a DID. A did:key must contain a key of a known kind, a
// did:web must be written in the one way that leads to its document.
func Parse(text string) (DID, error) {
	method, rest, ok := cut(text)
	if !ok {
		return "", fmt.Errorf("%w: want did:<method>:<identifier>", ErrInvalid)
	}
	if method == "key" {
		if _, err := taggedKey(text); err != nil {
			return "", err
		}
		return DID(text), nil
	}
	if method == "web" {
		if err := checkWeb(rest); err != nil {
			return "", err
		}
		return DID(text), nil
	}
	for i := range len(rest) {
		if c := rest[i]; c <= ' ' || c == 0x7f || strings.IndexByte(`/?#"<>\^`+"`{|}", c) >= 0 {
			return "", fmt.Errorf("%w: character %q in the identifier", ErrInvalid, c)
		}
	}
	return DID(text), nil
}

func cut(text string) (method, rest string, ok bool) {
	after, ok := strings.CutPrefix(text, "did:")
	if !ok || len(text) > MaxLen || !utf8.ValidString(text) {
		return "", "", false
	}
	method, rest, ok = strings.Cut(after, ":")
	if !ok || method == "" || rest == "" {
		return "", "", false
	}
	for i := range len(method) {
		if c := method[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return "", "", false
		}
	}
	return method, rest, true
}

// Method returns the part after "did:", such as key, web or ixo.
func (d DID) Method() string {
	method, _, _ := cut(string(d))
	return method
}

// ID returns the part after the method.
func (d DID) ID() string {
	_, rest, _ := cut(string(d))
	return rest
}

// String returns the text form.
func (d DID) String() string { return string(d) }

// FromBytes reads a DID as it stands inside a token: a tagged key, or the tag
// of DIDs followed by the text without "did:".
func FromBytes(raw string) (DID, error) {
	// The common case first: every honest token has two Ed25519 principals or one.
	if len(raw) == 34 && raw[0] == 0xed && raw[1] == 0x01 {
		return DID(keyPrefix + base58.Encode([]byte(raw))), nil
	}
	tag, n, err := varint.FromUvarint([]byte(raw[:min(len(raw), 9)]))
	if err != nil {
		return "", fmt.Errorf("%w: tag: %w", ErrInvalid, err)
	}
	if len(raw) > MaxLen {
		return "", fmt.Errorf("%w: longer than %d bytes", ErrInvalid, MaxLen)
	}
	switch tag {
	case tagDID:
		return parseOther("did:" + raw[n:])
	case tagEd25519, tagSecp256k1, tagP256, tagP384, tagP521, tagRSA, tagBLSG1, tagBLSG2:
		text := keyPrefix + base58.Encode([]byte(raw))
		if len(text) > MaxLen { // it could not be read again
			return "", fmt.Errorf("%w: longer than %d bytes as text", ErrInvalid, MaxLen)
		}
		return DID(text), nil
	}
	return "", fmt.Errorf("%w: unknown key tag 0x%x", ErrInvalid, tag)
}

// parseOther refuses a key that hides behind the tag of DIDs: it would be a
// second spelling of the same principal.
func parseOther(text string) (DID, error) {
	d, err := Parse(text)
	if err != nil {
		return "", err
	}
	if d.Method() == "key" {
		return "", fmt.Errorf("%w: did:key written as text", ErrInvalid)
	}
	return d, nil
}

// Bytes returns the form that stands inside a token.
func (d DID) Bytes() (string, error) {
	if d.Method() == "key" {
		return taggedKey(string(d))
	}
	if _, err := Parse(string(d)); err != nil {
		return "", err
	}
	return string(varint.ToUvarint(tagDID)) + strings.TrimPrefix(string(d), "did:"), nil
}

// taggedKey returns the multicodec-tagged key of a did:key.
func taggedKey(text string) (string, error) {
	encoded, ok := strings.CutPrefix(text, keyPrefix)
	if !ok || encoded == "" || len(text) > MaxLen {
		return "", fmt.Errorf("%w: want did:key:z…", ErrInvalid)
	}
	raw, err := base58.Decode(encoded)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	tag, _, err := varint.FromUvarint(raw[:min(len(raw), 9)])
	if err != nil {
		return "", fmt.Errorf("%w: tag: %w", ErrInvalid, err)
	}
	switch tag {
	case tagEd25519, tagSecp256k1, tagP256, tagP384, tagP521, tagRSA, tagBLSG1, tagBLSG2:
		return string(raw), nil
	}
	return "", fmt.Errorf("%w: unknown key tag 0x%x", ErrInvalid, tag)
}
