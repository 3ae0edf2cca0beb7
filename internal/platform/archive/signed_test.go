package archive_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/castalia-org/castalia/internal/platform/archive"
	"github.com/castalia-org/castalia/internal/platform/sqldb/sqldbtest"
)

// signer is the key of a deployment.
func signer(name string) archive.Signer {
	return archive.Signer{Name: name, Sign: func(text []byte) []byte {
		sum := sha256.Sum256(append([]byte(name), text...))
		return sum[:]
	}}
}

func judge(name string, text, signature []byte) error {
	if !bytes.Equal(signer(name).Sign(text), signature) {
		return errors.New("its signature is not good")
	}
	return nil
}

// anybody takes archives of all.
var anybody = archive.Author{Unsigned: true, Verify: judge}

func TestAnArchiveIsTakenFromItsAuthorAlone(t *testing.T) {
	t.Parallel()
	source, _ := place(t, sqldbtest.SQLiteURL(t))
	fill(t, &source)
	unsigned := write(t, source)
	source.Signer = signer("did:key:mine")
	mine := write(t, source)
	source.Signer = signer("did:key:other")
	other := write(t, source)
	source.Signer = archive.Signer{Name: "did:key:mine", Sign: signer("did:key:other").Sign}
	forged := write(t, source)
	nameless := bytes.Replace(mine, []byte(`"signer": "did:key:mine"`), []byte(`"signed": "did:key:mine"`), 1)
	for name, c := range map[string]struct {
		text []byte
		by   archive.Author
		want string // of the refusal; empty: taken
	}{
		"ours":                        {mine, archive.Author{Signer: "did:key:mine"}, ""},
		"whoever signed it":           {other, archive.Author{}, ""},
		"nobody's":                    {unsigned, archive.Author{}, "is not signed"},
		"nobody's, where we sign":     {unsigned, archive.Author{Signer: "did:key:mine"}, "`--unsigned` restores it"},
		"nobody's, of before":         {unsigned, archive.Author{Signer: "did:key:mine", Unsigned: true}, ""},
		"another's":                   {other, archive.Author{Signer: "did:key:mine"}, "signed by did:key:other, not by did:key:mine"},
		"another's is not nobody's":   {other, archive.Author{Signer: "did:key:mine", Unsigned: true}, "not by did:key:mine"},
		"in our name":                 {forged, archive.Author{}, "not good"},
		"in our name, as of before":   {forged, anybody, "not good"},
		"a signature without a name":  {nameless, anybody, "has no signer"},
		"changed since it was signed": {bytes.Replace(mine, []byte(`["19"`), []byte(`["91"`), 1), anybody, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.by.Verify = judge
			m, err := archive.Verify(bytes.NewReader(c.text), c.by)
			target, _ := place(t, sqldbtest.SQLiteURL(t))
			_, errRead := archive.Read(t.Context(), bytes.NewReader(c.text), c.by, target)
			for _, err := range []error{err, errRead} {
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
			}
			if err := archive.Ready(t.Context(), target.DB); (err == nil) != (c.want == "") {
				t.Errorf("the place is ready: %v", err)
			}
			if c.want == "" && m.Program != "test" {
				t.Errorf("Verify: %+v", m)
			}
		})
	}
}
