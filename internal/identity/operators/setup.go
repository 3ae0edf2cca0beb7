package operators

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// LinkLife is how long a setup link is good.
const LinkLife = time.Hour

// codeLength is that of crypto/rand's Text: 130 bits in base32.
const codeLength = 26

// codeAlphabet is what a code is written with. There is one spelling.
const codeAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// HasOwner reports whether anybody is an owner.
func (b *Book) HasOwner(ctx context.Context) (bool, error) { return b.store.HasOwner(ctx) }

// NewLink makes a setup link. The code is told once: it is not kept.
func (b *Book) NewLink(ctx context.Context) (code string, expires time.Time, err error) {
	code = rand.Text()
	now := b.now()
	expires = now.Add(LinkLife)
	if err := b.store.AddLink(ctx, Link{Digest: digestOf(code), Created: now, Expires: expires}); err != nil {
		return "", time.Time{}, fmt.Errorf("store setup link: %w", err)
	}
	return code, expires, nil
}

// Open makes a DID, which was proved, the owner by the code of a link.
func (b *Book) Open(ctx context.Context, who, code string) (Record, error) {
	if len(code) != codeLength || strings.Trim(code, codeAlphabet) != "" {
		return Record{}, ErrNoLink
	}
	return b.store.OpenLink(ctx, digestOf(code), who, b.now())
}

// digestOf names a code. It has 130 random bits, so that a fast hash does.
func digestOf(code string) string {
	sum := sha256.Sum256([]byte("castalia setup link " + code))
	return hex.EncodeToString(sum[:])
}
