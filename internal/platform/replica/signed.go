package replica

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/castalia-org/castalia/internal/platform/archive"
)

// signedAs goes before the text of a start where it is signed, so that the signature is
// good for nothing else.
const signedAs = "castalia replica start\n"

// Signer signs for a deployment: with a key that is known by this name.
type Signer struct {
	Name string
	Sign func(text []byte) []byte
}

// signature follows the text of a start. Whoever can write to the place and knows for
// whom it is encrypted could begin a generation otherwise. What a generation holds needs
// none of its own: it is encrypted for a key that only its start tells.
type signature struct {
	Signer    string `json:"signer"`
	Signature []byte `json:"signature"`
}

// sealStart returns a start as it is stored, signed.
func sealStart(s start, signer Signer, lock archive.Lock) ([]byte, error) {
	var text bytes.Buffer
	if err := writeJSON(&text, s); err != nil {
		return nil, err
	}
	by := signature{signer.Name, signer.Sign(append([]byte(signedAs), text.Bytes()...))}
	if err := writeJSON(&text, by); err != nil {
		return nil, err
	}
	return sealText(text.Bytes(), lock)
}

func sealText(text []byte, lock archive.Lock) ([]byte, error) {
	var out bytes.Buffer
	w, err := seal(&out, lock)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// openStart reads a start and who signed it; nobody is empty.
func (w *Wanted) openStart(from io.Reader) (s start, err error) {
	text, err := io.ReadAll(io.LimitReader(from, 2*maxSmall))
	if err != nil {
		return s, err
	}
	in := bytes.NewReader(text)
	if err := readJSON(in, &s); err != nil {
		return s, err
	}
	signed := text[:len(text)-in.Len()]
	if in.Len() == 0 { // as releases before wrote it
		return s, nil
	}
	var sig signature
	if err := readJSON(in, &sig); err != nil {
		return s, err
	}
	if in.Len() > 0 {
		return s, errors.New("something follows its signature")
	}
	s.by = sig.Signer
	return s, w.Verify(sig.Signer, append([]byte(signedAs), signed...), sig.Signature)
}

// from refuses a start that the wanted deployment did not write. Without a wanted one it
// is the one that wrote the newest.
func (w *Wanted) from(generation int64, by string) error {
	switch {
	case by == "" && !w.Unsigned:
		return fmt.Errorf("generation %d of the replica is not signed: a server of a release that did not sign wrote it, or somebody else who can write to that place; `--unsigned` restores it all the same", generation)
	case by == "":
		return nil
	case w.Signer == "":
		w.Signer = by
	case by != w.Signer:
		return fmt.Errorf("generation %d of the replica is signed by %s, not by %s: another deployment or somebody else wrote it; if the rest is yours, delete %s there", generation, by, w.Signer, startName(generation))
	}
	return nil
}
