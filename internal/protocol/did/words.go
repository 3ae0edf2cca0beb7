package did

import (
	"crypto/ed25519"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// english is the English word list of BIP-39: 2,048 words in order, one a line.
//
//go:embed english.txt
var english string

const (
	// Words is how many words a key is written as: 256 bits of it and 8 of its
	// hash, 11 a word.
	Words    = 24
	wordBits = 11
	// maxWords is longer than any text of that many numbered words.
	maxWords = 4 << 10
)

// ErrWords is for words that are no key. What was typed is a secret and never part of it.
var ErrWords = errors.New("not the words of a key")

// Words returns the secret as 24 English words: the seed itself as the entropy of
// BIP-39, and nothing derived from it. IXO wallets derive another key from such words:
// see SignerFromMnemonic and ADR 0304.
func (s Signer) Words() []string {
	seed := s.private.Seed()
	sum := sha256.Sum256(seed)
	list := strings.Fields(english)
	out, rest, bits := make([]string, 0, Words), uint(0), uint(0)
	for _, b := range append(seed, sum[0]) {
		rest, bits = rest<<8|uint(b), bits+8
		if bits >= wordBits {
			bits -= wordBits
			out = append(out, list[rest>>bits])
			rest &= 1<<bits - 1
		}
	}
	return out
}

// SignerFromWords makes the key of 24 words. Numbers before them, upper case, commas and
// breaks of lines do not matter. The error names the place of a word that is on no list.
func SignerFromWords(text string) (Signer, error) {
	if len(text) > maxWords {
		return Signer{}, fmt.Errorf("%w: the text has more than %d bytes", ErrWords, maxWords)
	}
	list, words := strings.Fields(english), SplitWords(text)
	if len(words) == 12 {
		return Signer{}, fmt.Errorf("%w: there are 12 words, and a key has %d; 12 are the phrase of a wallet, "+
			"from which `castalia key new --mnemonic` derives the key that it has there", ErrWords, Words)
	}
	if len(words) != Words {
		return Signer{}, fmt.Errorf("%w: there are %d words, and a key has %d", ErrWords, len(words), Words)
	}
	raw, rest, bits := make([]byte, 0, ed25519.SeedSize+1), uint(0), uint(0)
	for i, word := range words {
		at, isListed := slices.BinarySearch(list, word)
		if !isListed {
			return Signer{}, fmt.Errorf("%w: word %d is not on the list of BIP-39: look at how it is spelled", ErrWords, i+1)
		}
		rest, bits = rest<<wordBits|uint(at), bits+wordBits
		for bits >= 8 {
			bits -= 8
			raw = append(raw, byte(rest>>bits)) //nolint:gosec // eight bits are meant
			rest &= 1<<bits - 1
		}
	}
	seed := raw[:ed25519.SeedSize]
	if sum := sha256.Sum256(seed); sum[0] != raw[ed25519.SeedSize] {
		return Signer{}, fmt.Errorf("%w: each is on the list, but the checksum is wrong: one is wrong, or two are swapped", ErrWords)
	}
	return SignerFromSeed(seed)
}

// IsWord reports whether a word is on the list.
func IsWord(word string) bool {
	_, isListed := slices.BinarySearch(strings.Fields(english), word)
	return isListed
}

// SplitWords returns the words of a text that people wrote down: in lower case, without
// numbers before them and signs around them.
func SplitWords(text string) []string {
	var words []string
	for field := range strings.FieldsSeq(strings.ToLower(text)) {
		for word := range strings.SplitSeq(field, ",") {
			word = strings.TrimLeftFunc(word, func(r rune) bool { return unicode.IsDigit(r) || isSign(r) })
			if word = strings.TrimRightFunc(word, isSign); word != "" {
				words = append(words, word)
			}
		}
	}
	return words
}

// isSign includes what cannot be seen: marks of byte order and of direction.
func isSign(r rune) bool { return unicode.IsPunct(r) || unicode.Is(unicode.Cf, r) }
