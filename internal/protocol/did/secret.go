package did

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// keyBlock begins a private key in the forms that other programs write.
	keyBlock = regexp.MustCompile(`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\bAGE-SECRET-KEY-1[A-Z0-9]{20,}`)
	phrase   = regexp.MustCompile(`^[a-z]{3,8}(?:\s+[a-z]{3,8})+$`)
)

// phraseLengths are how many words a BIP-39 phrase has.
var phraseLengths = []int{12, 15, 18, 21, 24}

// maxSecret is longer than any text that is a key and nothing else.
const maxSecret = 1 << 10

// HoldsSecret reports whether a text has a private key in it, or is one: a signer's text,
// or what reads like a BIP-39 phrase. It is for warning people who are about to give one
// away; what it does not know it lets pass.
func HoldsSecret(text string) bool {
	// Few texts have such words, and to look for them is cheap in a long one.
	if (strings.Contains(text, "PRIVATE KEY") || strings.Contains(text, "AGE-SECRET-KEY-1")) && keyBlock.MatchString(text) {
		return true
	}
	if len(text) > maxSecret {
		return false
	}
	text = strings.TrimSpace(text)
	if phrase.MatchString(text) && slices.Contains(phraseLengths, len(strings.Fields(text))) {
		return true
	}
	if _, err := SignerFromWords(text); err == nil { // numbered, or in capitals
		return true
	}
	_, err := ParseSigner(text)
	return err == nil
}
