package ucan

import (
	"strings"

	"github.com/castalia-org/castalia/internal/protocol/ipld"
)

// NameOf returns the one name of the token that a CID means, however the CID is
// spelled: in another alphabet, version or codec, or with the block inside it.
// Tokens are accepted under that name alone, but others are still written in
// records of earlier releases and asked about by other programs. It returns false
// for text that names nothing by SHA-256.
func NameOf(cid string) (string, bool) {
	if isName(cid) {
		return cid, true
	}
	sum, err := ipld.Digest(cid)
	if err != nil {
		return "", false
	}
	return ipld.CIDText(ipld.DagCBORCID(sum)), true
}

// isName reports whether a CID is spelled as NameOf spells it, without decoding it: nearly
// all are. In base32 the version, the codec, the hash function and its length take six
// characters and two bits of a seventh, and the last character has two bits that are none
// of the digest's.
func isName(cid string) bool {
	const start, length, alphabet = "bafyrei", 59, "abcdefghijklmnopqrstuvwxyz234567"
	if len(cid) != length || !strings.HasPrefix(cid, start) || cid[len(start)] < 'a' || cid[len(start)] > 'h' {
		return false
	}
	for i := len(start); i < length; i++ {
		if c := cid[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return strings.IndexByte(alphabet, cid[length-1])%4 == 0
}
