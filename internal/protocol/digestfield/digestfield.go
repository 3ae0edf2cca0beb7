// Package digestfield reads and writes the digests that HTTP messages carry about
// their bytes: Content-Digest and Repr-Digest of RFC 9530, and the older
// Content-MD5.
//
// It promises that a field is read whole or refused, and that bytes which do not
// match are noticed before their end is reported. A field that names no algorithm
// that we know is refused: its sender counts on a check.
package digestfield

import (
	"bytes"
	"crypto/md5" //nolint:gosec // Content-MD5 names it; it finds accidents, nothing rests on it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// Known are the algorithms that are checked, as Want-Content-Digest lists them.
const Known = "sha-256=10, sha-512=5"

// maxField bounds a field: a digest of each registered algorithm fits well.
const maxField = 2 << 10

// Errors that callers tell apart.
var (
	ErrMalformed = errors.New("the digest cannot be read")
	ErrUnknown   = errors.New("the digest has no algorithm that is checked here: use sha-256 or sha-512")
	ErrMismatch  = errors.New("the bytes do not match the digest")
)

// SHA256 writes a field for a digest.
func SHA256(sum []byte) string { return "sha-256=:" + base64.StdEncoding.EncodeToString(sum) + ":" }

// Check is what bytes must have.
type Check struct {
	field string
	sum   hash.Hash
	want  []byte
}

// Parse reads the values of Content-Digest or Repr-Digest.
func Parse(field string, values []string) ([]Check, error) {
	text := strings.Join(values, ",")
	if strings.TrimSpace(text) == "" && len(values) == 0 {
		return nil, nil
	}
	if len(text) > maxField {
		return nil, fmt.Errorf("%s: %w: it is too long", field, ErrMalformed)
	}
	found := map[string][]byte{}
	for member := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.Trim(member, " \t"), "=")
		coded, opened := strings.CutPrefix(value, ":")
		coded, closed := strings.CutSuffix(coded, ":")
		sum, err := base64.StdEncoding.DecodeString(coded)
		if !ok || !opened || !closed || err != nil || !isKey(name) {
			return nil, fmt.Errorf("%s: %w: write sha-256=:<base64>: and a comma between several", field, ErrMalformed)
		}
		found[name] = sum // of a name that comes twice the last one counts, as in every dictionary
	}
	var checks []Check
	for name, make := range map[string]func() hash.Hash{"sha-256": sha256.New, "sha-512": sha512.New} {
		if want, ok := found[name]; ok {
			sum := make()
			if len(want) != sum.Size() {
				return nil, fmt.Errorf("%s: %w: %s has %d bytes, not %d", field, ErrMalformed, name, sum.Size(), len(want))
			}
			checks = append(checks, Check{field, sum, want})
		}
	}
	if len(checks) == 0 {
		return nil, fmt.Errorf("%s: %w", field, ErrUnknown)
	}
	return checks, nil
}

// isKey reports whether a name is one of a structured dictionary.
func isKey(name string) bool {
	if name == "" || (name[0] < 'a' || name[0] > 'z') && name[0] != '*' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-.*") == ""
}

// ParseMD5 reads the values of Content-MD5.
func ParseMD5(values []string) ([]Check, error) {
	const field = "Content-MD5"
	if len(values) == 0 {
		return nil, nil
	}
	want, err := base64.StdEncoding.DecodeString(strings.TrimSpace(values[0]))
	if len(values) > 1 || err != nil || len(want) != md5.Size {
		return nil, fmt.Errorf("%s: %w: write it as base64 of 16 bytes, once", field, ErrMalformed)
	}
	return []Check{{field, md5.New(), want}}, nil //nolint:gosec // as above
}

// Tee passes bytes on; verify fails with ErrMismatch when those that were read so
// far do not have what they must.
func Tee(r io.Reader, checks []Check) (_ io.Reader, verify func() error) {
	for _, c := range checks {
		r = io.TeeReader(r, c.sum)
	}
	return r, func() error {
		for _, c := range checks {
			if !bytes.Equal(c.sum.Sum(nil), c.want) {
				return fmt.Errorf("%s: %w", c.field, ErrMismatch)
			}
		}
		return nil
	}
}

// Reader passes bytes on and fails with ErrMismatch in place of their end when a
// check does not hold. Whoever acts on the end alone never acts on wrong bytes.
func Reader(r io.Reader, checks []Check) io.Reader {
	if len(checks) == 0 {
		return r
	}
	tee, verify := Tee(r, checks)
	return &reader{r: tee, verify: verify}
}

type reader struct {
	r      io.Reader
	verify func() error
	err    error
}

func (d *reader) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.r.Read(p)
	if err == io.EOF { //nolint:errorlint // an end that wraps this one is a cut
		if wrong := d.verify(); wrong != nil {
			err = wrong
		}
	}
	d.err = err
	return n, err
}
