package ucan

import "github.com/castalia-org/castalia/internal/protocol/ipld"

// NameOf returns the one name of the token that a CID means, however the CID is
// spelled: in another alphabet, version or codec, or with the block inside it.
// Tokens are accepted under that name alone, but others are still written in
// records of earlier releases and asked about by other programs. It returns false
// for text that names nothing by SHA-256.
func NameOf(cid string) (string, bool) {
	sum, err := ipld.Digest(cid)
	if err != nil {
		return "", false
	}
	return ipld.CIDText(ipld.DagCBORCID(sum)), true
}
