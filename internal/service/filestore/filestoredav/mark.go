package filestoredav

import (
	"crypto/md5"  //nolint:gosec // other programs compare by it; nothing is trusted for it
	"crypto/sha1" //nolint:gosec // the same
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"math"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/castalia-org/castalia/internal/platform/fault"
	"github.com/castalia-org/castalia/internal/service/filestore"
	"github.com/castalia-org/castalia/internal/service/filestore/contenthttp"
)

// marked returns the body of a PUT, which fails at its end when it is not what its
// sender says, and the mark that is filled when it was read.
func marked(r *http.Request) (io.Reader, *filestore.Mark, error) {
	m := &filestore.Mark{}
	var err error
	if m.Modified, err = modified(r.Header.Get("X-Oc-Mtime")); err != nil {
		return nil, nil, err
	}
	body, err := contenthttp.Digested(textproto.MIMEHeader(r.Header), r.Body)
	if err != nil {
		return nil, nil, err
	}
	b := &markedBody{r: body, mark: m, sha1: sha1.New(), md5: md5.New()} //nolint:gosec // as above
	if text := r.Header.Get("Oc-Checksum"); text != "" {
		if err := b.expect(text); err != nil {
			return nil, nil, err
		}
	}
	return b, m, nil
}

// modified reads seconds since 1970, which may have a fraction.
func modified(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) || math.Abs(seconds) > 1e11 {
		return time.Time{}, fault.New(fault.Invalid, "X-OC-Mtime is a number of seconds since 1970.")
	}
	if seconds == 0 {
		seconds = 0.001 // 0 is kept for "nobody said"
	}
	return time.UnixMilli(int64(math.Round(seconds * 1000))), nil
}

// markedBody hashes a body while it is read.
type markedBody struct {
	r         io.Reader
	mark      *filestore.Mark
	sha1, md5 hash.Hash
	want      []byte
	of        hash.Hash // what want is of
	extra     bool      // of is not one of the others
}

// expect reads what the sender says, as "SHA1:0123…".
func (b *markedBody) expect(text string) error {
	kind, sum, _ := strings.Cut(text, ":")
	switch strings.ToUpper(kind) {
	case "SHA1":
		b.of = b.sha1
	case "MD5":
		b.of = b.md5
	case "SHA256":
		b.of, b.extra = sha256.New(), true
	default:
		return nil // others are not checked, and not kept
	}
	var err error
	if b.want, err = hex.DecodeString(sum); err != nil || len(b.want) != b.of.Size() {
		return fault.New(fault.Invalid, "OC-Checksum is malformed.").WithCode("bad_digest")
	}
	return nil
}

func (b *markedBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.sha1.Write(p[:n])
	b.md5.Write(p[:n])
	if b.extra {
		b.of.Write(p[:n])
	}
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if b.of != nil && subtle.ConstantTimeCompare(b.of.Sum(nil), b.want) != 1 {
		return n, fault.New(fault.Invalid, "The bytes do not have the OC-Checksum that was said.").WithCode("digest_mismatch")
	}
	b.mark.SHA1, b.mark.MD5 = hex.EncodeToString(b.sha1.Sum(nil)), hex.EncodeToString(b.md5.Sum(nil))
	return n, err
}
