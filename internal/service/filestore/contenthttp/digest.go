package contenthttp

import (
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/textproto"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/protocol/digestfield"
	"github.com/castalia-org/castalia/internal/service/filestore"
)

// DigestHeaders are what a sender may say of the bytes that it sends.
var DigestHeaders = []string{"Content-Digest", "Repr-Digest", "Content-Md5"}

// Digests reads what the sender says of a body. The representation that is sent
// is the body itself, so both kinds of RFC 9530 mean the same bytes.
func Digests(h textproto.MIMEHeader) ([]digestfield.Check, error) {
	var all []digestfield.Check
	for _, field := range DigestHeaders[:2] {
		checks, err := digestfield.Parse(field, h.Values(field))
		if err != nil {
			return nil, DigestFault(err)
		}
		all = append(all, checks...)
	}
	checks, err := digestfield.ParseMD5(h.Values("Content-Md5"))
	if err != nil {
		return nil, DigestFault(err)
	}
	return append(all, checks...), nil
}

// Digested is a body that fails at its end when it is not what its sender says.
func Digested(h textproto.MIMEHeader, body io.Reader) (io.Reader, error) {
	checks, err := Digests(h)
	if err != nil || len(checks) == 0 {
		return body, err
	}
	return faulted{digestfield.Reader(body, checks)}, nil
}

// faulted gives a mismatch its kind.
type faulted struct{ r io.Reader }

func (f faulted) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if errors.Is(err, digestfield.ErrMismatch) {
		err = DigestFault(err)
	}
	return n, err
}

// DigestFault says what is wrong with a digest.
func DigestFault(err error) error {
	code := "bad_digest"
	if errors.Is(err, digestfield.ErrMismatch) {
		code = "digest_mismatch"
	}
	return fault.Wrap(fault.Invalid, err.Error(), err).WithCode(code)
}

// describeBytes says what the bytes of the whole content have. It holds for every
// range of them too.
func describeBytes(h http.Header, f filestore.File) {
	if sum, err := hex.DecodeString(f.Hash); err == nil && len(sum) > 0 {
		h.Set("Repr-Digest", digestfield.SHA256(sum))
	}
}
