// Package ussdgate says who may call as a telecom gateway: from which addresses,
// with which shared secret, or with which signature.
//
// What it promises. Where there is a list, only gateways on it may call, and each
// only in the ways that its entry names: all of them must hold. What is compared
// with a secret takes the same time whatever it is. What it refuses. An entry that
// checks nothing, and secrets inside the list: they are in files.
//
// Decision: ADR 0211.
package ussdgate

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // gateways sign with it; as an HMAC it is not broken
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/castalia-org/castalia/internal/platform/yamlfile"
	"github.com/castalia-org/castalia/internal/service/ussd"
)

// Session is the name of the session endpoint itself in a list.
const Session = "session"

const (
	maxSource   = 256 << 10
	maxSecrets  = 8  // in one file, while one takes the place of another
	leastSecret = 16 // characters
)

type source struct {
	Gateways map[string]entry `yaml:"gateways"`
}

type entry struct {
	Addresses []string   `yaml:"addresses"`
	Secret    *secret    `yaml:"secret"`
	Signature *signature `yaml:"signature"`
}

type secret struct {
	Header string `yaml:"header"`
	Query  string `yaml:"query"`
	File   string `yaml:"file"`
}

type signature struct {
	Header    string `yaml:"header"`
	Algorithm string `yaml:"algorithm"`
	Encoding  string `yaml:"encoding"`
	Prefix    string `yaml:"prefix"`
	File      string `yaml:"file"`
}

// Gate is a list that was read.
type Gate struct{ guards map[string]guard }

type guard struct {
	networks      []netip.Prefix
	header, query string
	secrets       [][sha256.Size]byte

	signed, prefix string
	sum            func() hash.Hash
	decode         func(string) ([]byte, error)
	keys           [][]byte
}

// Caller is what a request shows of who sent it.
type Caller struct {
	Addr   netip.Addr
	Header func(name string) string
	Query  func(name string) string
	// Signed returns what a signature covers, which is what the gateway says: the body,
	// or the query where the fields are in that.
	Signed func() ([]byte, error)
}

// Read reads the list in a file. known names the gateways that there are.
func Read(file string, known []string) (*Gate, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read gateways: %w", err)
	}
	var src source
	if err := yamlfile.Strict(text, &src, maxSource); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(src.Gateways) == 0 {
		return nil, fmt.Errorf("%s: no gateway may call: write gateways: {%s: {addresses: [192.0.2.0/24]}}", file, Session)
	}
	g := &Gate{guards: map[string]guard{}}
	for name, e := range src.Gateways {
		if name != Session && !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s: %q is no gateway: there are %s, %s", file, name, Session, strings.Join(known, ", "))
		}
		one, err := e.guard()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, name, err)
		}
		g.guards[name] = one
	}
	return g, nil
}

func (e entry) guard() (g guard, err error) {
	if len(e.Addresses) == 0 && e.Secret == nil && e.Signature == nil {
		return g, errors.New("it checks nothing: write addresses, secret or signature; for everybody [0.0.0.0/0, \"::/0\"]")
	}
	for _, text := range e.Addresses {
		network, err := netip.ParsePrefix(text)
		if addr, single := netip.ParseAddr(text); err != nil && single == nil {
			network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return g, fmt.Errorf("addresses: %q: write an address or a range such as 192.0.2.0/24", text)
		}
		g.networks = append(g.networks, network.Masked())
	}
	if s := e.Secret; s != nil {
		if (s.Header == "") == (s.Query == "") {
			return g, errors.New("secret: write header or query, one of them: where the gateway puts it")
		}
		keys, err := readSecrets(s.File)
		if err != nil {
			return g, fmt.Errorf("secret: %w", err)
		}
		g.header, g.query = s.Header, s.Query
		for _, key := range keys {
			g.secrets = append(g.secrets, sha256.Sum256(key))
		}
	}
	if s := e.Signature; s != nil {
		return g, g.sign(*s)
	}
	return g, nil
}

func (g *guard) sign(s signature) (err error) {
	sums := map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}
	decoders := map[string]func(string) ([]byte, error){"hex": hex.DecodeString, "base64": base64.StdEncoding.DecodeString}
	var ok bool
	if g.sum, ok = sums[s.Algorithm]; !ok {
		return errors.New("signature.algorithm: write sha256, sha512 or sha1")
	}
	if g.decode, ok = decoders[s.Encoding]; !ok {
		return errors.New("signature.encoding: write hex or base64")
	}
	if s.Header == "" {
		return errors.New("signature.header: write the name of the header that has it")
	}
	g.signed, g.prefix = s.Header, s.Prefix
	if g.keys, err = readSecrets(s.File); err != nil {
		return fmt.Errorf("signature: %w", err)
	}
	return nil
}

// readSecrets reads a secret, or several while they are changed, one a line.
func readSecrets(file string) ([][]byte, error) {
	if file == "" {
		return nil, errors.New("file: write the path of the file that has it")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
		case len(line) < leastSecret:
			return nil, fmt.Errorf("%s has a secret of less than %d characters", file, leastSecret)
		default:
			all = append(all, line)
		}
	}
	if len(all) == 0 || len(all) > maxSecrets {
		return nil, fmt.Errorf("%s has %d secrets: write 1 to %d, one a line", file, len(all), maxSecrets)
	}
	return all, nil
}

// Admit returns nil for who may call as the gateway of that name, and else an
// ussd.InvalidError that says, for the log alone, what was wrong.
func (g *Gate) Admit(name string, c Caller) error {
	if g == nil {
		return nil
	}
	one, listed := g.guards[name]
	switch {
	case !listed:
		return &ussd.InvalidError{Field: "gateway", Rule: "must be on the list of gateways"}
	case len(one.networks) > 0 && !slices.ContainsFunc(one.networks, func(p netip.Prefix) bool {
		return p.Contains(c.Addr.Unmap())
	}):
		return &ussd.InvalidError{Field: "address", Rule: "must be one of the gateway's"}
	case len(one.secrets) > 0 && !one.knows(c):
		return &ussd.InvalidError{Field: "secret", Rule: "must be the gateway's"}
	case len(one.keys) > 0 && !one.signedBy(c):
		return &ussd.InvalidError{Field: "signature", Rule: "must be one of the gateway's, over what it sent"}
	}
	return nil
}

func (g guard) knows(c Caller) bool {
	given := ""
	if g.header != "" {
		given = c.Header(g.header)
	} else {
		given = c.Query(g.query)
	}
	sum, found := sha256.Sum256([]byte(given)), 0
	for _, one := range g.secrets {
		found |= subtle.ConstantTimeCompare(sum[:], one[:])
	}
	return found == 1
}

func (g guard) signedBy(c Caller) bool {
	text, ok := strings.CutPrefix(c.Header(g.signed), g.prefix)
	if !ok {
		return false
	}
	given, err := g.decode(text)
	if err != nil || len(given) == 0 {
		return false
	}
	body, err := c.Signed()
	if err != nil {
		return false
	}
	found := false
	for _, key := range g.keys {
		h := hmac.New(g.sum, key)
		_, _ = h.Write(body) // a hash does not fail
		found = hmac.Equal(h.Sum(nil), given) || found
	}
	return found
}
