package lease

import (
	"crypto/rand"
	"encoding/hex"
	"os"
)

// NodeName is the host's name for people, and random digits because several
// nodes may share a host.
func NodeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return host + "-" + hex.EncodeToString(b[:])
}
