package digestfield_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/castalia-org/castalia/internal/protocol/digestfield"
)

// The example of RFC 9530, appendix B.1.
const (
	example    = "{\"hello\": \"world\"}\n"
	example256 = "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
	example512 = "sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:"
)

func check(values []string, content string) error {
	checks, err := digestfield.Parse("Content-Digest", values)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, digestfield.Reader(strings.NewReader(content), checks))
	return err
}

func TestDigests(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte(example))
	if digestfield.SHA256(sum[:]) != example256 {
		t.Errorf("wrote %s", digestfield.SHA256(sum[:]))
	}
	for name, c := range map[string]struct {
		values []string
		want   error
	}{
		"none":                {nil, nil},
		"one":                 {[]string{example256}, nil},
		"two":                 {[]string{example256 + ", " + example512}, nil},
		"two lines":           {[]string{example512, example256}, nil},
		"with an unknown":     {[]string{"unixsum=:AAA=:," + example256}, nil},
		"an unknown alone":    {[]string{"unixsum=:AAA=:"}, digestfield.ErrUnknown},
		"one of two is wrong": {[]string{example512, digestfield.SHA256(make([]byte, 32))}, digestfield.ErrMismatch},
		"wrong":               {[]string{digestfield.SHA256(make([]byte, 32))}, digestfield.ErrMismatch},
		"short":               {[]string{"sha-256=:AAAA:"}, digestfield.ErrMalformed},
		"no colons":           {[]string{"sha-256=RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg="}, digestfield.ErrMalformed},
		"capitals":            {[]string{"SHA-256" + example256[7:]}, digestfield.ErrMalformed},
		"nothing":             {[]string{""}, digestfield.ErrMalformed},
		"a comma more":        {[]string{example256 + ","}, digestfield.ErrMalformed},
		"no base64":           {[]string{"sha-256=:????:"}, digestfield.ErrMalformed},
		"endless":             {[]string{strings.Repeat(example256+",", 100) + example256}, digestfield.ErrMalformed},
	} {
		if err := check(c.values, example); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestContentMD5(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []string
		want   error
	}{
		"none":   {nil, nil},
		"right":  {[]string{"sUYoWtPY1RO8ZtEzMcsVCg=="}, digestfield.ErrMismatch},
		"empty":  {[]string{"1B2M2Y8AsgTpgAmY7PhCfg=="}, nil},
		"hex":    {[]string{"d41d8cd98f00b204e9800998ecf8427e"}, digestfield.ErrMalformed},
		"twice":  {[]string{"1B2M2Y8AsgTpgAmY7PhCfg==", "1B2M2Y8AsgTpgAmY7PhCfg=="}, digestfield.ErrMalformed},
		"spaced": {[]string{" 1B2M2Y8AsgTpgAmY7PhCfg== "}, nil},
	} {
		checks, err := digestfield.ParseMD5(c.values)
		if err == nil {
			_, err = io.Copy(io.Discard, digestfield.Reader(strings.NewReader(""), checks))
		}
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// A body that is cut fails as a cut, and the mismatch is told again to who asks again.
func TestReaders(t *testing.T) {
	t.Parallel()
	checks, err := digestfield.Parse("Repr-Digest", []string{example256})
	if err != nil {
		t.Fatal(err)
	}
	r := digestfield.Reader(io.MultiReader(strings.NewReader(example[:4]), iotest.ErrReader(io.ErrUnexpectedEOF)), checks)
	if _, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", err)
	}
	if checks, err = digestfield.Parse("Repr-Digest", []string{example256}); err != nil {
		t.Fatal(err)
	}
	r = digestfield.Reader(iotest.DataErrReader(bytes.NewReader([]byte("other"))), checks)
	for range 2 {
		if _, err := io.ReadAll(r); !errors.Is(err, digestfield.ErrMismatch) {
			t.Errorf("mismatch: %v", err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example256+", "+example512, example)
	f.Add("a=1;b, sha-256=::", "")
	f.Fuzz(func(t *testing.T, field, content string) {
		checks, err := digestfield.Parse("Content-Digest", []string{field})
		if err != nil {
			return
		}
		if len(checks) == 0 {
			t.Fatalf("%q was taken and asks nothing", field)
		}
		_, _ = io.Copy(io.Discard, digestfield.Reader(strings.NewReader(content), checks))
	})
}
